import { readFileSync } from "node:fs";
import { join } from "node:path";

/** For a checkout's tests: leads every subpath of the library to its source. */
export function sourceAliases(root) {
  const library = join(root, "packages", "compact-context");
  const { exports: subpaths } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  return Object.entries(subpaths).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const name = `compact-context${subpath.slice(1)}`.replaceAll(".", "\\.").replace("*", "(.*)");
    const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts").replace("*", "$1");
    return [{ find: new RegExp(`^${name}$`), replacement: `${library}/${source}` }];
  });
}
