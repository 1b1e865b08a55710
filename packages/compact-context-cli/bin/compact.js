#!/usr/bin/env node
import module from "node:module";
import v8 from "node:v8";

// A run is short. What is compiled is kept for the next run. Node 20 cannot keep it: there each expression is compiled once,
// and only what runs long is optimized. (Later versions crash where these flags change while the process runs.)
if (module.enableCompileCache) module.enableCompileCache();
else if (process.versions.node.startsWith("20.")) {
  v8.setFlagsFromString("--no-regexp-tier-up");
  v8.setFlagsFromString("--interrupt-budget=1000000");
}
const { main } = await import("../dist/main.js");
// At once: Node would first take apart a heap that the system frees in one.
process.exit(await main(process.argv.slice(2)));
