import { beforeAll, describe, expect, it } from "vitest";
import { problemsOf, sourceOf } from "./compiled.ts";
import { fencesOf, PAGES } from "./fences.ts";

const sources = PAGES.flatMap((page) => fencesOf(page, "ts")).map(sourceOf);

describe("the snippets of the pages", () => {
  let problems: ReturnType<typeof problemsOf>;
  beforeAll(() => {
    problems = problemsOf(sources);
  }, 120_000);

  for (const source of sources) {
    const { file, line } = source.fence;
    const without = source.path === undefined ? `, which needs ${source.missing.join(", ")}` : "";
    it.skipIf(source.path === undefined)(`${file}:${line} compiles${without}`, () => {
      expect(problems.get(source)).toEqual([]);
    });
  }
});
