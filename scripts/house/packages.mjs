// The packages of a tree, their source files, and what their package.json calls public.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

/** Every package below `packages/`; where there is none, the root is the one package. */
export function findPackages(root) {
  const workspaces = join(root, "packages");
  const folders = existsSync(workspaces)
    ? readdirSync(workspaces)
        .sort()
        .map((name) => join(workspaces, name))
        .filter((folder) => existsSync(join(folder, "package.json")))
    : [root];
  return folders.map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return { name: manifest.name, folder, exports: manifest.exports ?? {}, files: sourceFiles(folder) };
  });
}

function sourceFiles(folder) {
  return readdirSync(join(folder, "src"), { recursive: true })
    .filter((name) => name.endsWith(".ts") && !/\.(?:test|generated|d)\.ts$/.test(name))
    .sort()
    .map((name) => join(folder, "src", name));
}

/** The first-level folder that a source file is counted in; files directly in `src` are counted together. */
export function folderOf({ name, folder }, file) {
  const [first, ...rest] = file.slice(join(folder, "src", "/").length).split(/[/\\]/);
  return `${name}/${rest.length === 0 ? "*.ts" : first}`;
}

/** The built file that a subpath such as `./config` leads to; undefined for one that does not exist. */
export function builtFile({ folder, exports }, subpath) {
  for (const [pattern, target] of Object.entries(exports)) {
    const path = typeof target === "string" ? target : target.default;
    const [start, end] = pattern.split("*");
    if (subpath === pattern) return join(folder, path);
    if (end === undefined || !subpath.startsWith(start) || !subpath.endsWith(end)) continue;
    return join(folder, path.replace("*", subpath.slice(start.length, subpath.length - end.length)));
  }
  return undefined;
}

const sourceOf = ({ folder }, built) =>
  join(
    folder,
    built
      .slice(join(folder, "/").length)
      .replace(/^(?:dist|lib)/, "src")
      .replace(/js$/, "ts"),
  );

/** Source files of the public entries, by subpath; patterns (`./internal/*`) and data files are left out. */
export function entryFiles(pack) {
  const subpaths = Object.keys(pack.exports).filter((name) => !name.includes("*"));
  const built = subpaths.map((subpath) => [subpath, builtFile(pack, subpath)]);
  return new Map(
    built
      .filter(([, file]) => file.endsWith(".js"))
      .map(([subpath, file]) => [subpath, sourceOf(pack, file)]),
  );
}

/** The source file that an import in `file` leads to; undefined for one outside of these packages. */
export function importedFile(packages, file, specifier) {
  if (specifier.startsWith(".")) return join(dirname(file), specifier.replace(/\.js$/, ".ts"));
  const pack = packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
  const built = pack && builtFile(pack, `.${specifier.slice(pack.name.length)}`);
  return built && sourceOf(pack, built);
}

/** All source files in one program. Nothing is type-checked: neither libraries nor their types are needed. */
export function createProgram(packages) {
  return ts.createProgram({
    rootNames: packages.flatMap(({ files }) => files),
    options: {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      allowImportingTsExtensions: true,
      noEmit: true,
      noLib: true,
      types: [],
    },
  });
}

/** How many values and types every public entry exports, by subpath of its package. */
export function publicNames(packages, program) {
  const checker = program.getTypeChecker();
  const isValue = (symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return (target.flags & ts.SymbolFlags.Value) !== 0;
  };
  return packages.flatMap((pack) =>
    [...entryFiles(pack)].map(([subpath, file]) => {
      const source = program.getSourceFile(file);
      if (source === undefined) throw new Error(`${pack.name}: "${subpath}" has no source file ${file}`);
      const module = checker.getSymbolAtLocation(source);
      const symbols = module === undefined ? [] : checker.getExportsOfModule(module);
      const values = symbols.filter(isValue).length;
      return { package: pack.name, subpath, values, types: symbols.length - values };
    }),
  );
}
