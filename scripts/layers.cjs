const library = "packages/compact-context/src";
const command = "packages/compact-context-cli/src";

/**
 * What each folder of the sources may import besides itself: everything in the groups above its own.
 * Folders of one group are strangers. `.dependency-cruiser.cjs` makes rules of it.
 */
const layers = [
  ["errors.ts"],
  ["core"],
  ["codecs", "redaction", "storage", "archive"],
  ["tokens", "lint", "config", "flush", "search", "tracing"],
  ["providers", "summarizers"],
  ["recall", "configured.ts"],
  ["create-manager.ts", "compact.ts", "running-list.ts"],
  ["summarize-messages.ts", "host.ts"],
  ["memory", "wire", "index.ts"],
  ["agent"],
  ["adapters", "transcripts"],
  ["view"],
  ["cli"],
];

/** Where the folders of the command lie, and all of it that has no layer of its own; all others are the library's. */
const ofCommand = {
  transcripts: `${command}/transcripts`,
  view: `${command}/view`,
  cli: command,
};

/** Where something with a layer lies. */
const placeOf = (name) => ofCommand[name] ?? `${library}/${name}`;

/** Folders that run in a browser as well as in Node. */
const portable = [
  "errors.ts",
  "core",
  "archive",
  "codecs",
  "tokens",
  "redaction",
  "transcripts",
  "lint",
  "search",
  "summarizers",
  "providers",
  "recall",
  "flush",
  "running-list.ts",
  "summarize-messages.ts",
  "configured.ts",
  "create-manager.ts",
  "compact.ts",
  "host.ts",
  "wire",
  "index.ts",
];

/** The one place that loads Node code into portable code, and only when it is first needed. */
const lazyEdge = {
  from: `${library}/configured.ts`,
  to: `${library}/storage/fs/driver.ts`,
  /** Outside the portable folders: what else of the root entry loads Node code when it is first needed. */
  others: [
    {
      from: `${library}/tracing/exporters/ariadne.ts`,
      to: `${library}/tracing/exporters/node-post.ts`,
    },
  ],
};

/** What Node takes for `#vocabularies`, by a condition of package.json that no bundler knows. */
const onlyInNode = `${library}/tokens/encodings/on-disk.ts`;

/** Packages that code may import, by folder. */
const packages = {
  agent: ["picomatch", "yaml"],
  config: ["yaml"],
  cli: [
    "commander",
    "get-east-asian-width",
    "preact",
    "@preact/signals",
    "uplot",
    "picocolors",
    "hono",
    "@hono/node-server",
    "undici",
  ],
};

/** Folders that may load an optional peer when it is first used. */
const peerEdges = ["storage", "tracing/exporters", "adapters", "cli"];

module.exports = { library, command, layers, placeOf, portable, lazyEdge, onlyInNode, packages, peerEdges };
