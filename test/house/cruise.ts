import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The repository's root folder. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The source folders, relative to the root. */
export const { library, command } = createRequire(import.meta.url)("../../scripts/layers.cjs") as {
  library: string;
  command: string;
};

const cruiser = join(root, "node_modules", "dependency-cruiser", "bin", "dependency-cruise.mjs");

export interface Dependency {
  readonly resolved: string;
  readonly dynamic: boolean;
  readonly dependencyTypes: readonly string[];
}

export interface Module {
  readonly source: string;
  readonly coreModule?: boolean;
  readonly dependencies: readonly Dependency[];
}

export interface Cruise {
  readonly modules: readonly Module[];
  /** `rule from -> to`, one per violation. */
  readonly violations: readonly string[];
}

interface Output {
  readonly modules: readonly Module[];
  readonly summary: { readonly violations: readonly { from: string; to: string; rule: { name: string } }[] };
}

/** Runs dependency-cruiser on the sources of a folder, with the rules in that folder. */
export async function cruise(folder: string): Promise<Cruise> {
  const args = [cruiser, library, command, "--config", ".dependency-cruiser.cjs", "--output-type", "json"];
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  // The exit code is the number of violations; the output is complete nevertheless.
  const output = await promisify(execFile)(process.execPath, args, options).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string; stderr?: string }) => {
      if (error.stdout?.startsWith("{")) return error.stdout;
      throw new Error(`dependency-cruiser failed: ${error.stderr}`);
    },
  );
  const { modules, summary } = JSON.parse(output) as Output;
  const violations = summary.violations.map(({ rule, from, to }) => `${rule.name} ${from} -> ${to}`);
  return { modules, violations };
}

interface Edge {
  readonly from: string;
  readonly to: string;
}

export interface Closure {
  readonly files: ReadonlySet<string>;
  /** Dynamic imports, which may never run. */
  readonly lazy: readonly Edge[];
}

/** The files that a file loads, without types, and those that it may load later. */
export function closure(modules: ReadonlyMap<string, Module>, start: string): Closure {
  const files = new Set([start]);
  const lazy: Edge[] = [];
  for (const source of files) {
    for (const { resolved, dynamic, dependencyTypes } of modules.get(source)?.dependencies ?? []) {
      if (dependencyTypes.includes("type-only")) continue;
      if (dynamic) lazy.push({ from: source, to: resolved });
      else files.add(resolved);
    }
  }
  return { files, lazy };
}
