import { describe, expect, it } from "vitest";
import { talk } from "../../../../../test/memory/talk.ts";
import type { Message } from "../../core/message.ts";
import { isUpdateDue } from "./update.ts";

const defaults = { minTurnsBetweenUpdate: 2, minToolCallsBetweenUpdate: 4 };
const due = (messages: readonly Message[], thresholds = defaults): boolean =>
  isUpdateDue(messages, thresholds);
const look = (n: number): ReturnType<typeof talk> => {
  const list = talk().user("Look around");
  for (let index = 0; index < n; index += 1) list.call("read_file", { path: `src/${index}.ts` });
  return list;
};

describe("when SESSION.md is written", () => {
  it("MEM-6 after two exchanges, not after one, and not while the second waits for its reply", () => {
    const one = talk().user("What does the queue do?").reply("It keeps jobs.");
    expect(due(one.messages)).toBe(false);
    expect(due(one.user("And who reads it?").messages)).toBe(false);
    expect(due(one.reply("The worker.").messages)).toBe(true);
  });

  it("MEM-6 after four tool calls, not after three", () => {
    expect(due(look(3).messages)).toBe(false);
    expect(due(look(4).messages)).toBe(true);
  });

  it("MEM-6 after a changed file with a final reply, not before the reply, not for a read", () => {
    const edit = talk().user("Rename it").call("edit_file", { path: "src/queue.ts", new_string: "b" });
    expect(due(edit.messages)).toBe(false);
    expect(due(edit.reply("Renamed.").messages)).toBe(true);
    expect(due(talk().user("Read it").call("read_file", { path: "a.ts" }).reply("Read.").messages)).toBe(
      false,
    );
    const shell = talk().user("Write it").call("bash", { command: "echo 1 > out.txt" }).reply("Written.");
    expect(due(shell.messages)).toBe(true);
  });

  it.each(["No, use tabs instead.", "Stop. That's wrong.", "不对，改成制表符", "Nein, nimm Tabs."])(
    "MEM-6 after steering that changes direction: %s",
    (words) => {
      const list = talk().user("Indent the file").reply("Which width?").user(words);
      expect(due(list.messages)).toBe(true);
    },
  );

  it("MEM-6 after words that come between a call and its reply, whatever they say", () => {
    expect(
      due(talk().user("Count them").call("read_file", { path: "a.ts" }).user("the second file too").messages),
    ).toBe(true);
    expect(due(talk().user("No news is good news").messages)).toBe(false);
  });

  it("MEM-13 other thresholds are settings", () => {
    const one = talk().user("What does the queue do?").reply("It keeps jobs.");
    expect(due(one.messages, { ...defaults, minTurnsBetweenUpdate: 1 })).toBe(true);
    expect(due(look(4).messages, { ...defaults, minToolCallsBetweenUpdate: 5 })).toBe(false);
  });
});
