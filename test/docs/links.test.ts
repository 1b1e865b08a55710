import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { PAGES, pageText, root } from "./fences.ts";

/** How GitHub names a heading in a link. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

function anchorsOf(page: string): readonly string[] {
  return [...pageText(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

/** Links of a page that lead nowhere inside the project. */
function broken(page: string): readonly string[] {
  const found = pageText(page).matchAll(/(?:\]\(|\bsrc(?:set)?=")([^)"\s]+)[)"]/g);
  const links = [...found].map(([, link = ""]) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).includes(anchor);
  });
}

it.each([...PAGES, "CHANGELOG.md"])("the links of %s lead somewhere", (page) => {
  expect(broken(page)).toEqual([]);
});

/** Files and folders of the project that a page names without a link, by its place or from a package's `src/` on. */
function namedFiles(page: string): readonly string[] {
  const ours =
    /(?<![\w./-])(?:(?:packages|src|test|scripts|examples|docs|demo)\/[\w./-]*\w(?![\w*-])|[a-z-]+(?:\/[\w-]+)+\.ts\b)/g;
  return [...pageText(page).matchAll(ours)].map(([path]) => path);
}

/** Where names of files begin. */
const SOURCES = [
  "packages/compact-context/src",
  "packages/compact-context/src/memory",
  "packages/compact-context-cli",
  "packages/compact-context-cli/src",
];

/** ARCHITECTURE.md has a test of its own. */
const OTHERS = PAGES.filter((page) => page !== "ARCHITECTURE.md");

it.each(OTHERS)("the files that %s names are there", (page) => {
  const places = [...SOURCES, "", dirname(page)];
  expect(
    namedFiles(page).filter((path) => !places.some((place) => existsSync(join(root, place, path)))),
  ).toEqual([]);
});

it("files are looked for in the pages", () => {
  expect(OTHERS.flatMap(namedFiles).length).toBeGreaterThan(40);
});

it("DOC-1 the README leads to the pages about architecture, security and observability", () => {
  const readme = pageText("README.md");
  for (const page of ["ARCHITECTURE.md", "SECURITY.md", "OBSERVABILITY.md"])
    expect(readme).toContain(`](${page})`);
});
