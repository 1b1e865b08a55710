import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { archiveLine } from "../archive/transcript.ts";
import { archiveId, type Message, type Part } from "../core/message.ts";
import type { StorageDriver } from "../core/ports.ts";
import { CompactError } from "../errors.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { createArchive } from "./archive.ts";

const redact = createRedactor();

function message(id: string, text: string, more: Partial<Message> = {}): Message {
  return {
    id,
    role: "user",
    parts: [{ type: "text", text }],
    native: { role: "user", content: text },
    ...more,
  };
}

function setUp(driver: StorageDriver = createMemoryDriver()) {
  return { driver, archive: createArchive(driver, { redact }) };
}

const failure = (message: string) => ({
  name: "compact.error" as const,
  status: "error" as const,
  properties: { error_type: "X", message, fallback: "none" },
});
const three = [message("m1", "first"), message("m2", "second needle here"), message("m3", "third")];

describe("saveTranscript", () => {
  it.each(["parts", "type", "text|content|arguments", "toolCall|toolResult", "[a-z]+"])(
    "can be read again whatever a pattern of the settings takes out: %s",
    async (pattern) => {
      const driver = createMemoryDriver();
      const archive = createArchive(driver, { redact: createRedactor({ patterns: [pattern] }) });
      const parts: Part[] = [
        { type: "text", text: "look at 4711" },
        { type: "toolCall", id: "c1", name: "read", arguments: { text: "4711", parts: 1 } },
        { type: "toolResult", id: "c1", content: [{ type: "text", text: "4711 it is" }] },
      ];
      await archive.saveTranscript("s", 1, [{ id: "m1", role: "assistant", parts }]);
      const { messages, problems } = await archive.readTranscript("s", 1);
      expect(problems).toEqual([]);
      expect(messages[0]?.message.parts.map(({ type }) => type)).toEqual(["text", "toolCall", "toolResult"]);
      expect(JSON.stringify(messages[0]?.message.parts)).toMatch(/4711.*4711.*4711/);
      expect((await archive.search("4711", { sessionId: "s" })).hits.length).toBeGreaterThan(0);
    },
  );

  it("ARC-1 writes the files of the session under their exact names", async () => {
    const { driver, archive } = setUp();
    const saved = await archive.saveTranscript("chat-1", 7, three);
    await archive.saveSummary("chat-1", 7, { version: 1, text: "so far" });
    const error = { ...failure("m"), sessionId: "chat-1" };
    await archive.appendEvents("chat-1", [{ ...error, version: 1, startedAt: "t", endedAt: "t" }]);
    expect(await driver.list("")).toEqual([
      "chat-1/events.jsonl",
      "chat-1/summary-007.json",
      "chat-1/transcript-pre-compact-007.jsonl",
    ]);
    expect(saved).toEqual({
      location: "memory/chat-1/transcript-pre-compact-007.jsonl",
      step: 7,
      ids: three.map(archiveId),
    });
    const summary: unknown = JSON.parse((await driver.get("chat-1/summary-007.json"))?.value ?? "");
    expect(summary).toEqual({ schema: 2, version: 1, text: "so far", checksum: expect.any(String) });
    const text = (await driver.get("chat-1/events.jsonl"))?.value ?? "";
    expect(JSON.parse(text)).toMatchObject({ name: "compact.error", session_id: "chat-1" });
  });

  it("ARC-4 gives back every message as it was, one JSON line each", async () => {
    const { driver, archive } = setUp();
    const odd = '\0 \ud800 \u2028 \ufeff "quotes" \n😀';
    const parts: Part[] = [
      { type: "text", text: odd },
      { type: "toolCall", id: "c1", name: "read", arguments: { path: odd, __proto__x: 1 } },
      { type: "toolResult", id: "c1", content: [{ type: "text", text: odd }] },
      { type: "reasoning", text: "why", opaqueLength: 9, signed: true },
    ];
    const meta = { protected: true, timestamp: "2026-01-01T00:00:00Z" };
    const native = JSON.parse('{"__proto__":{"kept":1},"n":[1,null,{"x":"\\ud800"}]}') as unknown;
    const rich: Message = { id: "m4", role: "assistant", parts, meta, native, format: "anthropic" };
    await archive.saveTranscript("s", 1, [...three, rich]);
    const { messages, problems } = await archive.readTranscript("s", 1);
    expect(problems).toEqual([]);
    expect(messages.map((archived) => archived.message)).toEqual([...three, rich]);
    expect(JSON.stringify(messages[3]?.message.native)).toBe(JSON.stringify(native));
    expect(messages.map(({ n, redacted }) => [n, redacted])).toEqual([1, 2, 3, 4].map((n) => [n, false]));
    const lines = ((await driver.get("s/transcript-pre-compact-001.jsonl"))?.value ?? "").split("\n");
    expect(lines.length).toBe(5);
    expect(Object.keys(JSON.parse(lines[0] ?? ""))).toEqual(
      "n of id hash role own message native c".split(" "),
    );
  });

  it("ARC-1 stores an original once: later transcripts name its place, and give it back all the same", async () => {
    const { driver, archive } = setUp();
    const long = "a text that is long enough to be stored a single time ".repeat(4);
    const told = message("m1", long, { native: { role: "user", content: long, "=": 1 } });
    const other = message("m2", long, { native: { role: "user", content: long } });
    await archive.saveTranscript("s", 1, [told, other]);
    await archive.saveTranscript("s", 2, [told, other, message("m3", "next")]);
    const changed = { ...told, native: { role: "user", content: long, cache: true } };
    await archive.saveTranscript("s", 3, [changed, other, message("m4", "last")]);
    const stored = async (step: number) =>
      ((await driver.get(`s/transcript-pre-compact-00${step}.jsonl`))?.value ?? "").trim().split("\n");
    const places = (await stored(2)).map((line) => (JSON.parse(line) as { at?: unknown }).at);
    expect(places).toEqual([[1, 1], [1, 2], undefined]);
    expect((await stored(3)).map((line) => (JSON.parse(line) as { at?: unknown }).at)).toEqual([
      undefined,
      [1, 2],
      undefined,
    ]);
    expect((await stored(1))[1]?.split(long).length).toBe(2);
    const read = async (step: number) => {
      const { messages, problems } = await archive.readTranscript("s", step);
      expect(problems).toEqual([]);
      expect(messages.map(({ n }) => n)).toEqual(messages.map((_, index) => index + 1));
      return messages.map((archived) => archived.message);
    };
    expect(await read(1)).toEqual([told, other]);
    expect(await read(2)).toEqual([told, other, message("m3", "next")]);
    expect(await read(3)).toEqual([changed, other, message("m4", "last")]);
    const { value = "" } = (await driver.get("s/transcript-pre-compact-001.jsonl")) ?? {};
    await driver.put("s/transcript-pre-compact-001.jsonl", value.replace("long enough", "long enouGh"));
    const { messages, problems } = await archive.readTranscript("s", 2);
    expect(messages.map(({ message: { id } }) => id)).toEqual(["m2", "m3"]);
    expect(problems).toEqual([{ line: 1, problem: "its message is line 1 of step 1, which cannot be read" }]);
  });

  it("RED-1 takes secrets out of everything written and says where, never out of the messages in memory", async () => {
    const { driver, archive } = setUp();
    const secret = message("m1", "password=hunter2", { native: { password: "hunter2" } });
    const before = structuredClone(secret);
    await archive.saveTranscript("s", 1, [secret, message("m2", "plain")]);
    await archive.saveSummary("s", 1, { text: "token=hunter2", token: "hunter2" });
    const event = {
      ...failure("password=hunter2"),
      sessionId: "s",
    };
    await archive.appendEvents("s", [
      {
        ...event,
        version: 1,
        payload: { password: "hunter2" },
        startedAt: "t",
        endedAt: "t",
      },
    ]);
    for (const key of await driver.list("")) expect((await driver.get(key))?.value).not.toContain("hunter2");
    const { messages } = await archive.readTranscript("s", 1);
    expect(messages.map((archived) => archived.redacted)).toEqual([true, false]);
    expect(secret).toEqual(before);
  });

  it("ARC-5 is the same when it is done again, and goes on where a crash stopped", async () => {
    const { driver, archive } = setUp();
    const first = await archive.saveTranscript("s", 1, three);
    const stored = await driver.get("s/transcript-pre-compact-001.jsonl");
    expect(await archive.saveTranscript("s", 1, three)).toEqual(first);
    expect(await driver.get("s/transcript-pre-compact-001.jsonl")).toEqual(stored);
    const longer = [...three, message("m4", "fourth")];
    expect((await archive.saveTranscript("s", 1, longer)).step).toBe(1);
    expect((await archive.readTranscript("s", 1)).messages.length).toBe(4);
    expect((await archive.saveTranscript("s", 1, three)).step).toBe(1);
    expect((await archive.readTranscript("s", 1)).messages.length).toBe(4);
  });

  it("ARC-5 never writes over another transcript of the same step", async () => {
    const { driver, archive } = setUp();
    const other = [message("x1", "something else")];
    const racers = [three, other, three, other].map((list) => archive.saveTranscript("s", 1, list));
    const saved = await Promise.all(racers);
    expect(new Set(saved.map(({ step }) => step)).size).toBe(2);
    expect(saved[0]?.step).toBe(saved[2]?.step);
    for (const [index, list] of [three, other].entries()) {
      const { messages } = await archive.readTranscript("s", saved[index]?.step ?? 0);
      expect(messages.map((archived) => archived.message)).toEqual(list);
    }
    await driver.put("t/transcript-pre-compact-001.jsonl", "half a li");
    expect((await archive.saveTranscript("t", 1, three)).step).toBe(2);
    expect((await driver.get("t/transcript-pre-compact-001.jsonl"))?.value).toBe("half a li");
  });

  it("ARC-3 lets a failure of the medium out, so that nothing is pruned", async () => {
    const failing: StorageDriver = {
      ...createMemoryDriver(),
      put: () => Promise.reject(new CompactError("StorageFailed", "full")),
    };
    await expect(setUp(failing).archive.saveTranscript("s", 1, three)).rejects.toMatchObject({
      code: "StorageFailed",
    });
  });

  it("keeps the parts of messages whose native object is no JSON or too deep, and says so", async () => {
    const { archive } = setUp();
    let deep: unknown = "bottom";
    for (let level = 0; level < 4_000; level++) deep = { inner: deep };
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const natives = [
      deep,
      cycle,
      { big: 1n },
      {
        get bad() {
          throw new Error("no");
        },
      },
    ];
    const list = natives.map((native, index) => message(`m${index}`, `text ${index}`, { native }));
    const deepCall: Part = { type: "toolCall", id: "c", name: "x", arguments: { deep, note: "kept" } };
    list.push({ id: "m4", role: "assistant", parts: [deepCall] });
    await archive.saveTranscript("s", 1, list);
    const { messages, problems } = await archive.readTranscript("s", 1);
    expect(problems).toEqual([]);
    expect(messages.slice(0, 4).map(({ message: { parts } }) => parts)).toEqual(
      list.slice(0, 4).map(({ parts }) => parts),
    );
    expect(messages.map(({ leftOut }) => leftOut)).toEqual([
      "native: nested deeper than 400 levels",
      "native: nested deeper than 400 levels",
      "native: no JSON",
      "native: no JSON",
      "values deeper than 400 levels",
    ]);
    expect(messages[4]?.message.parts[0]).toMatchObject({ name: "x", arguments: { note: "kept" } });
    const bad: Message = { id: "m", role: "assistant", parts: [{ ...deepCall, arguments: { big: 1n } }] };
    await expect(archive.saveTranscript("s", 2, [bad])).rejects.toMatchObject({
      code: "InvalidArgument",
      place: "messages[0]",
    });
    expect(await archive.steps("s")).toEqual([1]);
  });
});

describe("readTranscript", () => {
  const key = "s/transcript-pre-compact-001.jsonl";

  it("ARC-5 says of a file cut at any byte that it is not whole, and gives what is", async () => {
    const whole = three.map((each, index) => archiveLine(each, { n: index + 1, of: 3 }, redact)).join("");
    for (let length = 0; length < whole.length; length++) {
      const { driver, archive } = setUp();
      await driver.put(key, whole.slice(0, length));
      const { messages, problems } = await archive.readTranscript("s", 1);
      expect(problems.length).toBeGreaterThan(0);
      expect(messages.length).toBe(whole.slice(0, length).split("\n").length - 1);
    }
  });

  it("ARC-5 reports every changed character with its line and keeps the other lines", async () => {
    const lines = three.map((each, index) => archiveLine(each, { n: index + 1, of: 3 }, redact));
    const damage = fc.record({ line: fc.nat(2), at: fc.nat(200), by: fc.constantFrom("x", "0", '"', "é") });
    await fc.assert(
      fc.asyncProperty(damage, async ({ line, at, by }) => {
        const content = lines[line] ?? "";
        const index = at % (content.length - 1);
        fc.pre(content[index] !== by);
        const damaged = content.slice(0, index) + by + content.slice(index + 1);
        const { driver, archive } = setUp();
        await driver.put(key, lines.map((each, n) => (n === line ? damaged : each)).join(""));
        const { messages, problems } = await archive.readTranscript("s", 1);
        expect(problems[0]?.line).toBe(line + 1);
        expect(messages.map(({ n }) => n)).toEqual([1, 2, 3].filter((n) => n !== line + 1));
      }),
      { seed: 2, numRuns: 300 },
    );
  });

  it("reports lines that are missing in the middle", async () => {
    const { driver, archive } = setUp();
    const lines = three.map((each, index) => archiveLine(each, { n: index + 1, of: 3 }, redact));
    await driver.put(key, `${lines[0]}${lines[2]}`);
    expect((await archive.readTranscript("s", 1)).problems).toEqual([
      { line: 2, problem: "message 3 follows where 2 should" },
    ]);
  });

  it("names the steps there are when the one asked for is not", async () => {
    const { archive } = setUp();
    await archive.saveTranscript("s", 4, three);
    await expect(archive.readTranscript("s", 5)).rejects.toMatchObject({
      code: "NotFound",
      hint: "There are transcripts of the steps 4.",
    });
  });
});

describe("finding", () => {
  it("ARC-4 lists sessions by their own ids and steps by number", async () => {
    const { archive } = setUp();
    const ids = ["plain", "Mixed", "../../x", "__proto__", "x".repeat(300), "\ud800"];
    for (const id of ids) await archive.saveTranscript(id, 1, three);
    for (const step of [1000, 2, 10]) await archive.saveTranscript("plain", step, three);
    expect(await archive.sessions()).toEqual([...ids].sort());
    expect(await archive.steps("plain")).toEqual([1, 2, 10, 1000]);
    expect(await archive.steps("never")).toEqual([]);
  });

  it.each([
    ["a session that cannot be read hides no other", /^Chat~/, ["Chat~1", "plain"]],
    ["an outage is an error", /./, undefined],
  ])("%s", async (_, fails, listed) => {
    const driver = createMemoryDriver();
    const warnings: string[] = [];
    const get: StorageDriver["get"] = async (key) => {
      if (fails.test(key)) throw new CompactError("StorageFailed", "refused", { place: key, hint: "Look." });
      return driver.get(key);
    };
    const archive = createArchive({ ...driver, get }, { redact, warn: (text) => warnings.push(text) });
    for (const id of ["Chat", "plain"]) await archive.saveTranscript(id, 1, three);
    for (const ask of [() => archive.sessions(), () => archive.search("needle")]) {
      if (listed === undefined) await expect(ask()).rejects.toMatchObject({ code: "StorageFailed" });
      else await ask();
    }
    if (listed !== undefined) expect(await archive.sessions()).toEqual(listed);
    expect(warnings).toEqual(
      listed === undefined
        ? []
        : [
            "a session of the archive is damaged, at Chat~1/session.json: refused. Look.",
            "a session of the archive is damaged, at Chat~1/search/index.json: refused. Look.",
          ],
    );
  });

  it("ARC-4 finds a message by archive id or its own id, in its session only", async () => {
    const { archive } = setUp();
    const { ids } = await archive.saveTranscript("s", 1, three);
    await archive.saveTranscript("s", 2, [...three.slice(1), message("m5", "fifth")]);
    expect(await archive.findMessage("s", ids[0] ?? "")).toMatchObject({ step: 1, message: three[0] });
    expect(await archive.findMessage("s", ids[1] ?? "")).toMatchObject({ step: 1, message: three[1] });
    expect(await archive.findMessage("s", "m5")).toMatchObject({ step: 2, message: { id: "m5" } });
    for (const forged of ["", "zzzzzzzzzz", "__proto__", "../m1", '"m1"']) {
      expect(await archive.findMessage("s", forged)).toBeUndefined();
    }
    expect(await archive.findMessage("other", ids[0] ?? "")).toBeUndefined();
  });

  it("ARC-4 searches text, calls and results, any case, each message once", async () => {
    const { driver, archive } = setUp();
    const call: Message = {
      id: "m4",
      role: "assistant",
      native: {},
      parts: [{ type: "toolCall", id: "c", name: "grep", arguments: { pattern: "NEEDLE" } }],
    };
    await archive.saveTranscript("s", 1, three);
    await archive.saveTranscript("s", 2, [...three, call]);
    await archive.saveTranscript("t", 1, [message("m9", "a needle too")]);
    const found = await archive.search("needle");
    expect(found.hits.map(({ sessionId, step, id }) => [sessionId, step, id]).sort()).toEqual([
      ["s", 1, "m2"],
      ["s", 2, "m4"],
      ["t", 1, "m9"],
    ]);
    expect(found.hits.find(({ id }) => id === "m2")?.snippet).toBe("second needle here");
    expect((await archive.search("needle", { sessionId: "t" })).hits.length).toBe(1);
    expect((await archive.search("needle", { limit: 1 })).hits.length).toBe(1);
    await driver.put("u/transcript-pre-compact-001.jsonl", "damaged\n");
    expect((await archive.search("needle")).problems[0]).toMatchObject({ sessionId: "u", step: 1, line: 1 });
    await expect(archive.search("")).rejects.toMatchObject({ code: "InvalidArgument" });
  });
});

describe("archiveId", () => {
  it("is ten characters made from role and content alone", () => {
    const id = archiveId(message("m1", "text"));
    expect(id).toMatch(/^[0-9a-z]{10}$/);
    expect(archiveId(message("m2", "text", { native: undefined }))).toBe(id);
    expect(archiveId(message("m1", "other"))).not.toBe(id);
    expect(archiveId(message("m1", "text", { role: "assistant" }))).not.toBe(id);
  });
});
