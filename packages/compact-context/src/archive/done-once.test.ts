import { expect, it, vi } from "vitest";
import * as hashing from "../core/message.ts";
import * as records from "../core/records.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { guardDeleted } from "../search/deletion.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { createArchiveStore } from "./store.ts";

vi.mock("../core/records.ts", async (load) => {
  const real = await load<typeof records>();
  return { ...real, sha256Hex: vi.fn(real.sha256Hex) };
});
vi.mock("../core/message.ts", async (load) => {
  const real = await load<typeof hashing>();
  return { ...real, archiveId: vi.fn(real.archiveId) };
});

const driver = guardDeleted(createMemoryDriver());
const message = (text: string): hashing.Message => ({
  id: text,
  role: "user",
  parts: [{ type: "text", text }],
});

it("a message is hashed once as it is archived", async () => {
  await createArchiveStore(driver, createRedactor()).saveTranscript("s", 1, ["a", "b", "c"].map(message));
  expect(vi.mocked(hashing.archiveId)).toHaveBeenCalledTimes(3);
});

it("the name of a session's tombstone is made once", async () => {
  for (let number = 1; number < 9; number += 1) await driver.put(`new/summary-00${number}.json`, "{}");
  expect(vi.mocked(records.sha256Hex).mock.calls.filter(([text]) => text === "new")).toHaveLength(1);
});

it("a text is searched for secrets once, whatever comes between", () => {
  const clock = vi.fn(() => 0);
  const { redactText } = createRedactor({ clock });
  const text = (number: number): string => `${number} and nothing secret. `.repeat(20);
  for (let number = 0; number < 500; number += 1) redactText(text(number));
  const before = clock.mock.calls.length;
  for (let number = 0; number < 500; number += 1) redactText(text(number));
  expect(clock.mock.calls.length).toBe(before);
});
