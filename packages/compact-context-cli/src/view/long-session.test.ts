import { expect, it } from "vitest";
import { Originals } from "./originals.ts";
import { hasMore, mergeSession, nextOffsets } from "./page/state.ts";
import { SessionRecord } from "./session-record.ts";
import type { SessionView } from "./session-view.ts";

/** A session with 35 million characters of spans. */
function longRecord() {
  const originals = new Originals({
    messages: () => [],
    compactions: () => [],
    indexOf: () => -1,
    countMessage: () => 0,
    search: async () => ({ hits: [], problems: 0 }),
  });
  const record = new SessionRecord({ id: "long", source: "events", originals }, { layers: ["messages"] });
  for (let index = 0; index < 5000; index += 1) record.addStep({ messages: index, tokens: [index] });
  for (let index = 0; index < 20_000; index += 1) {
    const attributes = [{ name: "payload", value: `${index} `.repeat(300) }];
    record.addSpan({ id: `${index}`, name: "compact.token_estimate", status: "ok", attributes });
  }
  return record;
}

it("a long session comes in small pages until the page has all of it", () => {
  const record = longRecord();
  const sizes: number[] = [];
  let known: SessionView | undefined;
  for (let more = true; more; ) {
    const text = JSON.stringify(record.view(nextOffsets(known)));
    sizes.push(text.length);
    const session = mergeSession(known, JSON.parse(text) as SessionView);
    more = hasMore(known, session);
    known = session;
  }
  expect(known?.spans.map(({ id }) => Number(id))).toEqual(Array.from({ length: 20_000 }, (_, id) => id));
  expect(known?.steps.map(({ index }) => index)).toEqual(Array.from({ length: 5000 }, (_, index) => index));
  expect(Math.max(...sizes)).toBeLessThan(2_000_000);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(30_000_000);
});

it("an empty response ends the requests", () => {
  const known = longRecord().view({ steps: 0, compactions: 0, spans: 0 });
  expect(hasMore(undefined, known)).toBe(true);
  expect(
    hasMore(known, mergeSession(known, { ...known, from: nextOffsets(known), steps: [], spans: [] })),
  ).toBe(false);
});
