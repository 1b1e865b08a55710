const {
  library,
  command,
  layers,
  placeOf,
  portable,
  lazyEdge,
  onlyInNode,
  packages,
  peerEdges,
} = require("./scripts/layers.cjs");

// test/house/layers.test.ts plants a violation of every rule below. The last layer is one folder, which may import all.
const sources = `^(?:${library}|${command})/`;
const placed = (names) => `^(?:${names.map((name) => placeOf(name).replace(".", "\\.")).join("|")})(?:/|$)`;

const downhill = layers.slice(0, -1).flatMap((group, index) =>
  group.map((name) => ({
    name: `downhill-${name.replace(".ts", "")}`,
    severity: "error",
    comment: "Imports run downhill, and folders of one layer are strangers.",
    from: { path: placed([name]) },
    to: { path: sources, pathNot: placed([name, ...layers.slice(0, index).flat()]) },
  })),
);

/** The codec of each provider format; what they share stands beside them. */
const formats = "ai-sdk|anthropic-gemini|items|langchain|openai-chat|pi";

const strangers = [
  [
    "codecs",
    `^${library}/codecs/(${formats})\\.ts$`,
    `^${library}/codecs/$1\\.ts$`,
    `^${library}/codecs/(?:${formats})\\.ts$`,
  ],
  ["drivers", `^${library}/storage/([^/.]+)/`, `^${library}/storage/$1/`, `^${library}/storage/[^/.]+/`],
  // LangGraph stands on LangChain, Mastra on the AI SDK's prompts and tools; so do their adapters.
  [
    "adapters",
    `^${library}/adapters/((lang)graph|[^/.]+)`,
    `^${library}/adapters/(?:$1(?:[/.]|$)|$2chain/|ai-sdk/(?:middleware|prepare-step)\\.ts)`,
    `^${library}/adapters/`,
  ],
].map(([name, from, own, to]) => ({
  name: `strangers-${name}`,
  severity: "error",
  comment: "Codecs, drivers and adapters know nothing of each other.",
  from: { path: from },
  to: { path: to, pathNot: own },
}));

const npm = ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-no-pkg", "npm-unknown"];

const rules = [
  ...downhill,
  ...strangers,
  {
    name: "library-knows-no-command",
    severity: "error",
    comment: "The library knows nothing of the command.",
    from: { path: `^${library}/` },
    to: { path: "^packages/compact-context-cli/|^compact-context-cli" },
  },
  {
    name: "command-imports-by-name",
    severity: "error",
    comment: "The command imports the library by the package's name, never by a path.",
    from: { path: `^${command}/` },
    to: { path: "^packages/compact-context/", dependencyTypesNot: ["aliased"] },
  },
  {
    name: "page-knows-its-data",
    severity: "error",
    comment: "The page runs in a browser: it knows what the server tells it and nothing else of the source.",
    from: { path: `^${command}/view/page/` },
    to: { pathNot: `^${command}/view/(?:page/|session-view\\.ts$)|node_modules/(?:preact|@preact|uplot)` },
  },
  {
    name: "ports-not-media",
    severity: "error",
    comment: "What is kept does not know where; only the list of all codecs knows the codecs.",
    from: {
      path: `^${library}/(?:storage|codecs)/[^/]+\\.ts$`,
      pathNot: `^${library}/codecs/(?:formats|${formats})\\.ts$`,
    },
    to: { path: `^${library}/(?:storage/[^/.]+/|codecs/(?:${formats})\\.ts$)` },
  },
  {
    name: "no-node-in-portable",
    severity: "error",
    comment:
      "Portable folders touch no Node built-in; only Node itself takes the vocabularies from its disk.",
    from: { path: placed(portable), pathNot: `^${onlyInNode.replaceAll(".", "\\.")}$` },
    to: { dependencyTypes: ["core"] },
  },
  {
    name: "node-only-lazily",
    severity: "error",
    comment: "Code of the file system is loaded at one place, when it is first used.",
    from: { path: placed(portable), pathNot: `^${lazyEdge.from.replace(".", "\\.")}$` },
    to: { path: `^${library}/storage/(?:fs|postgres|s3)/` },
  },
  {
    name: "lazy-edge-is-dynamic",
    severity: "error",
    comment: "That place loads the file system driver by dynamic import.",
    from: { path: placed(portable) },
    to: { path: `^${library}/storage/(?:fs|postgres|s3)/`, dynamic: false },
  },
  {
    name: "packages-only-where-named",
    severity: "error",
    comment:
      "Only config and agents have packages of their own; an optional peer is loaded when first used, and its types may be named.",
    from: { path: sources, pathNot: placed(Object.keys(packages)) },
    to: { dependencyTypes: npm, dependencyTypesNot: ["type-import"], dynamic: false },
  },
  {
    name: "peers-only-at-the-edges",
    severity: "error",
    comment: "Optional peers are loaded by drivers, exporters, adapters and the command.",
    from: { path: sources, pathNot: placed([...Object.keys(packages), ...peerEdges]) },
    to: { dependencyTypes: npm, dynamic: true },
  },
  ...Object.entries(packages).map(([folder, names]) => ({
    name: `${folder}-packages`,
    severity: "error",
    comment: `${folder} uses ${names.join(" and ")} and nothing else.`,
    from: { path: placed([folder]) },
    to: { dependencyTypes: npm, pathNot: `node_modules/(?:${names.join("|")})/` },
  })),
  {
    name: "no-cycles",
    severity: "error",
    comment: "No cycle, not of types either.",
    from: {},
    to: { circular: true },
  },
  {
    name: "no-orphans",
    severity: "error",
    comment: "A file that nothing uses and that uses nothing is left over.",
    from: { orphan: true, pathNot: `${sources}(?:index\\.ts|.*/index\\.ts)$` },
    to: {},
  },
  {
    name: "no-unresolved",
    severity: "error",
    comment: "An import that leads nowhere hides what it would break.",
    // Optional peers, which some projects have installed.
    from: { pathNot: `^${library}/(?:storage/[^/.]+/|tracing/exporters/opentelemetry\\.ts$)` },
    to: { couldNotResolve: true },
  },
  {
    name: "no-tests-in-source",
    severity: "error",
    comment: "Code that ships does not import code that tests it.",
    from: { path: sources },
    to: { path: "\\.test\\.ts$|^test/" },
  },
];

const isTest = "\\.test\\.ts$";

/** Tests may look anywhere: a rule holds for what ships. */
const spareTests = ({ from, ...rule }) => ({
  ...rule,
  from: { ...from, pathNot: from.pathNot === undefined ? isTest : [from.pathNot, isTest].flat() },
});

module.exports = {
  forbidden: rules.map(spareTests),
  options: {
    doNotFollow: { path: "node_modules|/(?:dist|lib)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.test.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "types"] },
  },
};
