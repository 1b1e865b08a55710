import { expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { readInput } from "../extractive/builtin.ts";
import { WRITTEN_INTRODUCTION } from "../extractive/format.ts";
import { factsOf } from "./complete.ts";

// The facts from the records below a model's prose, over rounds.

let next = 0;

/** A request, and a file that is written and then edited for it. */
function work(request: string, path: string): Message[] {
  const step = (name: string, args: object, content: string): Message[] => {
    next += 1;
    const id = `c${next}`;
    return [
      { id: `a${next}`, role: "assistant", parts: [{ type: "toolCall", id, name, arguments: args }] },
      { id: `t${next}`, role: "tool", parts: [{ type: "toolResult", id, content }] },
    ];
  };
  next += 1;
  return [
    { id: `u${next}`, role: "user", parts: [{ type: "text", text: request }] },
    ...step("Write", { file_path: path, content: "weigh() {\n}\n" }, `The file ${path} has been updated.`),
    ...step("Edit", { file_path: path, old_string: "a", new_string: "b" }, "The file has been updated."),
  ];
}

async function roundOf(messages: readonly Message[], room: number, previous?: string): Promise<string[]> {
  const lines = factsOf(await readInput(messages, { maxTokens: 800, previous }), true)(room, "");
  return [WRITTEN_INTRODUCTION, "Weighed it all.", ...lines];
}

it("SUM-2 counts the requests that are not told over rounds, below shortened paths too", async () => {
  let summary: string[] = [];
  for (const number of [1, 2, 3]) {
    const round = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((at) =>
      work(`Round ${number}, request ${at}: let it weigh parcels`, `/home/ulm/depot/scale_${at % 3}.sh`),
    );
    summary = await roundOf(round, 240, summary.length === 0 ? undefined : summary.join("\n"));
    expect(summary).toContain("Paths are under /home/ulm/depot/");
    const told = summary.filter((line) => line.startsWith("> ")).length;
    expect(summary).toContain(`(Not told here: ${8 * number - told} earlier requests.)`);
  }
});

it("tells a rewritten file once", async () => {
  const [ask, ...steps] = work("Let it weigh parcels", "/home/ulm/depot/scale.sh");
  const summary = await roundOf([ask as Message, ...steps], 400);
  const later = await roundOf(steps.slice(2), 400, summary.join("\n"));
  expect(later.filter((line) => line.includes("scale.sh"))).toHaveLength(1);
});

it("tells files without empty headings where the prose tells the requests", async () => {
  const messages = [0, 1, 2].flatMap((at) =>
    work(`Let scale ${at} weigh parcels`, `/home/ulm/depot/scale_${at}.sh`),
  );
  const lines = factsOf(await readInput(messages, { maxTokens: 800 }), false)(400, "");
  expect(lines.filter((line) => line.startsWith("### "))).toEqual(["### Files changed"]);
  expect(lines.join("\n")).toMatch(/scale_0.*scale_1.*scale_2/);
});
