import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pageText, root } from "./fences.ts";

// The pages name versions of SDKs; the tests install them. Both must say the same.

/** Versions by package, under its own name, of everything that test/compat installs. */
const installed = new Map<string, Set<string>>();
for (const file of readdirSync(join(root, "test/compat"), { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith("package.json") || file.includes("node_modules")) continue;
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(root, "test/compat", file), "utf8"),
  ) as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
  for (const [alias, version] of Object.entries({ ...dependencies, ...optionalDependencies })) {
    const [, name = alias, number = version] = /^npm:(.+)@(.+)$/.exec(version) ?? [];
    installed.set(name, (installed.get(name) ?? new Set()).add(number));
  }
}
const versions = new Set([...installed.values()].flatMap((numbers) => [...numbers]));
const NUMBER = /\b\d+\.\d+\.\d+\b/g;

const rowsOf = (page: string, head: string): string[] => {
  const lines = pageText(page).split("\n");
  const from = lines.findIndex((line) => line.startsWith(head));
  const end = lines.findIndex((line, index) => index > from && !line.startsWith("|"));
  return lines.slice(from + 2, end);
};
const numbersIn = (rows: readonly string[]): string[] =>
  [...new Set(rows.flatMap((row) => row.match(NUMBER) ?? []))].sort();

describe("the versions of hosts", () => {
  const readme = rowsOf("README.md", "| you use |");
  const guide = rowsOf("docs/adapters.md", "| host |");

  it("in both tables are the same, and those that the tests install", () => {
    expect(numbersIn(readme).length).toBeGreaterThan(10);
    expect(numbersIn(readme)).toEqual(numbersIn(guide));
    expect(numbersIn(guide).filter((number) => !versions.has(number))).toEqual([]);
  });

  it("beside a package's name are that package's", () => {
    const text = `${pageText("docs/adapters.md")}\n${readme.join("\n")}`;
    const named = [...text.matchAll(/`(@?[a-z][\w/-]*)` ((?:\d+\.\d+\.\d+(?:, | and )?)+)/g)];
    expect(named.length).toBeGreaterThan(15);
    const wrong = named.flatMap(([, name = "", numbers = ""]) =>
      (numbers.match(NUMBER) ?? [])
        .filter((number) => installed.get(name)?.has(number) !== true)
        .map((n) => `${name} ${n}`),
    );
    expect(wrong).toEqual([]);
  });

  it("that the proxy was tested with are those that its tests install", () => {
    const numbers = numbersIn(rowsOf("docs/proxy.md", "| agent |"));
    const { dependencies } = JSON.parse(readFileSync(join(root, "test/compat/proxy/package.json"), "utf8"));
    expect(numbers).toEqual(Object.values<string>(dependencies).sort());
  });
});
