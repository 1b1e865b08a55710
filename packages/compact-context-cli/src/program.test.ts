import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { completionOf } from "./commands/completion.ts";
import { COMMANDS } from "./commands/index.ts";
import type { Command } from "./flags.ts";
import { readCommandLine } from "./program.ts";

const layout = { width: 80, paint: (_: unknown, text: string) => text };
const read = (...words: string[]) => readCommandLine(words, COMMANDS, layout);
const textOf = (width: number, ...words: string[]): string => {
  const asked = readCommandLine(words, COMMANDS, { ...layout, width });
  return "text" in asked ? asked.text : "";
};

/** Every command with its full name. */
function all(command: Command, path: readonly string[]): (readonly [string, Command])[] {
  return [
    [path.join(" "), command] as const,
    ...(command.actions ?? []).flatMap((action) => all(action, [...path, action.name])),
  ];
}
const EVERY = all(COMMANDS, []);

describe("a command line", () => {
  it("has its flags in every usual spelling, before and after words", () => {
    expect(read("plan", "a", "--window", "20k", "--json")).toMatchObject({
      path: "plan",
      words: ["a"],
      flags: { window: "20k", json: true },
    });
    expect(read("a.json", "--window=20k", "-oout")).toMatchObject({
      path: "",
      words: ["a.json"],
      flags: { window: "20k", output: "out" },
    });
    expect(read("a.json", "--output=-dash")).toMatchObject({ flags: { output: "-dash" } });
    expect(read("--", "--json")).toMatchObject({ path: "", words: ["--json"] });
    expect(read("-", "--json", "--json")).toMatchObject({ words: ["-"], flags: { json: true } });
    expect(read("archive", "--archive", "kept")).toMatchObject({
      path: "archive list",
      flags: { archive: "kept" },
    });
  });

  it("takes a word behind -- for an argument, though a command has its name", () => {
    expect(read("--", "archive")).toMatchObject({ path: "", words: ["archive"] });
    expect(read("--json", "--", "archive")).toMatchObject({
      path: "",
      words: ["archive"],
      flags: { json: true },
    });
    expect(() => read("archive", "--", "show")).toThrow("there is no command archive show");
    expect(read("archive", "show", "--", "list")).toMatchObject({ path: "archive show", words: ["list"] });
  });

  it.each([
    [["plan", "a", "--jsn"], "--jsn is not a flag", "Did you mean --json?"],
    [["a", "--out", "b"], "--out is not a flag", "Did you mean --output?"],
    [["plan", "a", "--force"], "--force is not a flag of this command", "Taken here"],
    [["plan", "a", "-x"], "-x is not a flag", "Taken here"],
    [["archive", "list", "-o", "x"], "-o is not a flag of this command", "Taken here"],
    [["plan", "a", "--window"], "--window needs a value", "the model's limit"],
    [["a", "-o", "--json"], "-o needs a value, and --json starts with a dash", "Write -o FILE"],
    [["a", "-o", "-"], "-o - is not a file", "-o FILE"],
    [["a", "--output=-"], "-o - is not a file", "-o FILE"],
    [["plan", "a", "--window", "-5"], "--window needs a value", "--window=-5"],
    [["plan", "a", "--window="], "--window needs a value", "the model's limit"],
    [["plan", "a", "--json=yes"], "--json takes no value", "alone"],
    [["plan", "a", "--window", "1", "--window", "2"], "--window is given twice", "once"],
    [["plan", "a", "b"], "b is one argument too many", "compact plan <transcript>"],
    [["plan"], "compact plan needs a transcript", "Such as: compact plan"],
    [["diff", "a"], "compact diff needs a second file", "Such as: compact diff"],
    [["inspcet", "a"], "there is no command inspcet", "Did you mean compact inspect?"],
    [["archive", "serch"], "there is no command archive serch", "Did you mean compact archive search?"],
    [["storage", "ddll"], "there is no command storage ddll", "Did you mean compact storage ddl?"],
    [["help", "pln"], "there is no command pln", "Did you mean compact plan?"],
    [["help", "memory", "fo"], "there is no command memory fo", "compact memory --help lists the commands."],
    [["undo", "--help"], "there is no command undo", "compact --help lists the commands."],
    [["pln", "a", "-h"], "there is no command pln", "Did you mean compact plan?"],
    [["archive", "serch", "--help"], "there is no command archive serch", "compact archive search?"],
    [["hlep", "plan"], "there is no command hlep", "Did you mean compact help?"],
  ])("%j is a usage error with a hint", (words, message, hint) => {
    expect(() => read(...words)).toThrow(
      expect.objectContaining({
        code: "InvalidUsage",
        message: expect.stringContaining(message) as string,
        hint: expect.stringContaining(hint) as string,
      }),
    );
  });
});

describe("help", () => {
  it.each(EVERY)(
    "compact %s has an example that the command line takes, and one for its flags",
    (path, command) => {
      expect(command.examples.length).toBeGreaterThan(0);
      for (const example of command.examples) {
        const line = example
          .replace(/ [>|<] .*| -- .*/, "")
          .replace(/^(?:eval "\$\(|claude .*)/, "")
          .replace(/\)"$/, "");
        const words = (line.match(/'[^']*'|"[^"]*"|\S+/g) ?? [])
          .slice(1)
          .map((word) => word.replaceAll(/['"]/g, ""));
        expect(() => read(...words), example).not.toThrow();
      }
      expect(textOf(80, ...path.split(" ").filter(Boolean), "--help")).toContain(command.examples[0]);
    },
  );

  it("is the same text for every way to request it", () => {
    for (const [path] of EVERY) {
      const names = path.split(" ").filter(Boolean);
      const text = textOf(80, ...names, "--help");
      for (const words of [
        ["help", ...names],
        ["--help", ...names],
        [...names, "-h"],
        ["help", ...names, "--json"],
      ]) {
        expect(textOf(80, ...words), words.join(" ")).toBe(text);
      }
    }
    expect(textOf(80, "storage")).toBe(textOf(80, "storage", "--help"));
    expect(textOf(80, "storage")).toContain("\nPrints the SQL for the Postgres tables.\n");
    expect(textOf(80, "archive", "help")).toBe(textOf(80, "archive", "--help"));
    expect(textOf(80, "help", "help")).toBe(textOf(80, "--help"));
  });

  it.each([60, 80, 120])("breaks no word at %d columns", (width) => {
    for (const [path, command] of EVERY) {
      const text = textOf(width, ...path.split(" ").filter(Boolean), "--help");
      const lines = text.slice(0, text.indexOf("Examples:")).split("\n");
      expect(Math.max(...lines.map((line) => line.length)), path).toBeLessThanOrEqual(width);
      const wordsOf = (said: string): string[] => said.toLowerCase().match(/\S+?(?=\.?(?:\s|$))/g) ?? [];
      for (const word of wordsOf([command.summary, ...(command.notes ?? [])].join(" "))) {
        expect(wordsOf(text), path).toContain(word);
      }
    }
  });
});

describe("compact completion", () => {
  const folder = mkdtempSync(join(tmpdir(), "compact-completion-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function scriptFor(shell: string): Promise<string> {
    let out = "";
    const stdout = {
      write: (text: string) => {
        out += text;
      },
      isTerminal: false,
      columns: undefined,
    };
    const ports = { stdout } as unknown as Parameters<ReturnType<typeof completionOf>>[0]["ports"];
    const terminal = undefined as never;
    await completionOf(COMMANDS)({ words: [shell], flags: {}, ports, terminal });
    return out;
  }

  /** What bash offers for these words, the last of which is incomplete. */
  async function offered(...words: string[]): Promise<string[]> {
    writeFileSync(join(folder, "completion.bash"), await scriptFor("bash"));
    const script = `source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _compact; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync("bash", ["-c", script, "bash", "compact", ...words], {
      cwd: folder,
      encoding: "utf8",
    });
    return out.split("\n").filter(Boolean);
  }

  it("offers commands, actions, flags of the command, and files", async () => {
    expect(await offered("ins")).toEqual(["inspect"]);
    expect(await offered("archive", "s")).toEqual(["show", "search", "sweep"]);
    expect(await offered("plan", "x.json", "--w")).toEqual(["--window"]);
    expect(await offered("inspect", "--fo")).toEqual(["--format"]);
    expect(await offered("inspect", "comp")).toEqual(["completion.bash"]);
  });

  it.each(["zsh", "fish"])("%s knows every command and flag", async (shell) => {
    const script = await scriptFor(shell);
    for (const [path, { name, flags = [] }] of EVERY) {
      if (path !== "" && path !== "session") expect(script).toContain(name);
      for (const flag of flags) expect(script).toContain(flag);
    }
  });

  it("another shell is refused with a list of the supported ones", async () => {
    await expect(scriptFor("tcsh")).rejects.toMatchObject({
      code: "InvalidUsage",
      hint: expect.stringContaining("bash"),
    });
  });
});
