import { describe, expect, it } from "vitest";
import type { Message, Part, Role } from "../core/message.ts";
import { findMalformations, malformationsInSteps } from "./generic.ts";

const message = (id: string, role: Role, ...parts: Part[]): Message => ({ id, role, parts });
const call = (id: string): Part => ({ type: "toolCall", id, name: "read", arguments: {} });
const result = (id: string): Part => ({ type: "toolResult", id, content: "done" });
const say = (text: string): Part => ({ type: "text", text });
const kinds = (messages: Message[]) =>
  findMalformations(messages).map((fault) => `${fault.index} ${fault.kind}`);

describe("findMalformations", () => {
  it("finds nothing in a sound list, a call under way at its end included", () => {
    const list = [
      message("1", "user", say("go")),
      message("2", "assistant", call("a"), call("b")),
      message("3", "tool", result("a")),
    ];
    expect(kinds(list)).toEqual([]);
  });

  it("PRT-7 names orphans, duplicates, dead calls and unknown roles with their place", () => {
    expect(kinds([message("1", "tool", result("x"))])).toEqual(["0 orphan result"]);
    expect(kinds([message("1", "user", say("a")), message("1", "user", say("b"))])).toEqual([
      "1 duplicate id",
    ]);
    expect(kinds([message("1", "robot" as Role, say("a"))])).toEqual(["0 unknown role"]);
    expect(
      kinds([
        message("1", "assistant", call("a")),
        message("2", "tool", result("a")),
        message("3", "tool", result("a")),
      ]),
    ).toEqual(["2 duplicate result"]);
    expect(
      kinds([
        message("1", "assistant", call("a")),
        message("2", "user", say("never mind")),
        message("3", "assistant", say("ok")),
      ]),
    ).toEqual(["0 unanswered call"]);
    expect(
      kinds([message("1", "assistant", call("a"), call("a")), message("2", "tool", result("a"))]),
    ).toEqual(["0 duplicate call"]);
  });

  it("looks through a long list in steps of which none takes more than 4,096 messages", () => {
    const list = Array.from({ length: 10_000 }, (_, turn) => [
      message(`u${turn}`, "user", say("go")),
      message(`c${turn}`, "assistant", call(`c${turn}`)),
      message(`r${turn}`, "tool", result(`c${turn}`)),
    ]).flat();
    list.push(message("open", "assistant", call("open")));
    const steps = [...malformationsInSteps(list)].length;
    // Pairing and grouping, after the ids and before the findings.
    expect(steps).toBeGreaterThanOrEqual(2 * Math.floor(list.length / 4096));
  });

  it("takes a result of the provider's own call for no orphan, wherever it stands", () => {
    const served: Part = {
      type: "toolCall",
      id: "s",
      name: "web_search",
      arguments: {},
      providerExecuted: true,
    };
    expect(kinds([message("1", "assistant", result("s")), message("2", "assistant", served)])).toEqual([]);
  });
});
