import { expect, it } from "vitest";
import { runAtOnce, type Steps } from "../../errors.ts";
import { createSaid, createSelection, type Item } from "./select.ts";

function stepsOf(work: Steps<unknown>): number {
  let steps = 0;
  while (work.next().done !== true) steps += 1;
  return steps;
}

it("puts many items in order in steps", () => {
  const items = Array.from(
    { length: 40_000 },
    (_, order): Item => ({ episode: 0, order, source: order, kind: "ran", text: `step${order}`, weight: 1 }),
  );
  const said = runAtOnce(createSaid(items));
  const selecting = createSelection(items, new Map(), said, (text) => text.length);
  // Every eighth item is a step of rating them; ordering them adds its own.
  expect(stepsOf(selecting)).toBeGreaterThan(items.length / 8 + 20);
});
