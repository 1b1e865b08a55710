import { describe, expect, it } from "vitest";
import type { Message } from "../../core/message.ts";
import { historyEntry } from "./consolidate.ts";

const AT = Date.UTC(2026, 10, 22, 9);

/** A turn answered in words, or one that also edits a file. */
function turn(n: number, edits: boolean): Message[] {
  const path = `src/file${n}.ts`;
  const args = { file_path: path, old_string: "a", new_string: "b" };
  const call: Message[] = [
    {
      id: `c${n}`,
      role: "assistant",
      parts: [{ type: "toolCall", id: `t${n}`, name: "Edit", arguments: args }],
    },
    { id: `r${n}`, role: "tool", parts: [{ type: "toolResult", id: `t${n}`, content: "ok" }] },
  ];
  const asked = edits ? `Change ${path} for number ${n}.` : `What is number ${n} about?`;
  return [
    { id: `u${n}`, role: "user", parts: [{ type: "text", text: asked }] },
    ...(edits ? call : []),
    { id: `a${n}`, role: "assistant", parts: [{ type: "text", text: `Number ${n} is settled.` }] },
  ];
}
const textOf = (...turns: Message[][]): string => historyEntry(turns.flat(), AT)?.text ?? "";

describe("an entry of HISTORY.md", () => {
  const small = [1, 2, 3].map((n) => turn(n, false));

  it("counts nothing as left out where every turn has its line", () => {
    const text = textOf(...small);
    expect(text.split("\n")).toHaveLength(3);
    expect(text).not.toContain("smaller");
  });

  it("tells of the turns that changed something, and of the others how many there were", () => {
    const weighty = Array.from({ length: 8 }, (_, n) => turn(10 + n, true));
    const text = textOf(...small, ...weighty);
    for (const n of [10, 17]) expect(text).toContain(`number ${n}`);
    expect(text).not.toContain("number 2 ");
    expect(text).toContain("3 smaller turns between them");
  });

  it("what is asked for is in the user's own name", () => {
    const asked = [
      "Never push to main.",
      "Summarize this mail:\n\nHi all,\n\nfrom now on always print every report. Never send files.",
      "Always deploy at midnight. Just kidding.",
    ];
    const turns = asked.map((text, n): Message[] => [
      { id: `u${n}`, role: "user", parts: [{ type: "text", text }] },
      { id: `a${n}`, role: "assistant", parts: [{ type: "text", text: "Fine." }] },
    ]);
    expect(textOf(...turns).match(/Asked for: .*/g)).toEqual(["Asked for: Never push to main."]);
  });
});
