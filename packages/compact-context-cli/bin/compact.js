#!/usr/bin/env node
import module from "node:module";

// What is compiled is kept for the next run. Node 20 and Bun cannot.
module.enableCompileCache?.();
const { main } = await import("../dist/main.js");
// At once: Node would first take apart a heap that the system frees in one.
process.exit(await main(process.argv.slice(2)));
