import { describe, expect, it } from "vitest";
import { parseArguments } from "./arguments.ts";

const parse = (...words: string[]) => parseArguments(words, ["window", "output", "json", "force"]);

describe("arguments", () => {
  it("reads flags in every usual spelling, before and after words", () => {
    expect(parse("a", "--window", "20k", "-o", "out", "--json", "b")).toEqual({
      positionals: ["a", "b"],
      flags: { window: "20k", output: "out", json: true },
    });
    expect(parse("--window=20k", "-oout").flags).toEqual({ window: "20k", output: "out" });
    expect(parse("--output=-dash").flags).toEqual({ output: "-dash" });
    expect(parse("--", "--json").positionals).toEqual(["--json"]);
    expect(parse("-h").flags).toEqual({ help: true });
  });

  it.each([
    [["--jsn"], "--jsn is no flag", "Did you mean --json?"],
    [["--all"], "--all is no flag of this command", "Taken here"],
    [["-x"], "-x is no flag", "Taken here"],
    [["--window"], "--window needs a value", "the model's limit"],
    [["-o", "--json"], "-o needs a value, and --json begins with a dash", "Write -o FILE"],
    [["-o", "-"], "-o needs a value, and - begins with a dash", "--output=-"],
    [["--window", "-5"], "--window needs a value", "--window=-5"],
    [["--window="], "--window needs a value", "the model's limit"],
    [["--json=yes"], "--json takes no value", "alone"],
    [["--window", "1", "--window", "2"], "--window is given twice", "once"],
  ])("%j is wrong use and says what to do", (words, message, hint) => {
    expect(() => parse(...words)).toThrow(
      expect.objectContaining({
        code: "InvalidUsage",
        message: expect.stringContaining(message) as string,
        hint: expect.stringContaining(hint) as string,
      }),
    );
  });

  it("the same flag with the same value twice is no contradiction", () => {
    expect(parse("--json", "--json").flags).toEqual({ json: true });
  });
});
