import { describe, expect, it } from "vitest";
import { both, facts, forgotten, notOwn, passing, told } from "../../../../../test/memory/cases/facts.ts";
import type { Message } from "../../core/message.ts";
import { withoutToldSecrets } from "./own-words.ts";
import { relationOf } from "./relation.ts";
import { durableStatements } from "./statements.ts";
import { forgetWishes, isMeant } from "./wishes.ts";

const said = (text: string): Message => ({ id: text, role: "user", parts: [{ type: "text", text }] });
const learned = (text: string, known: readonly string[] = []): string[] =>
  durableStatements([said(text)], known).map((statement) => statement.text);

describe("plain facts", () => {
  it.each(facts)("%s MEM-14 learns, and replaces by what is so now: %s", (_, first, then, old, newer) => {
    const before = learned(first);
    expect(before.join(" ")).toMatch(old);
    const after = learned(then, before);
    expect(after.join(" ")).toMatch(newer);
    expect(after.map((text) => relationOf(text, before[0] ?? ""))).toContain("replaces");
  });

  it.each(both)("%s MEM-14 keeps both: %s | %s", (_, one, other) => {
    const before = learned(one);
    const after = learned(other, before);
    expect(before).toHaveLength(1);
    expect(after).toHaveLength(1);
    expect(relationOf(after[0] ?? "", before[0] ?? "")).not.toBe("replaces");
  });

  it.each(passing)("%s learns nothing lasting from %s", (_, text) => {
    expect(learned(text)).toEqual([]);
  });

  it.each(notOwn)("MEM-15 takes nothing in from %j", (text) => {
    expect(learned(text, ["Our office is in Lisbon.", "My name is Ana."])).toEqual([]);
  });

  it.each(forgotten)("MEM-14 %s is meant by: %s", (text, forget) => {
    expect(learned(text)).toHaveLength(1);
    expect(forgetWishes([said(forget)]).some(({ topic }) => isMeant(topic, text))).toBe(true);
  });

  it.each(told)("takes the secret out of %s", (text, secret) => {
    expect(withoutToldSecrets(text)).not.toContain(secret);
  });
});
