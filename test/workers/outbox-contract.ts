import { expect } from "vitest";
import type { Claim, Outbox, OutboxItem } from "../../packages/compact-context/src/core/ports.ts";

/** An empty outbox and its clock. */
export interface OutboxUnderTest {
  readonly outbox: Outbox;
  /** Advances the clock by milliseconds. */
  pass(ms: number): Promise<void>;
}

/** One requirement for every outbox. */
export interface OutboxCase {
  readonly name: string;
  run(given: OutboxUnderTest): Promise<void>;
}

/** Longer than any of these cases takes: only `pass` expires a claim. */
const MS = 60_000;
const one: Claim = { by: "one", ms: MS };
const two: Claim = { by: "two", ms: MS };
const item = (id: string, session = "s"): OutboxItem => ({
  id,
  session,
  body: `body of ${id} \\u0000 é😀\n`,
});
const ids = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id).sort();

export const outboxCases: readonly OutboxCase[] = [
  {
    name: "keeps an item with its worker until the claim runs out, then gives it to one other",
    run: async ({ outbox, pass }) => {
      expect(await outbox.nextDue()).toBeUndefined();
      expect(await outbox.add(item("a"), one)).toBe(true);
      expect(await outbox.claim(two, 9)).toEqual([]);
      expect(await outbox.nextDue()).toBeGreaterThan(0);
      await pass(MS + 20);
      expect(await outbox.nextDue()).toBe(0);
      const racers = await Promise.all(
        ["two", "three", "four", "five"].map((by) => outbox.claim({ by, ms: MS }, 9)),
      );
      expect(racers.flat()).toEqual([{ ...item("a"), attempts: 0 }]);
    },
  },
  {
    name: "keeps an item longer whose claim is renewed, and says when it was lost",
    run: async ({ outbox, pass }) => {
      await outbox.add(item("a"), one);
      await pass(MS / 2);
      expect(await outbox.renew(item("a"), { ...one, ms: MS * 4 })).toBe(true);
      await pass(MS);
      expect(await outbox.claim(two, 9)).toEqual([]);
      await pass(MS * 4);
      expect(ids(await outbox.claim(two, 9))).toEqual(["a"]);
      expect(await outbox.renew(item("a"), one)).toBe(false);
    },
  },
  {
    name: "gives a failed item out again after its wait, with the attempts counted",
    run: async ({ outbox, pass }) => {
      await outbox.add(item("a"), one);
      await outbox.retry(item("a"), "one", { inMs: MS, attempts: 3 });
      expect(await outbox.claim(two, 9)).toEqual([]);
      await pass(MS + 20);
      expect(await outbox.claim(two, 9)).toEqual([{ ...item("a"), attempts: 3 }]);
      await outbox.retry(item("a"), "one", { inMs: 0, attempts: 9 });
      await pass(MS + 20);
      expect(await outbox.claim(one, 9)).toEqual([{ ...item("a"), attempts: 3 }]);
    },
  },
  {
    name: "takes the same id once, and tells a second worker that it is not its own",
    run: async ({ outbox, pass }) => {
      expect(await outbox.add(item("a"), one)).toBe(true);
      expect(await outbox.add(item("a"), one)).toBe(true);
      expect(await outbox.add(item("a"), two)).toBe(false);
      expect(await outbox.pending("s")).toEqual(["a"]);
      await pass(MS + 20);
      expect(await outbox.add(item("a"), two)).toBe(true);
      expect(await outbox.pending("s")).toEqual(["a"]);
    },
  },
  {
    name: "hands out no more than asked for, and nothing that was removed",
    run: async ({ outbox }) => {
      for (const id of ["a", "b", "c", "d"]) await outbox.add(item(id), { by: "one", ms: 0 });
      const first = await outbox.claim(two, 3);
      expect(first.length).toBe(3);
      for (const claimed of first) await outbox.remove(claimed);
      const rest = await outbox.claim(two, 3);
      expect(ids([...first, ...rest])).toEqual(["a", "b", "c", "d"]);
      for (const claimed of rest) await outbox.remove(claimed);
      await outbox.remove(item("a"));
      expect(await outbox.nextDue()).toBeUndefined();
      expect(await outbox.pending("s")).toEqual([]);
    },
  },
  {
    name: "keeps sessions apart",
    run: async ({ outbox }) => {
      await outbox.add(item("a", "s"), one);
      await outbox.add(item("b", "s2"), one);
      await outbox.add(item("a", "other~1"), one);
      expect(await outbox.pending("s")).toEqual(["a"]);
      expect(await outbox.pending("s2")).toEqual(["b"]);
      expect(await outbox.pending("other~1")).toEqual(["a"]);
      expect(await outbox.pending("nobody")).toEqual([]);
    },
  },
];
