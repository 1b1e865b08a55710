import { readFileSync } from "node:fs";
import { join } from "node:path";

/** For a checkout's tests: leads every subpath of the library to its source, and its vocabularies into the modules. */
export function sourceAliases(root) {
  const library = join(root, "packages", "compact-context");
  const { exports: subpaths } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const vocabularies = {
    find: "#vocabularies",
    replacement: `${library}/src/tokens/encodings/embedded.ts`,
  };
  const exported = Object.entries(subpaths).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const name = `compact-context${subpath.slice(1)}`.replaceAll(".", "\\.").replace("*", "(.*)");
    const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts").replace("*", "$1");
    return [{ find: new RegExp(`^${name}$`), replacement: `${library}/${source}` }];
  });
  return [vocabularies, ...exported];
}
