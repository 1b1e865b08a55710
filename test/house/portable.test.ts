import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { partOf, whole } from "../whole.ts";
import { closure, command, cruise, library, root } from "./cruise.ts";

const { portable, placeOf } = createRequire(import.meta.url)("../../scripts/layers.cjs") as {
  portable: string[];
  placeOf: (name: string) => string;
};

const isSource = (source: string): boolean =>
  source.startsWith("packages/") && source.endsWith(".ts") && !source.endsWith(".test.ts");
const isPortable = (source: string): boolean =>
  portable.some((name) => `${source}/`.startsWith(`${placeOf(name)}/`));

/** Source files of the portable folders, tests aside. */
function portableFiles(): readonly string[] {
  return [library, command]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map(
        (file) => `${folder}/${file.replaceAll("\\", "/")}`,
      ),
    )
    .filter((file) => isSource(file) && isPortable(file));
}

/** What the root entry loads at once. */
async function loadedAtOnce(): Promise<readonly string[]> {
  const { modules } = await cruise(root);
  const { files } = closure(new Map(modules.map((module) => [module.source, module])), `${library}/index.ts`);
  return [...files].filter(isSource);
}

/** Names in files that mean nothing to a compiler that knows a browser's globals and none of Node's. */
function unknownNames(files: readonly string[], planted = ""): string[] {
  const plant = join(root, library, "planted.ts");
  const { config } = ts.readConfigFile(join(root, "tsconfig.test.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const settings: ts.CompilerOptions = {
    ...options,
    types: [],
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    noEmit: true,
  };
  const host = ts.createCompilerHost(settings);
  const { readFile, fileExists, getSourceFile } = host;
  host.fileExists = (name) => (planted !== "" && name === plant) || fileExists(name);
  host.readFile = (name) => (planted !== "" && name === plant ? planted : readFile(name));
  host.getSourceFile = (name, version, ...rest) =>
    planted !== "" && name === plant
      ? ts.createSourceFile(name, planted, version)
      : getSourceFile(name, version, ...rest);
  const roots = files.map((file) => join(root, file));
  const program = ts.createProgram(planted === "" ? roots : [...roots, plant], settings, host);
  return [...roots, ...(planted === "" ? [] : [plant])].flatMap((name) => {
    const source = program.getSourceFile(name);
    if (source === undefined) return [`${name} is not compiled`];
    const faults = program.getSemanticDiagnostics(source).map((fault) => {
      const { line } = source.getLineAndCharacterOfPosition(fault.start ?? 0);
      const text = ts.flattenDiagnosticMessageText(fault.messageText, " ");
      return `${name.slice(root.length)}:${line + 1} ${text}`;
    });
    return faults.filter((fault) => fault.includes(" Cannot find name "));
  });
}

it("portable code uses no global that only Node has", { timeout: 300_000 }, async () => {
  const files = portableFiles();
  expect(files.length).toBeGreaterThan(60);
  const loaded = whole ? await loadedAtOnce() : [];
  expect(unknownNames([...new Set([...partOf(files, 20), ...loaded])])).toEqual([]);
});

it("a global of Node is seen", { timeout: 120_000 }, () => {
  const globals = ["Buffer", "process", "setImmediate", "require", "__dirname", "global"];
  const code = globals.map((name, index) => `export const planted${index}: unknown = ${name};\n`).join("");
  expect(unknownNames([`${library}/errors.ts`], code)).toEqual(
    globals.map((name, index) =>
      expect.stringMatching(`^${library}/planted.ts:${index + 1} Cannot find name '${name}'`),
    ),
  );
});
