import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Imports an optional package: one installed beside compact, else the one that the project around `folder` has. */
export async function importPackage(specifier: string, folder: string): Promise<unknown> {
  try {
    return await import(specifier);
  } catch (error) {
    const file = isMissing(error) ? await findPackage(specifier, folder) : undefined;
    if (file === undefined) throw error;
    return import(pathToFileURL(file).href);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}

/** The file that an ES module in `folder` would get; undefined where no folder above it has the package. */
async function findPackage(specifier: string, folder: string): Promise<string | undefined> {
  const [name, subpath] = split(specifier);
  const root = join(folder, "node_modules", name);
  const found = await stat(join(root, "package.json")).catch(() => undefined);
  if (found === undefined) {
    const above = dirname(folder);
    return above === folder ? undefined : findPackage(specifier, above);
  }
  const text = await readFile(join(root, "package.json"), "utf8");
  const { exports, module, main } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const target = targetOf(exports, subpath) ?? (subpath === "." ? (module ?? main) : undefined);
  return typeof target === "string" ? join(root, target) : undefined;
}

function split(specifier: string): readonly [name: string, subpath: string] {
  const words = specifier.split("/");
  const length = specifier.startsWith("@") ? 2 : 1;
  return [words.slice(0, length).join("/"), [".", ...words.slice(length)].join("/")];
}

const CONDITIONS: ReadonlySet<string> = new Set(["node", "import", "module-sync", "default"]);

/** The file of a subpath in `exports`, whose order decides among conditions. */
function targetOf(exports: unknown, subpath: string): unknown {
  if (typeof exports === "string") return subpath === "." ? exports : undefined;
  if (typeof exports !== "object" || exports === null) return undefined;
  const entries = Object.entries(exports);
  if (entries.some(([key]) => key.startsWith("."))) {
    return conditionOf(entries.find(([key]) => key === subpath)?.[1]);
  }
  return subpath === "." ? conditionOf(exports) : undefined;
}

function conditionOf(target: unknown): unknown {
  if (typeof target !== "object" || target === null) return target;
  const [, chosen] = Object.entries(target).find(([key]) => CONDITIONS.has(key)) ?? [];
  return conditionOf(chosen);
}
