import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * For a checkout's tests and bundles: leads every subpath of the library to its source, `internal/…` to any file of it,
 * and its vocabularies into the modules.
 */
export function sourceAliases(root) {
  const library = join(root, "packages", "compact-context");
  const { exports: subpaths } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const vocabularies = {
    find: "#vocabularies",
    replacement: `${library}/src/tokens/encodings/embedded.ts`,
  };
  const exported = Object.entries(subpaths).flatMap(([subpath, target]) => {
    if (typeof target === "string") return [];
    const name = `compact-context${subpath.slice(1)}`.replaceAll(".", "\\.");
    const source = target.default.replace(/^\.\/lib\/(.*)\.js$/, "src/$1.ts");
    return [{ find: new RegExp(`^${name}$`), replacement: `${library}/${source}` }];
  });
  const internal = { find: /^compact-context\/internal\/(.*)$/, replacement: `${library}/src/$1.ts` };
  return [vocabularies, internal, ...exported];
}
