/**
 * What each folder of src/ may import besides itself: everything in the groups above its own.
 * Folders of one group are strangers. `.dependency-cruiser.cjs` makes rules of it.
 */
const layers = [
  ["errors.ts", "model.ts", "timer.ts"],
  ["argument.ts"],
  ["messages"],
  ["tokens", "tracing", "redaction", "transcripts", "lint"],
  ["policy", "summarizers", "storage", "providers"],
  ["compaction"],
  ["memory"],
  ["agents"],
  ["config", "testing", "index.ts"],
  ["adapters"],
  ["viewer"],
  ["cli"],
];

/** Folders that run in a browser as well as in Node. */
const portable = [
  "argument.ts",
  "errors.ts",
  "model.ts",
  "timer.ts",
  "messages",
  "tokens",
  "redaction",
  "transcripts",
  "lint",
  "policy",
  "summarizers",
  "providers",
  "compaction",
  "index.ts",
];

/** The one place that loads Node code into portable code, and only when it is first needed. */
const lazyEdge = {
  from: "src/compaction/store.ts",
  to: "src/storage/drivers/fs.ts",
  /** Outside the portable folders: what else of the root entry loads Node code when it is first needed. */
  others: [{ from: "src/tracing/exporters/create-post.ts", to: "src/tracing/exporters/node-post.ts" }],
};

/** Packages that code may import, by folder. */
const packages = { agents: ["yaml"], config: ["yaml", "zod"] };

/** Folders that may load an optional peer when it is first used. */
const peerEdges = ["storage/drivers", "tracing/exporters", "adapters", "cli"];

module.exports = { layers, portable, lazyEdge, packages, peerEdges };
