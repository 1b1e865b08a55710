import { expect, it } from "vitest";
import { createMemoryDriver } from "./memory/driver.ts";
import { createDriverOutbox } from "./outbox.ts";

it("RUN-5 a worker whose claim lapsed changes nothing of an item that another one took", async () => {
  let now = 0;
  const outbox = createDriverOutbox(createMemoryDriver(), () => now);
  const item = { session: "chat", id: "001-a" };
  const [slow, other] = [
    { by: "slow", ms: 1000 },
    { by: "other", ms: 60_000 },
  ];
  expect(await outbox.add({ ...item, body: "{}\n" }, slow)).toBe(true);
  expect(await outbox.claim(other, 10)).toEqual([]);
  now = 1000;
  expect(await outbox.claim(other, 10)).toEqual([{ ...item, attempts: 0, body: "{}\n" }]);

  expect(await outbox.renew(item, slow)).toBe(false);
  await outbox.retry(item, "slow", { inMs: 0, attempts: 7 });
  expect(await outbox.nextDue()).toBe(60_000);

  await outbox.retry(item, "other", { inMs: 500, attempts: 1 });
  expect(await outbox.nextDue()).toBe(500);
  now += 500;
  expect(await outbox.claim(slow, 10)).toEqual([{ ...item, attempts: 1, body: "{}\n" }]);
});
