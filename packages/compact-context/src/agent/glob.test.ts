import { describe, expect, it } from "vitest";
import { globPattern } from "./tool.ts";

describe("globs", () => {
  it.each([
    ["src/**", ["src/a", "src/a/b"], ["src", "srcx/a", "a/src/b"]],
    ["src", ["src", "src/a/b"], ["srcx"]],
    ["src/", ["src/a"], ["docs"]],
    ["./src/*.ts", ["src/a.ts"], ["src/a/b.ts", "src/a.tsx"]],
    ["**/*.md", ["a.md", "docs/b/a.md"], ["a.mdx"]],
    ["docs/**/a.md", ["docs/a.md", "docs/b/c/a.md"], ["docs/xa.md"]],
    ["**", ["a", "a/b"], []],
    ["a**b", ["ab", "axb"], ["a/b"]],
    ["?.ts", ["a.ts"], ["/.ts", "ab.ts"]],
    ["a.b+(c)", ["a.bc", "a.bcc"], ["axbc", "a.b"]],
    ["[ab].ts", ["a.ts", "b.ts"], ["c.ts", "ab.ts"]],
    ["{src,{lib,bin}/x}/*.ts", ["src/a.ts", "lib/x/a.ts"], ["lib/a.ts"]],
    ["part{1..3}", ["part2", "part3/a"], ["part4"]],
    ["src/!(secret).ts", ["src/a.ts"], ["src/secret.ts"]],
    [".github", [".github/workflows/ci.yml"], ["github"]],
    ["{src,test}/*.ts", ["src/a.ts", "test/a.ts"], ["docs/a.ts"]],
    ["{src/**,docs/*.md}", ["src/a/b", "docs/a.md"], ["docs/b/a.md", "src"]],
    ["lib/{a/b,c}/x", ["lib/a/b/x", "lib/c/x"], ["lib/a/x"]],
    ["{open", [], ["open"]],
  ])("%s", (glob, inside, outside) => {
    const pattern = globPattern(glob);
    expect(inside.filter((path) => !pattern.test(path))).toEqual([]);
    expect(outside.filter((path) => pattern.test(path))).toEqual([]);
  });
});
