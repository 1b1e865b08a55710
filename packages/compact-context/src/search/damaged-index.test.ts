import { expect, it } from "vitest";
import type { Message } from "../core/message.ts";
import type { StorageDriver } from "../core/ports.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { createArchive } from "./archive.ts";

const FLIPS = 200;
const QUERIES = ["deployment thursday", '"the window of"', "m7", "src/part3.ts", "nowhere"];

function message(n: number): Message {
  const text = `message ${n} of src/part${n}.ts: the window of deployment ${n % 3 === 0 ? "is thursday night" : "moved"}`;
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}

async function answers(driver: StorageDriver): Promise<string> {
  const search = createArchive(driver, { redact: createRedactor() });
  const found: unknown[] = [];
  for (const query of QUERIES) found.push(await search.search(query, { sessionId: "s", limit: 50 }));
  return JSON.stringify([found, await search.findMessage("s", "m7")]);
}

it("ARC-4 a bit that flips anywhere in an index changes no answer: the index is made anew", {
  timeout: 60_000,
}, async () => {
  const medium = createMemoryDriver();
  const archive = createArchive(medium, { redact: createRedactor() });
  await archive.saveTranscript(
    "s",
    1,
    Array.from({ length: 20 }, (_, n) => message(n)),
  );
  const expected = await answers(medium);
  expect(JSON.parse(expected)[0][0].hits.length).toBeGreaterThan(10);
  const stored = new Map<string, string>();
  for (const key of await medium.list("")) stored.set(key, (await medium.get(key))?.value ?? "");
  const files = [...stored].filter(([key]) => key.startsWith("s/search/"));
  expect(files.length).toBeGreaterThanOrEqual(3);
  const bytes = files.reduce((sum, [, text]) => sum + text.length, 0);

  let flipped = 0;
  for (const [key, text] of files) {
    // Every file gets at least an even share of the flips, so that small files (version, checksum) are
    // covered too.
    const most = Math.max(FLIPS / files.length, (FLIPS * text.length) / bytes);
    const step = Math.max(1, text.length / most);
    for (let at = 0; at < text.length; at += step) {
      const place = Math.floor(at);
      const bit = 1 << (flipped % 7);
      const damaged = String.fromCharCode(text.charCodeAt(place) ^ bit);
      const copy = createMemoryDriver();
      for (const [name, value] of stored) await copy.put(name, value);
      await copy.put(key, text.slice(0, place) + damaged + text.slice(place + 1));
      expect(await answers(copy), `${key}, byte ${place}, bit ${bit}`).toBe(expected);
      flipped += 1;
    }
  }
  expect(flipped).toBeGreaterThanOrEqual(FLIPS);
});
