import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../packages/compact-context-cli/src/commands/index.ts";
import { readCommandLine } from "../../packages/compact-context-cli/src/program.ts";
import { fencesOf, PAGES, pageText, root } from "./fences.ts";

/** A command line of a page. */
interface Line {
  /** `page:line`. */
  readonly place: string;
  readonly words: readonly string[];
}

const lines: readonly Line[] = PAGES.flatMap((page) =>
  fencesOf(page, "sh").flatMap((fence) =>
    fence.text.split("\n").map((text, index) => ({
      place: `${page}:${fence.line + index}`,
      words: text
        .replace(/\s#.*$/, "")
        .split(/\s+/)
        .filter(Boolean),
    })),
  ),
);
/** Commands in the middle of a sentence. */
const spoken: readonly Line[] = PAGES.flatMap((page) =>
  pageText(page)
    .split("\n")
    .flatMap((text, index) =>
      [...text.matchAll(/`((?:npx )?(?:compact|npm run) [^`]+)`/g)].map(([, command = ""]) => ({
        place: `${page}:${index + 1}`,
        words: command.split(/\s+/),
      })),
    ),
);

/** A command line; a command that is only named, without the words that it needs, is told by its help. */
function read(words: readonly string[]): ReturnType<typeof readCommandLine> {
  const layout = { width: 80, paint: (_: unknown, text: string) => text };
  try {
    return readCommandLine(words, COMMANDS, layout);
  } catch (error) {
    if (error instanceof Error && / needs an? \w+$/.test(error.message))
      return readCommandLine([...words, "--help"], COMMANDS, layout);
    throw error;
  }
}

/** What is wrong with the words behind `compact`; throws what the command line itself would. */
function refuse(words: readonly string[]): void {
  const asked = read(words);
  const isMain = "path" in asked && asked.path === "" && /^[a-z]+$/.test(words[0] ?? "");
  if (isMain) throw new Error(`there is no command ${words[0]}`);
}

/** The words behind the last `compact` that stands for the program. */
function behindCompact({ words }: Line): readonly string[] | undefined {
  const at = words.lastIndexOf("compact");
  return at === -1 ? undefined : words.slice(at + 1);
}

describe("the commands of the pages", () => {
  const all = [...lines, ...spoken];
  const ours = all.filter((line) => behindCompact(line) !== undefined);

  it.each(ours.map((line) => [line.place, (behindCompact(line) ?? []).join(" "), line] as const))(
    "%s compact %s",
    (_place, _words, line) => {
      refuse(behindCompact(line) ?? []);
    },
  );

  it("scripts that npm is to run are there", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    const asked = all.flatMap(({ place, words }) => {
      const at = words.indexOf("run");
      return words[at - 1] === "npm" ? [{ place, script: words[at + 1] ?? "" }] : [];
    });
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter(({ script }) => !Object.hasOwn(scripts, script))).toEqual([]);
  });

  it("every command is named in the README", () => {
    const readme = pageText("README.md");
    const names = (COMMANDS.actions ?? [])
      .filter(({ isDefault }) => isDefault !== true)
      .map(({ name }) => name);
    expect(names.filter((name) => !new RegExp(`compact ${name}\\b`).test(readme))).toEqual([]);
  });

  it.each(["inspcet", "plan session.jsonl --windwo 32k", "plan a b c d"])(
    "a wrong one is found: %s",
    (words) => {
      expect(() => refuse(words.split(" "))).toThrow();
    },
  );
});
