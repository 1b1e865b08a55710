import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface ExampleRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** True if the package is built and the SDK is installed: examples import both by package name. */
export function canRun(name: string, folder: string = name): boolean {
  const built = join(root, "packages/compact-context/dist/adapters", name, "index.js");
  return existsSync(built) && existsSync(join(root, "test/compat", folder, "node_modules"));
}

type Names = Readonly<Record<string, string>>;

/**
 * Compiles and runs `examples/<name>.ts` with the SDK installed in `test/compat/<folder>`. `aliases` are
 * names under which that folder has other versions of the imported modules.
 */
export async function runExample(
  name: string,
  { folder = name, env = {}, aliases = {} }: { folder?: string; env?: Names; aliases?: Names } = {},
): Promise<ExampleRun> {
  const modules = join(root, "test/compat", folder, "node_modules");
  const own = join(modules, "compact-context");
  const place = mkdtempSync(join(tmpdir(), "compact-example-"));
  if (!existsSync(own)) symlinkSync(join(root, "packages/compact-context"), own, "junction");
  try {
    symlinkSync(modules, join(place, "node_modules"), "junction");
    let source = readFileSync(join(root, "examples", `${name}.ts`), "utf8");
    for (const [own, alias] of Object.entries(aliases))
      source = source.replace(`from "${own}"`, `from "${alias}"`);
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    writeFileSync(join(place, "example.js"), ts.transpileModule(source, { compilerOptions }).outputText);
    return await run(place, env, ["--input-type=module", "--eval", 'await import("./example.js")']);
  } finally {
    rmSync(place, { recursive: true, force: true });
    rmSync(own, { force: true });
  }
}

function run(cwd: string, env: Names, args: readonly string[]): Promise<ExampleRun> {
  const options = { cwd, encoding: "utf8", timeout: 120_000, env: { ...process.env, ...env } } as const;
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, options, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}
