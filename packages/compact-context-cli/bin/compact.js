#!/usr/bin/env node
import module from "node:module";
import { setFlagsFromString } from "node:v8";

// A run is short. A pattern is compiled once; what is compiled is kept for the next run, or on Node 20 optimised later.
try {
  setFlagsFromString("--no-regexp-tier-up");
  if (module.enableCompileCache === undefined) setFlagsFromString("--interrupt-budget=264000");
  else module.enableCompileCache();
} catch {
  // Bun has another engine, and no flags of this one.
}
const { main } = await import("../dist/main.js");
process.exitCode = await main(process.argv.slice(2));
