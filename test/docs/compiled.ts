import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { type Fence, root } from "./fences.ts";
import { PRESUMED } from "./presumed.ts";

/** A snippet as a file, preceded by declarations of the names that its page presumes. */
export interface Source {
  readonly fence: Fence;
  /** Virtual path next to the packages that it imports; undefined if they are not installed. */
  readonly path: string | undefined;
  readonly text: string;
  /** Number of lines before the snippet's own. */
  readonly before: number;
  /** The imported packages that no test folder has together. */
  readonly missing: readonly string[];
  /** The versions of the packages, unless they are the usual ones. */
  readonly versions: string;
}

/** Folders with packages to compile against; the oldest versions have folders of their own. */
const newest = [
  "test/docs",
  ...readdirSync(join(root, "test/compat"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `test/compat/${entry.name}`),
];
const oldest = newest.map((place) => `${place}/oldest`);

/** The snippet next to its imported packages, once per version that the tests have. */
export function sourcesOf(fence: Fence): Source[] {
  const used = new Set(fence.text.match(/\b[a-zA-Z_]\w*\b/g));
  const own = declaredNames(fence.text);
  const presumed = Object.entries({ ...PRESUMED[fence.file], ...PRESUMED[`${fence.file}#${fence.heading}`] })
    .filter(([name]) => used.has(name) && !own.has(name))
    .map(([name, type]) => `declare const ${name}: ${type};`);
  const text = [...presumed, fence.text, "export {};"].join("\n");
  const packages = packagesIn(text);
  const hasAll = (place: string): boolean => packages.every((name) => installed(place, name));
  const place = newest.find(hasAll);
  const source = { fence, text, before: presumed.length, missing: [], versions: "" };
  if (place === undefined) {
    const missing = packages.filter((name) => !newest.some((folder) => installed(folder, name)));
    return [{ ...source, path: undefined, missing }];
  }
  const pathIn = (folder: string, version = ""): string =>
    join(root, folder, `${fence.file.replaceAll(/\W/g, "-")}-${fence.line}${version}.ts`);
  const renamed = aliasesIn(place)
    .filter(([, name]) => packages.includes(name))
    .map(([alias, name]) => ({
      ...source,
      path: pathIn(place, `-${alias}`),
      text: text.replaceAll(`"${name}"`, `"${alias}"`),
      versions: `, with ${alias}`,
    }));
  const olds = packages.length === 0 ? [] : oldest.filter(hasAll);
  return [
    { ...source, path: pathIn(place) },
    ...renamed,
    ...olds.map((folder) => ({ ...source, path: pathIn(folder), versions: `, in ${folder}` })),
  ];
}

/** Packages that a folder also has under another name, in another version. */
function aliasesIn(place: string): (readonly [alias: string, name: string])[] {
  const file = join(root, place, "package.json");
  if (!existsSync(file)) return [];
  const { dependencies = {} } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  return Object.entries(dependencies).flatMap(([alias, version]) => {
    const name = /^npm:(.+)@/.exec(version)?.[1];
    return name !== undefined && installed(place, alias) ? [[alias, name] as const] : [];
  });
}

/** Names that the snippet imports or declares at top level. */
function declaredNames(text: string): Set<string> {
  const names = new Set<string>();
  const take = (node: ts.Node): void => {
    if (ts.isImportSpecifier(node) || ts.isBindingElement(node) || ts.isVariableDeclaration(node)) {
      if (ts.isIdentifier(node.name)) names.add(node.name.text);
    }
    if (ts.isImportClause(node) && node.name !== undefined) names.add(node.name.text);
    if (!ts.isFunctionLike(node)) ts.forEachChild(node, take);
  };
  take(ts.createSourceFile("snippet.ts", text, ts.ScriptTarget.ES2022, true));
  return names;
}

/** The third-party packages that a text imports. */
function packagesIn(text: string): readonly string[] {
  const names = [...text.matchAll(/(?:from |import\()"([^"]+)"/g)].map(([, name = ""]) => name);
  return names
    .filter((name) => !/^(?:node:|compact-context(?:\/|$))/.test(name))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
}

function installed(place: string, name: string): boolean {
  return existsSync(join(root, place, "node_modules", name, "package.json"));
}

/** The compiler's errors for each snippet: `page:line: message`. */
export function problemsOf(sources: readonly Source[]): ReadonlyMap<Source, readonly string[]> {
  const byPath = new Map(
    sources.flatMap((one) => (one.path === undefined ? [] : [[one.path, one] as const])),
  );
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => byPath.has(path) || fileExists(path);
  host.readFile = (path) => byPath.get(path)?.text ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const own = byPath.get(path);
    return own === undefined
      ? getSourceFile(path, version, ...rest)
      : ts.createSourceFile(path, own.text, version, true);
  };
  const program = ts.createProgram([...byPath.keys()], options, host);
  return new Map(
    [...byPath].map(([path, source]) => {
      const file = program.getSourceFile(path);
      const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
      return [source, found.map((one) => told(one, source))];
    }),
  );
}

function told(problem: ts.Diagnostic, { fence, before }: Source): string {
  const at = problem.file?.getLineAndCharacterOfPosition(problem.start ?? 0).line ?? 0;
  return `${fence.file}:${fence.line + at - before}: ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`;
}

/** Strict options of a current project, with every public subpath mapped to its source. */
function compilerOptions(): ts.CompilerOptions {
  const { exports: subpaths } = JSON.parse(
    readFileSync(join(root, "packages/compact-context/package.json"), "utf8"),
  ) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const paths = Object.entries(subpaths).flatMap(([subpath, target]): [string, string[]][] =>
    typeof target === "string"
      ? []
      : [
          [
            join("compact-context", subpath),
            [target.default.replace(/^\.\/lib\/(.*)\.js$/, `${root}/packages/compact-context/src/$1.ts`)],
          ],
        ],
  );
  return {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    paths: Object.fromEntries(paths),
  };
}
