import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { expect, it } from "vitest";
import { fencesOf, pageText, root } from "./fences.ts";
import { hostLines } from "./host-lines.ts";

// The packages as they are published: their pages are read without the rest of the project.

const built = existsSync(join(root, "packages/compact-context/docs"));

/** The files that `npm pack` takes in. */
function packed(folder: string): readonly string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const said = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8" })) as object;
  const [{ files }] = Object.values(said) as [{ readonly files: readonly { readonly path: string }[] }];
  return files.map(({ path }) => path);
}

it.skipIf(!built).each(["compact-context", "compact-context-cli"])(
  "every link in the pages of %s leads to a file of the package",
  (name) => {
    const folder = join(root, "packages", name);
    const files = packed(folder);
    const pages = files.filter((file) => file.endsWith(".md"));
    expect(pages).toContain("README.md");
    const dead = pages.flatMap((page) => {
      const links = readFileSync(join(folder, page), "utf8").matchAll(
        /(?:\]\(|\bsrc(?:set)?=")(?![a-z]+:|#)([^)"#\s]+)/g,
      );
      return [...links]
        .map(([, target = ""]) => posix.join(dirname(page), target).replace(/\/$/, ""))
        .filter((target) => !files.some((file) => file === target || file.startsWith(`${target}/`)))
        .map((target) => `${page}: ${target}`);
    });
    expect(dead).toEqual([]);
  },
);

it("the library's README shows the manager, the check before a call, and the same table of SDKs as the project's", () => {
  const page = "packages/compact-context/README.md";
  const table = (file: string): string => /\| you use \|[\s\S]*?\n\n/.exec(pageText(file))?.[0] ?? "";
  expect(fencesOf(page, "ts").map(({ text }) => text)[0]).toMatch(/new CompactManager[\s\S]*\.preflight\(/);
  expect(hostLines(page).length).toBeGreaterThan(13);
  expect(table(page)).toBe(table("README.md"));
});
