import { beforeAll, describe, expect, it } from "vitest";
import { checkConfig } from "../../packages/compact-context/src/config/load.ts";
import { whole } from "../whole.ts";
import { problemsOf, type Source, sourcesOf } from "./compiled.ts";
import { fencesOf, PAGES } from "./fences.ts";
import { hostLines } from "./host-lines.ts";

const [planted] = sourcesOf({
  file: "planted.md",
  line: 7,
  heading: "",
  text: 'import { compact } from "compact-context";\nawait compact([], { maxTokenz: 1 });',
}) as [Source];
const lines = hostLines("README.md");
const fences = [...PAGES, "packages/compact-context/README.md"].flatMap((page) => fencesOf(page, "ts"));
const sources = [...fences, ...lines].flatMap(sourcesOf);

describe("the snippets of the pages", () => {
  let problems: ReturnType<typeof problemsOf>;
  beforeAll(() => {
    problems = problemsOf([...sources, planted]);
  }, 600_000);

  it("a wrong one is found, with its place", () => {
    expect(problems.get(planted)).toEqual([expect.stringMatching(/^planted\.md:8: .*maxTokenz/)]);
  });

  for (const source of sources) {
    const { fence, versions } = source;
    const { file, line } = fence;
    const without = source.path === undefined ? `, which needs ${source.missing.join(", ")}` : "";
    it.skipIf(source.path === undefined && !whole)(`${file}:${line} compiles${without}${versions}`, () => {
      expect(source.missing).toEqual([]);
      expect(problems.get(source)).toEqual([]);
    });
  }
});

it("every line of the table of SDKs is looked at", () => {
  expect(lines.length).toBeGreaterThan(13);
  expect(lines.filter(({ text }) => !/^import .*; .*\(/.test(text))).toEqual([]);
});

it("the settings that docs/configuration.md writes down are such", () => {
  const files = fencesOf("docs/configuration.md", "yaml");
  expect(files.length).toBeGreaterThan(0);
  for (const { file, text } of files) expect(checkConfig(text, file)).toEqual([]);
});

it("no snippet names one session for everybody", () => {
  const fixed = PAGES.flatMap((page) => fencesOf(page, "ts"))
    .filter(({ text }) => /sessionId: "/.test(text))
    .map(({ file, line }) => `${file}:${line}`);
  expect(fixed).toEqual([]);
});
