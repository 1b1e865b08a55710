import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const tools = join(import.meta.dirname, "node_modules");
const ready =
  existsSync(join(tools, "esbuild")) &&
  ["compact-context/lib/index.js", "compact-context-cli/dist/main.js"].every((file) =>
    existsSync(join(root, "packages", file)),
  );
const chromium = "/usr/bin/chromium";
const yarn = join(tools, "@yarnpkg/cli-dist/bin/yarn.js");
const deno = join(tools, "@deno/linux-x64-glibc/deno");
const bun = join(tools, "@oven/bun-linux-x64/bin/bun");
const run = promisify(execFile);

/** A project that has installed both packed packages, the library and the command. */
const project = mkdtempSync(join(tmpdir(), "compact-consumer-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** A list that does not fit, made small; prints the share that is left. */
const PROGRAM = `
  const list = Array.from({ length: 60 }, (_, n) => [
    { role: "user", content: "question " + n + " " + "words ".repeat(80) },
    { role: "assistant", content: "answer " + n + " " + "words ".repeat(80) },
  ]).flat();
  const { messages, report } = await compact(list, { maxTokens: 4000 });
  const manager = new CompactManager({ maxContextTokens: 4000, storage: { kind: "memory" }, policy: { hardCapBuffer: 200 } });
  const { report: live } = await manager.preflight("s", list);
  const said = [messages.length < list.length, report.tokensAfter <= 4000, live.compacted].join(" ");
`;
const SAID = "true true true";

/** Options that are there and have no value, which `exactOptionalPropertyTypes` tells from those that are not. */
const WITHOUT = `
  const none = undefined;
  const bare = new CompactManager(
    { model: none, maxContextTokens: none, policy: { triggerPct: none }, storage: { kind: "memory" } },
    { onWarning: none, summarizer: none },
  );
  bare.preflight("s", [{ role: "user", content: "hello" }], { system: none, tools: none, signal: none });
  compact([{ role: "user", content: "hello" }], { maxTokens: 100, policy: { triggerPct: none }, model: none });
  recallTools(bare, "s", { countText: none, maxTokens: none });
  compactFetch({ manager: bare, sessionId: none, onWarning: none, fetch: none });
`;

/** As much of esbuild as is used here. */
interface Bundler {
  build(options: object): Promise<{
    readonly metafile: { readonly inputs: Readonly<Record<string, { imports: { path: string }[] }>> };
    readonly warnings: readonly unknown[];
  }>;
}

beforeAll(async () => {
  if (!ready) return;
  const packed = await Promise.all(
    ["compact-context", "compact-context-cli"].map(async (name) => {
      const cwd = join(root, "packages", name);
      const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", project];
      const { stdout } = await run("npm", pack, { cwd });
      return `./${stdout.trim()}`;
    }),
  );
  writeFileSync(join(project, "package.json"), '{"private":true}');
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  await run("npm", [...install, ...packed], { cwd: project });
}, 120_000);

/** The environment without settings of Compact, which a run of these tests may have. */
function withoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("COMPACT_")));
}

/** Runs a program of the project. */
async function node(file: string, text: string, flags: readonly string[] = []): Promise<string> {
  writeFileSync(join(project, file), text);
  const { stdout } = await run(process.execPath, [...flags, file], { cwd: project });
  return stdout.trim();
}

describe.skipIf(!ready)("the packed package in somebody's project", () => {
  it("brings few packages beside the two, none with native code", () => {
    const installed = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed.sort()).toEqual([
      "@hono",
      "@modelcontextprotocol",
      "compact-context",
      "compact-context-cli",
      "hono",
      "picomatch",
      "undici",
      "yaml",
      "zod",
    ]);
    const native = readdirSync(join(project, "node_modules"), { recursive: true, encoding: "utf8" }).filter(
      (name) => /\.node$|binding\.gyp$/.test(name),
    );
    expect(native).toEqual([]);
  });

  it("runs as a module", async () => {
    const text = `import { compact, CompactManager } from "compact-context";${PROGRAM}console.log(said);`;
    expect(await node("module.mjs", text)).toBe(SAID);
  });

  it.for([
    ["Bun", bun, []],
    ["Deno", deno, ["run", "--allow-all"]],
    ["Deno, allowed two folders", deno, ["run", "--no-prompt", "--allow-read=.", "--allow-write=kept"]],
  ] as const)("keeps its archive on the disk in %s, and finds it again", async ([, runtime, flags], test) => {
    test.skip(!existsSync(runtime), "not installed");
    const text = `import { compact, CompactManager } from "compact-context";
      ${PROGRAM.replace('{ kind: "memory" }', '{ root: "kept" }')}
      await manager.flush();
      const archive = await new CompactManager({ storage: { root: "kept" } }).archive();
      console.log(said, (await archive.search("question 7")).hits.length > 0);`;
    writeFileSync(join(project, "kept.mjs"), text);
    const { stdout, stderr } = await run(runtime, [...flags, "kept.mjs"], { cwd: project });
    rmSync(join(project, "kept"), { recursive: true });
    expect([stdout.trim(), stderr]).toEqual([`${SAID} true`, ""]);
  });

  it.skipIf(!existsSync(bun))("is compiled by Bun into one file, vocabularies included", async () => {
    const text = `import { countText } from "compact-context";
      console.log(countText("hello w\u00f6rld", { model: "gpt-4" }), countText("hello", { model: "gpt-4o" }));`;
    writeFileSync(join(project, "counts.mjs"), text);
    await run(bun, ["build", "--compile", "counts.mjs", "--outfile", "counts"], { cwd: project });
    const { stdout } = await run(join(project, "counts"), [], { cwd: tmpdir() });
    expect(stdout.trim()).toBe("4 1");
  });

  it.skipIf(!existsSync(yarn))("keeps its archive on the disk under Yarn's Plug'n'Play", async () => {
    const folder = mkdtempSync(join(tmpdir(), "compact-yarn-"));
    try {
      const tarball = readdirSync(project).find((name) => /^compact-context-\d.*\.tgz$/.test(name)) ?? "";
      const dependencies = { "compact-context": `file:${join(project, tarball)}` };
      writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
      writeFileSync(join(folder, "yarn.lock"), "");
      const program = `${PROGRAM.replace('{ kind: "memory" }', '{ root: "." }')}await manager.flush();`;
      const text = `import { compact, CompactManager } from "compact-context";${program}console.log(said);`;
      writeFileSync(join(folder, "module.mjs"), text);
      const env = {
        ...process.env,
        YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
        YARN_ENABLE_TELEMETRY: "0",
        YARN_GLOBAL_FOLDER: join(folder, "yarn"),
      };
      await run(process.execPath, [yarn, "install"], { cwd: folder, env });
      const { stdout } = await run(process.execPath, [yarn, "node", "module.mjs"], { cwd: folder, env });
      expect(stdout.trim()).toBe(SAID);
      expect(readdirSync(join(folder, "s"))).toContain("transcript-pre-compact-001.jsonl");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("runs with frozen intrinsics", async () => {
    const text = `import { compact, CompactManager } from "compact-context";${PROGRAM}console.log(said);`;
    expect(await node("frozen.mjs", text, ["--no-warnings", "--frozen-intrinsics"])).toBe(SAID);
  });

  it("is required from CommonJS", async () => {
    const text = `const { compact, CompactManager } = require("compact-context");(async () => {${PROGRAM}console.log(said);})();`;
    expect(await node("common.cjs", text, ["--no-warnings"])).toBe(SAID);
  });

  it("brings the command", async () => {
    const session = "node_modules/compact-context-cli/demo/session.json";
    const command = join("node_modules", ".bin", "compact");
    const { stdout } = await run(command, ["inspect", session], { cwd: project });
    expect(stdout).toContain("tokens");
  });

  it("has a library that exports nothing internal", async () => {
    const text = `import("compact-context/internal/errors").then(() => console.log("found"), ({ code }) => console.log(code));`;
    expect(await node("internal.mjs", text)).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  it("has a command that needs no library beside it, and 64 descriptors", async () => {
    const folder = mkdtempSync(join(project, "alone-"));
    const installed = join(project, "node_modules", "compact-context-cli");
    cpSync(installed, join(folder, "compact-context-cli"), { recursive: true });
    const bin = join(folder, "compact-context-cli", "bin", "compact.js");
    const env = { ...withoutSettings(), HOME: folder, XDG_DATA_HOME: join(folder, "data") };
    const line = `ulimit -n 64; for words in --version "config show" demo; do "${process.execPath}" "${bin}" $words || exit 1; done`;
    const { stdout, stderr } = await run("bash", ["-c", line], { cwd: folder, env });
    expect(stderr).toBe("");
    expect(stdout).toContain("The request, the newest steps");
    const notices = readFileSync(join(installed, "dist", "THIRD_PARTY_NOTICES.txt"), "utf8");
    for (const held of ["commander", "picocolors", "preact", "yaml"])
      expect(notices).toMatch(new RegExp(`^${held} \\d`, "m"));
  });

  it("serves MCP in an empty folder", async () => {
    const folder = mkdtempSync(join(project, "empty-"));
    const command = join(project, "node_modules", ".bin", "compact");
    const ask = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const env = { ...withoutSettings(), HOME: folder, XDG_DATA_HOME: "" };
    const child = run(command, ["mcp"], { cwd: folder, env });
    child.child.stdin?.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: ask })}\n`,
    );
    await new Promise((resolve) => child.child.stdout?.once("data", resolve));
    child.child.stdin?.end();
    const { stdout, stderr } = await child;
    expect(JSON.parse(stdout.split("\n")[0] ?? "")).toMatchObject({
      id: 1,
      result: { serverInfo: { name: "compact-context-cli" } },
    });
    expect(stderr).toBe("");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("holds guides, examples that run from it, and the schema of its settings", async () => {
    const library = join(project, "node_modules", "compact-context");
    expect(readdirSync(join(library, "docs"))).toContain("configuration.md");
    const schema = JSON.parse(readFileSync(join(library, "compact.schema.json"), "utf8")) as {
      properties: object;
    };
    expect(schema.properties).toHaveProperty("policy");
    expect(existsSync(join(library, "lib", "index.js.map"))).toBe(true);
    const text = readFileSync(join(library, "examples", "quick-start.ts"), "utf8");
    const { build } = createRequire(join(tools, "x"))("esbuild") as Bundler;
    writeFileSync(join(project, "quick-start.ts"), text);
    await build({
      entryPoints: [join(project, "quick-start.ts")],
      outfile: join(project, "quick-start.mjs"),
      format: "esm",
      logLevel: "silent",
    });
    const { stdout } = await run(process.execPath, ["quick-start.mjs"], { cwd: project });
    expect(stdout).toContain("tokens");
  });

  it("is bundled for Node with its disk and exact counts", async () => {
    const text = `import { compact, CompactManager, countText } from "compact-context";
      import { loadConfig } from "compact-context/config";
      ${PROGRAM.replace('{ kind: "memory" }', '{ root: "." }')}
      await loadConfig({ cwd: ".", env: {} });
      await manager.flush();
      console.log(said, countText("hello w\u00f6rld", { model: "gpt-4" }), (await import("node:fs")).existsSync("s"));`;
    writeFileSync(join(project, "entry.mjs"), text);
    const folder = mkdtempSync(join(tmpdir(), "compact-bundle-"));
    try {
      // What docs/operations.md says for modules.
      await load<Bundler>("esbuild").build({
        entryPoints: [join(project, "entry.mjs")],
        outfile: join(folder, "bundle.mjs"),
        bundle: true,
        platform: "node",
        format: "esm",
        external: ["pg", ...PEERS, "yaml"],
        logLevel: "silent",
      });
      symlinkSync(join(project, "node_modules"), join(folder, "node_modules"));
      const { stdout, stderr } = await run(process.execPath, ["bundle.mjs"], { cwd: folder });
      expect([stdout.trim(), stderr]).toEqual([`${SAID} 4 true`, ""]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  const compilers = ["typescript-oldest", "typescript-newest"];
  const resolutions = [
    ["nodenext", "nodenext"],
    ["bundler", "esnext"],
  ] as const;
  it.each(compilers.flatMap((compiler) => resolutions.map((one) => [compiler, ...one] as const)))(
    "is understood by %s under %s",
    { timeout: 120_000 },
    async (compiler, moduleResolution, module) => {
      const folder = mkdtempSync(join(project, "typed-"));
      const manifest = JSON.parse(
        readFileSync(join(root, "packages/compact-context/package.json"), "utf8"),
      ) as { exports: object };
      // Adapters and storage name types of SDKs and of Node that a project without them does not have.
      const subpaths = Object.keys(manifest.exports).filter(
        (name) => !/\.json|\*|adapters|storage\/(?:s3|postgres)/.test(name),
      );
      const imports = subpaths.map(
        (name, index) => `import * as all${index} from "${name.replace(".", "compact-context")}";`,
      );
      const text = `${imports.join("\n")}
        import { CompactManager, compact, type CompactionResult } from "compact-context";
        import { recallTools } from "compact-context/recall";
        import { compactFetch } from "compact-context/wire";
        export const used: unknown[] = [${subpaths.map((_, index) => `all${index}`).join(", ")}];
        const list: { role: "user"; content: string }[] = [{ role: "user", content: "hello" }];
        export const small: Promise<CompactionResult<{ role: "user"; content: string }>> = compact(list, { maxTokens: 100 });
        const manager = new CompactManager({ model: "gpt-4o", policy: { triggerPct: 0.5 } });
        export const checked = manager.preflight("s", list).then(({ messages }) => messages.length);
        ${WITHOUT}
        // @ts-expect-error A share is a number.
        new CompactManager({ policy: { triggerPct: "half" } });
      `;
      writeFileSync(join(folder, "consumer.ts"), text);
      const compilerOptions = {
        module,
        moduleResolution,
        target: "es2022",
        lib: ["es2023", "dom"],
        types: [],
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        skipLibCheck: false,
      };
      writeFileSync(join(folder, "package.json"), '{"type":"module"}');
      writeFileSync(
        join(folder, "tsconfig.json"),
        JSON.stringify({ compilerOptions, files: ["consumer.ts"] }),
      );
      const tsc = join(tools, compiler, "bin", "tsc");
      const failed = await run(process.execPath, [tsc, "-p", folder]).then(
        () => "",
        (error: { stdout: string }) => error.stdout,
      );
      expect(failed).toBe("");
    },
  );
});

// Optional peers that nobody installed.
const PEERS = ["@aws-sdk/client-s3", "@opentelemetry/api"];

/** Bundles a file for browsers into one script; what the bundler warns of, and which of Node's modules it met. */
type Bundle = (entry: string, outfile: string) => Promise<{ warnings: unknown[]; named: string[] }>;

const load = <Module>(name: string): Module => createRequire(join(tools, "x"))(name) as Module;

const BUNDLERS: Readonly<Record<string, Bundle>> = {
  async esbuild(entry, outfile) {
    const { metafile, warnings } = await load<Bundler>("esbuild").build({
      entryPoints: [entry],
      bundle: true,
      platform: "browser",
      format: "iife",
      outfile,
      metafile: true,
      external: PEERS,
      logLevel: "silent",
    });
    const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
    return { warnings: [...warnings], named: imports.map(({ path }) => path) };
  },
  async webpack(entry, outfile) {
    const webpack = load<Webpack>("webpack");
    const compiler = webpack({
      mode: "none",
      target: ["web", "es2022"],
      entry,
      context: project,
      output: { path: dirname(outfile), filename: basename(outfile) },
      externals: { "@aws-sdk/client-s3": "{}" },
      plugins: [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })],
    });
    const said = await promisify(compiler.run.bind(compiler))();
    const {
      errors = [],
      warnings = [],
      modules = [],
    } = said.toJson({ all: false, errors: true, warnings: true, modules: true });
    return { warnings: [...errors, ...warnings], named: modules.map(({ name }) => String(name)) };
  },
  async rollup(entry, outfile) {
    const warnings: unknown[] = [];
    const named: string[] = [];
    const resolve = load<{ nodeResolve(options: object): object }>("@rollup/plugin-node-resolve");
    const { default: commonjs } = load<{ default(): object }>("@rollup/plugin-commonjs");
    const { rollup } = load<Rollup>("rollup");
    const built = await rollup({
      input: entry,
      external: PEERS,
      plugins: [resolve.nodeResolve({ browser: true }), commonjs()],
      onwarn: (warning) => void warnings.push(warning),
    });
    for (const file of built.watchFiles) named.push(file);
    const globals = Object.fromEntries(PEERS.map((name) => [name, "{}"]));
    await built.write({ file: outfile, format: "iife", name: "app", inlineDynamicImports: true, globals });
    await built.close();
    return { warnings, named };
  },
};

/** As much of webpack and rollup as is used here. */
interface Webpack {
  (
    options: object,
  ): {
    run(done: (error: Error | null, stats: WebpackStats) => void): void;
  };
  readonly optimize: { readonly LimitChunkCountPlugin: new (options: object) => object };
}
interface WebpackStats {
  toJson(options: object): {
    readonly errors?: readonly object[];
    readonly warnings?: readonly object[];
    readonly modules?: readonly { readonly name?: string }[];
  };
}
interface Rollup {
  rollup(options: { onwarn(warning: unknown): void; [setting: string]: unknown }): Promise<{
    readonly watchFiles: readonly string[];
    write(options: object): Promise<unknown>;
    close(): Promise<void>;
  }>;
}

const SETTINGS = Object.keys(BUNDLERS).flatMap((bundler) => [
  [bundler, "without pg", false] as const,
  [bundler, "with pg installed", true] as const,
]);

describe.skipIf(!ready).each(SETTINGS)("the core without Node, by %s, %s", (bundler, _, withPg) => {
  const bundled = join(project, "bundle.js");

  beforeAll(async () => {
    const pg = join(project, "node_modules/pg");
    rmSync(pg, { force: true, recursive: true });
    if (withPg) symlinkSync(join(root, "node_modules/pg"), pg);
    const entry = join(project, "browser.mjs");
    writeFileSync(
      entry,
      `import { compact, CompactManager } from "compact-context";
       import { compactFetch } from "compact-context/wire";
       export const served = compactFetch;
       export const answer = (async () => {${PROGRAM}
         const warned = [];
         const bare = new CompactManager({ maxContextTokens: 4000, policy: { hardCapBuffer: 200 } }, { onWarning: (text) => warned.push(text) });
         const { report: kept } = await bare.preflight("s", list);
         return said + " " + kept.compacted + " " + /kept in memory/.test(warned.join());
       })();
       globalThis.answer = answer;`,
    );
    const { warnings, named } = await (BUNDLERS[bundler] as Bundle)(entry, bundled);
    expect(warnings).toEqual([]);
    expect(named.filter((path) => /(?:^|[" ])node:/.test(path))).toEqual([]);
  }, 120_000);

  it.each([
    ["an edge runtime", ""],
    ["an edge runtime with Node's `process`", 'globalThis.process = { versions: { node: "22.0.0" } };'],
  ])("runs in %s, with its archive in memory", async (_, before) => {
    const { EdgeVM } = createRequire(join(tools, "x"))("@edge-runtime/vm") as {
      EdgeVM: new () => { evaluate(code: string): unknown };
    };
    const vm = new EdgeVM();
    vm.evaluate(before + readFileSync(bundled, "utf8"));
    expect(await vm.evaluate("globalThis.answer")).toBe(`${SAID} true true`);
  });

  it.skipIf(!existsSync(chromium))("runs in a browser", { timeout: 60_000 }, async () => {
    const page = join(project, "page.html");
    writeFileSync(
      page,
      `<!doctype html><title>page</title><p id="said"></p><script src="bundle.js"></script>
       <script>answer.then((said) => { document.getElementById("said").textContent = said; }, (error) => { document.getElementById("said").textContent = String(error); });</script>`,
    );
    const flags = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
    ];
    const profile = `--user-data-dir=${join(project, "profile")}`;
    const { stdout } = await run(chromium, [
      ...flags,
      profile,
      "--virtual-time-budget=20000",
      "--dump-dom",
      pathToFileURL(page).href,
    ]);
    expect(stdout).toContain(`<p id="said">${SAID} true true</p>`);
  });
});
