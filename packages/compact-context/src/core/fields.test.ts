import { expect, it } from "vitest";
import { compact, countTokens, planCompaction } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { createArchive } from "../search/archive.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { summarizeMessages } from "../summarize-messages.ts";
import { ownedSession } from "./records.ts";

// What programs without types pass.

const list = Array.from({ length: 80 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `${index}: ${"the barge waits at the lock ".repeat(8)}`,
}));
const manager = () => new CompactManager({ maxContextTokens: 4000, storage: { kind: "memory" } });

/** The error of a call, however it fails. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return "no error";
  } catch (error) {
    return error;
  }
}

const wrongOptions: readonly (readonly [name: string, value: unknown])[] = [
  ["maxTokens", "3000"],
  ["maxTokens", Number.NaN],
  ["targetTokens", 0],
  ["model", 4],
  ["encoding", { name: "o200k_base" }],
  ["models", null],
  ["system", [{ type: "text", text: "You steer barges." }]],
  ["tools", { steer: { description: "turns the rudder" } }],
  ["policy", "strict"],
  ["maxSummaryTokens", -5],
  ["archiveId", "m-1"],
  ["summarizer", null],
  ["fallback", "none"],
  ["instruction", 5],
  ["signal", {}],
  ["archive", []],
  ["clock", 5],
];

it.each(wrongOptions)("compact and planCompaction refuse %s of the wrong kind", async (name, value) => {
  const options = { maxTokens: 3000, [name]: value };
  const refused = { code: "InvalidArgument", place: `options.${name}`, hint: /./ };
  for (const call of [() => compact(list, options), () => planCompaction(list, options)])
    expect(await errorOf(call)).toMatchObject({ ...refused, hint: expect.stringMatching(refused.hint) });
});

it("compact refuses a strategy or a treatment of overflow that does not exist, and an archive that cannot save", async () => {
  for (const [given, place] of [
    [{ strategy: "task_stat" }, "policy.strategy"],
    [{ onOverflow: "elid" }, "policy.onOverflow"],
  ] as const) {
    const error = await errorOf(() => compact(list, { maxTokens: 3000, ...given } as never));
    expect(error).toMatchObject({ code: "InvalidConfig", message: expect.stringContaining(place) });
  }
  const error = await errorOf(() => compact(list, { maxTokens: 3000, archive: {} } as never));
  expect(error).toMatchObject({ code: "InvalidArgument", place: "options.archive.save" });
});

it.each([
  ["model", 4],
  ["system", [{ type: "text", text: "You steer barges." }]],
  ["tools", { steer: { description: "turns the rudder" } }],
  ["input", 5],
  ["cacheCold", "yes"],
  ["maxOutputTokens", Number.NaN],
  ["maxOutputTokens", -100_000],
  ["maxOutputTokens", "4096"],
  ["repair", "no"],
  ["signal", { aborted: false }],
  ["compact", "provider"],
])("a call of a manager refuses %s of the wrong kind", async (name, value) => {
  const request = { [name]: value };
  const calls = [
    () => manager().preflight("s", list, request),
    () => manager().manualCompact("s", list, request),
    () => manager().isOverBudget("s", list, request),
  ];
  for (const call of calls)
    expect(await errorOf(call)).toMatchObject({ code: "InvalidArgument", place: `request.${name}` });
});

it("a call of a manager takes a null in its request for nothing", async () => {
  const manager = new CompactManager({ maxContextTokens: 4000 });
  const nothing = { system: null, tools: null, signal: null, maxOutputTokens: null };
  const { messages } = await manager.preflight("s", list, nothing as never);
  expect(messages.length).toBeGreaterThan(0);
});

it.each([
  ["summarizer", 5],
  ["storage", "fs"],
  ["memoryFlushHook", {}],
  ["memoryFlushTimeoutMs", "1000"],
  ["worker", 5],
  ["exporters", {}],
  ["now", 5],
  ["onWarning", "console"],
])("a manager refuses the port %s of the wrong kind when it is made", async (name, value) => {
  const error = await errorOf(() => new CompactManager({}, { [name]: value }));
  expect(error).toMatchObject({ code: "InvalidArgument", place: `ports.${name}` });
});

it.each([
  ["finalPrompt", {}],
  ["verify", "strict"],
  ["fallback", "none"],
  ["deadlineMs", "5"],
  ["runningSummary", null],
  ["runningSummary", {}],
  ["signal", {}],
])("a running summary refuses %s of the wrong kind", async (name, value) => {
  const error = await errorOf(() => summarizeMessages(list, { maxTokens: 1000, [name]: value }));
  expect(error).toMatchObject({
    code: "InvalidArgument",
    place: expect.stringMatching(`^options\\.${name}`),
  });
});

it("a count refuses what it cannot count, and says what it was given", async () => {
  const error = await errorOf(() => countTokens(list, { tools: { steer: {} } } as never));
  expect(error).toMatchObject({ message: "options.tools must be an array, not an object" });
  expect(await errorOf(() => countTokens(list, { input: 5 } as never))).toMatchObject({
    message: "options.input must be a string, not 5",
  });
});

it("ARC-6 a sweep refuses limits that would delete everything", async () => {
  const archive = await (async () => {
    const keeper = manager();
    await keeper.preflight("s", list);
    return keeper.archive();
  })();
  for (const retention of [{ days: null }, { days: 0 }, { days: -1 }, { maxBytes: 0 }, { dayz: 5 }, null])
    expect(await errorOf(() => archive.sweep(retention as never))).toMatchObject({ code: "InvalidArgument" });
  expect(await archive.sessions()).toEqual(["s"]);
});

it("ARC-6 a misspelled owner never stands for all of a tenant, or for nobody", async () => {
  const { redactText, redactValue } = createRedactor();
  const archive = createArchive(createMemoryDriver(), { redact: { redactText, redactValue } });
  const calls = [
    () => ownedSession("chat", { tenant_id: "acme" } as never),
    () => ownedSession("chat", { tenant: "acme", usr: "max" } as never),
    () => archive.delete({ tenant: "acme", usr: "max" } as never),
    () => archive.sessions({ tenant: "acme", usr: "max" } as never),
  ];
  for (const call of calls)
    expect(await errorOf(call)).toMatchObject({
      code: "InvalidArgument",
      hint: "The parts are tenant, user.",
    });
  expect(await errorOf(() => ownedSession("chat", { tenant: undefined }))).toMatchObject({
    code: "InvalidArgument",
    place: "owner",
  });
});
