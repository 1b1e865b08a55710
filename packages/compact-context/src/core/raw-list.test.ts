import { expect, it } from "vitest";
import { decode } from "../codecs/formats.ts";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

/** Turns of a host without ids: every ask is the same, and calls are paired with their results by order. */
function turn(number: number): object[] {
  const args = { path: `src/f${number}.ts` };
  return [
    { role: "user", parts: [{ text: "Continue." }] },
    { role: "model", parts: [{ functionCall: { name: "read", args } }] },
    {
      role: "user",
      parts: [{ functionResponse: { name: "read", response: { output: `${number} word `.repeat(60) } } }],
    },
    { role: "model", parts: [{ text: `Done with ${number}.` }] },
  ];
}

it.each([
  ["the same objects", (list: object[]) => list],
  ["objects parsed anew", (list: object[]) => JSON.parse(JSON.stringify(list)) as object[]],
])("a raw list of %s keeps the ids of its messages through compactions", async (_, given) => {
  const storage = createMemoryDriver();
  const manager = new CompactManager(
    { maxContextTokens: 4000, policy: { hardCapBuffer: 100, keepRecentTurns: 2 } },
    { storage },
  );
  const list = Array.from({ length: 30 }, (_, number) => turn(number)).flat();
  let compactions = 0;
  for (let number = 30; number < 60; number += 1) {
    list.push(...turn(number));
    const { messages, report } = await manager.preflight("s", given(list), { format: "gemini" });
    expect(messages.at(-1)).toEqual(list.at(-1));
    if (report.compacted) compactions += 1;
  }
  expect(compactions).toBeGreaterThan(1);
  const stored = await storage.get(`s/transcript-pre-compact-00${compactions}.jsonl`);
  const lines = (stored?.value ?? "").trimEnd().split("\n");
  const archived = lines
    .map((line): string => JSON.parse(line).id)
    .filter((id) => !id.startsWith("compact-"));
  const ids = decode(list, "gemini").map(({ id }) => id);
  expect(archived.length).toBeGreaterThan(8);
  expect(archived).toEqual(ids.filter((id) => archived.includes(id)));
});
