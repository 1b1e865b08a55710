import { describe, expect, it } from "vitest";
import { countObjects, isFlat, leftOf } from "../../scripts/soak-objects.mjs";
import { partOf } from "../whole.ts";

const orders = [
  { kind: "ended sessions", warm: 3, measured: 15 },
  { kind: "given up", warm: 3, measured: 15 },
  { kind: "agents", warm: 2, measured: 4 },
  { kind: "new sessions", warm: 9, measured: 8 },
  { kind: "interrupted", warm: 20, measured: 20 },
  { kind: "texts", warm: 10, measured: 60 },
];

/** `npm run soak -- --objects` makes some hundreds of each; its figures are in docs/soak.md. */
describe("what has ended is no longer in memory", () => {
  it.each(partOf(orders, 2))(
    "$measured $kind leave no objects, files or timers behind",
    async (order) => {
      const report = await countObjects(order);
      expect(isFlat(report), JSON.stringify(leftOf(report))).toBe(true);
    },
    120_000,
  );
});
