import { describe, expect, it } from "vitest";
import type { Message, Part, Role } from "./message.ts";
import { groupUnits } from "./units.ts";

let counter = 0;
function message(role: Role, ...parts: Part[]): Message {
  counter += 1;
  return { id: `m${counter}`, role, parts };
}
const text = (value: string): Part => ({ type: "text", text: value });
const call = (id: string): Part => ({ type: "toolCall", id, name: "read", arguments: {} });
const result = (id: string): Part => ({ type: "toolResult", id, content: "done" });
const reasoning: Part = { type: "reasoning", text: "hm", signed: true };

const indexes = (messages: Message[]) => groupUnits(messages).map((unit) => unit.indexes);

describe("groupUnits", () => {
  it("keeps a call and its result together", () => {
    const units = groupUnits([
      message("user", text("go")),
      message("assistant", call("a")),
      message("tool", result("a")),
    ]);
    expect(units).toEqual([
      { kind: "message", indexes: [0], calls: 0, open: 0 },
      { kind: "exchange", indexes: [1, 2], calls: 1, open: 0 },
    ]);
  });

  it("keeps a parallel batch and all its results together, in whatever order they come", () => {
    const list = [
      message("assistant", call("a"), call("b")),
      message("tool", result("b")),
      message("tool", result("a")),
    ];
    expect(groupUnits(list)).toEqual([{ kind: "exchange", indexes: [0, 1, 2], calls: 2, open: 0 }]);
  });

  it("joins parallel calls that a format writes as separate items", () => {
    const list = [
      message("assistant", call("a")),
      message("assistant", call("b")),
      message("tool", result("a")),
      message("tool", result("b")),
    ];
    expect(indexes(list)).toEqual([[0, 1, 2, 3]]);
  });

  it("keeps a message of reasoning only with what it made, also when the reasoning was taken out", () => {
    const emptied: Message = { ...message("assistant"), edited: true };
    const list = [emptied, message("assistant", call("a")), message("tool", result("a"))];
    expect(indexes([...list, message("assistant", text("done"))])).toEqual([[0, 1, 2], [3]]);
  });

  it("does not join calls that follow an answered one", () => {
    const list = [
      message("assistant", call("a")),
      message("tool", result("a")),
      message("assistant", call("b")),
      message("tool", result("b")),
    ];
    expect(indexes(list)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it("ties reasoning to the items of the same response", () => {
    const list = [
      message("assistant", reasoning),
      message("assistant", text("look")),
      message("assistant", call("a")),
      message("tool", result("a")),
    ];
    expect(indexes(list)).toEqual([[0, 1, 2, 3]]);
  });

  it("finds results that do not follow their call at once", () => {
    const list = [
      message("assistant", call("a")),
      message("user", text("wait")),
      message("tool", result("a")),
    ];
    expect(indexes(list)).toEqual([[0, 2], [1]]);
  });

  it("counts calls that are never answered as open", () => {
    const [unit] = groupUnits([message("assistant", call("a"), call("b")), message("tool", result("a"))]);
    expect(unit?.open).toBe(1);
  });

  it("does not wait for calls that the provider answers itself", () => {
    const server: Part = {
      type: "toolCall",
      id: "s",
      name: "web_search",
      arguments: {},
      providerExecuted: true,
    };
    expect(groupUnits([message("assistant", server, text("found"))])).toEqual([
      { kind: "message", indexes: [0], calls: 0, open: 0 },
    ]);
  });

  it("keeps a provider's late result with its call, and apart from a call that had the id before", () => {
    const served = { ...call("a"), providerExecuted: true } as Part;
    const list = [
      message("assistant", call("a")),
      message("tool", result("a")),
      message("user", text("search")),
      message("assistant", served),
      message("assistant", result("a")),
    ];
    expect(indexes(list)).toEqual([[0, 1], [2], [3, 4]]);
  });

  it("pairs reused call ids with the newest call", () => {
    const list = [
      message("assistant", call("a")),
      message("tool", result("a")),
      message("assistant", call("a")),
      message("tool", result("a")),
    ];
    expect(indexes(list)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it("makes one unit of exchanges that are tied together by their results, however many", () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `${index}`);
    const list = [
      ...ids.flatMap((id) => [message("assistant", call(id)), message("user", text("wait"))]),
      ...ids.map((id) => message("tool", result(id), result(`${Number(id) + 1}`))),
    ];
    const start = process.cpuUsage();
    const [tied, ...others] = groupUnits(list);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(3000);
    expect([tied?.indexes.length, tied?.calls, tied?.open]).toEqual([20_000, 10_000, 0]);
    expect(others.every((unit) => unit.kind === "message")).toBe(true);
  });

  it("keeps a second result of a call with the first", () => {
    const list = [
      message("assistant", call("a")),
      message("tool", result("a")),
      message("user", text("again")),
      message("tool", result("a")),
    ];
    expect(indexes(list)).toEqual([[0, 1, 3], [2]]);
  });

  it("leaves an orphan result as a unit of its own", () => {
    expect(indexes([message("tool", result("nobody")), message("user", text("hi"))])).toEqual([[0], [1]]);
  });

  it("holds call and result of one message in one unit", () => {
    expect(groupUnits([message("assistant", call("a"), result("a"))])).toEqual([
      { kind: "exchange", indexes: [0], calls: 1, open: 0 },
    ]);
  });
});
