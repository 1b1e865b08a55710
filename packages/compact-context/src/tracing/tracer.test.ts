import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ArchiveStore } from "../archive/store.ts";
import type { CompactEvent, EventRecorder, Exporter } from "../core/report.ts";
import { escapeControl } from "../errors.ts";
import { ArchivingRecorder, createTracer, type Tracer } from "./tracer.ts";

const warning = (message: string) => ({
  name: "compact.warning" as const,
  status: "ok" as const,
  properties: { severity: "low", code: "x", message },
});
const note = (message: string) => ({ ...warning(message), sessionId: "s" });
const messageOf = (event: CompactEvent): unknown => event.properties.message;

function collector(): { events: CompactEvent[]; exporter: Exporter } {
  const events: CompactEvent[] = [];
  return { events, exporter: { export: (event: CompactEvent) => void events.push(event) } };
}

describe("createTracer", () => {
  it("hands every event to every exporter in order, with its times", async () => {
    const [first, second] = [collector(), collector()];
    let time = 1_000;
    const tracer = createTracer({ exporters: [first.exporter, second.exporter], now: () => time });
    tracer.emit(note("one"));
    time = 2_000;
    tracer.emit({ ...note("two"), startedAt: "1970-01-01T00:00:01.500Z" });
    await tracer.flush();
    expect(first.events.map(messageOf)).toEqual(["one", "two"]);
    expect(second.events).toEqual(first.events);
    expect(first.events[0]).toMatchObject({
      startedAt: "1970-01-01T00:00:01.000Z",
      endedAt: "1970-01-01T00:00:01.000Z",
    });
    expect(first.events[1]).toMatchObject({
      startedAt: "1970-01-01T00:00:01.500Z",
      endedAt: "1970-01-01T00:00:02.000Z",
    });
  });

  it("ends no event before it began, also where the clock was set back", async () => {
    const { events, exporter } = collector();
    const tracer = createTracer({ exporters: [exporter], now: () => 0 });
    const times = { startedAt: "2026-01-01T00:00:02.000Z", endedAt: "2026-01-01T00:00:01.000Z" };
    tracer.emit({ ...note("set back"), ...times });
    tracer.emit({ ...note("set far back"), startedAt: times.startedAt });
    await tracer.flush();
    expect(events.map(({ startedAt, endedAt }) => [startedAt, endedAt])).toEqual([
      [times.startedAt, times.startedAt],
      [times.startedAt, times.startedAt],
    ]);
  });

  it("OBS-6 runs no exporter on the caller's stack and lets none of its failures out", async () => {
    const lines: string[] = [];
    const { events, exporter } = collector();
    const throwing: Exporter = {
      export() {
        throw new Error("no \x1b[2J way\nout password=hunter2");
      },
      flush: () => Promise.reject(new Error("never")),
    };
    const redact = {
      redactValue: (value: unknown) => JSON.parse(JSON.stringify(value).replace("hunter2", "…")),
    };
    const tracer = createTracer({
      exporters: [throwing, exporter],
      redact,
      now: () => 0,
      onError: (line) => {
        lines.push(line);
        throw new Error("the reporter fails too");
      },
    });
    tracer.emit(note("one"));
    tracer.emit(note("two"));
    expect([events.length, lines.length]).toEqual([0, 0]);
    await tracer.flush();
    expect(events.map(messageOf)).toEqual(["one", "two"]);
    expect(lines).toEqual([
      String.raw`[compact] export failed: no \x1b[2J way out password=…`,
      "[compact] 2 events were not delivered",
    ]);
  });

  it("OBS-6 bounds what waits for a slow exporter, drops the oldest, counts and reports them", async () => {
    const received: unknown[] = [];
    const lines: string[] = [];
    let release = (): void => undefined;
    const slow = {
      export: async (event: CompactEvent) => {
        received.push(messageOf(event));
        if (received.length === 1) await new Promise<void>((resolve) => (release = resolve));
      },
    };
    const quick = collector();
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [slow, quick.exporter], now: () => 0, maxQueue: 3, onError });
    tracer.emit(note("0"));
    await expect.poll(() => received).toEqual(["0"]);
    for (let n = 1; n <= 10; n++) {
      tracer.emit(note(String(n)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(quick.events.length).toBe(11);
    release();
    await tracer.flush();
    expect(received).toEqual(["0", "8", "9", "10"]);
    expect(lines).toEqual([
      "[compact] events come faster than it takes them; the oldest are dropped",
      "[compact] 7 events were not delivered",
    ]);
    expect(tracer.takeLosses()).toEqual([{ target: "compact", sessionId: "s", count: 7 }]);
    expect(tracer.takeLosses()).toEqual([]);
  });

  it("OBS-3 waits in a flush for a slow exporter that goes on delivering, however long it takes", async () => {
    const { events, exporter } = collector();
    const slow: Exporter = {
      async export(event) {
        await new Promise((resolve) => setTimeout(resolve, 30));
        await exporter.export(event);
      },
    };
    const lines: string[] = [];
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [slow], now: () => 0, patienceMs: 100, onError });
    for (let n = 0; n < 20; n += 1) tracer.emit(note(`${n}`));
    await tracer.flush();
    expect([events.length, tracer.takeLosses(), lines]).toEqual([20, [], []]);
  });

  it("OBS-3 loses nothing while the machine is busy: only time in which the process could run counts", async () => {
    const { events, exporter } = collector();
    const late: Exporter = {
      async export(event) {
        // Half of the exporter's patience, if no other work needs the processor.
        await new Promise((resolve) => setTimeout(resolve, 100));
        await exporter.export(event);
      },
    };
    const lines: string[] = [];
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [late], now: () => 0, patienceMs: 200, onError });
    for (let n = 0; n < 4; n += 1) tracer.emit(note(`${n}`));
    const load = setInterval(() => {
      const until = performance.now() + 250;
      while (performance.now() < until);
    }, 0);
    await tracer.flush();
    clearInterval(load);
    expect([events.length, tracer.takeLosses(), lines]).toEqual([4, [], []]);
  });

  it("OBS-6 gives up an exporter that hangs, once, in one line that says how much it missed", async () => {
    const lines: string[] = [];
    const { events, exporter } = collector();
    const hanging: Exporter = { name: "hanging", export: () => new Promise(() => undefined) };
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [hanging, exporter], now: () => 0, patienceMs: 50, onError });
    for (let n = 0; n < 3; n += 1) tracer.emit(note(`${n}`));
    await tracer.flush();
    expect(lines).toEqual(["[hanging] nothing was delivered for 0.05 s: 3 events were not delivered"]);
    expect([events.length, tracer.takeLosses()]).toEqual([
      3,
      [{ target: "hanging", sessionId: "s", count: 3 }],
    ]);
    // The exporter already timed out: a second flush does not wait again.
    tracer.emit(note("more"));
    await tracer.flush();
    expect(lines.slice(1)).toEqual(["[hanging] nothing was delivered for 0.05 s: 1 event was not delivered"]);
  });

  it("OBS-6 ends a flush for an exporter that is slow to fail, and hears it again when it works", async () => {
    const lines: string[] = [];
    const { events, exporter } = collector();
    let down = true;
    const flaky: Exporter = {
      async export(event) {
        const fails = down;
        await new Promise((resolve) => setTimeout(resolve, fails ? 40 : 0));
        if (fails) throw new Error("down");
        await exporter.export(event);
      },
    };
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [flaky], now: () => 0, patienceMs: 60, onError });
    for (let n = 0; n < 50; n += 1) tracer.emit(note(`${n}`));
    await tracer.flush();
    expect(lines).toEqual([
      "[compact] export failed: down",
      "[compact] nothing was delivered for 0.06 s: 50 events were not delivered",
    ]);
    down = false;
    await new Promise((resolve) => setTimeout(resolve, 80));
    tracer.emit(note("again"));
    await tracer.flush();
    expect([events.map(messageOf), lines.length]).toEqual([["again"], 2]);
  });

  it("RED-1 redacts properties and payload of what is exported, never the caller's event", async () => {
    const { events, exporter } = collector();
    const redact = {
      redactValue: (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll("hunter2", "…")),
    };
    const tracer = createTracer({ exporters: [exporter], redact, now: () => 0 });
    const draft = { ...note("hunter2"), payload: "a hunter2" };
    tracer.emit(draft);
    await tracer.flush();
    expect(events[0]).toMatchObject({ properties: { message: "…" }, payload: "a …" });
    expect(draft).toMatchObject({ properties: { message: "hunter2" }, payload: "a hunter2" });
  });

  it("RED-1 exports nothing of an event that redaction fails on", async () => {
    const { events, exporter } = collector();
    const lines: string[] = [];
    const redact = {
      redactValue: (value: unknown) => {
        if (typeof value === "string") return value;
        throw new Error("broken");
      },
    };
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [exporter], redact, now: () => 0, onError });
    tracer.emit(note("one"));
    await tracer.flush();
    expect(events).toEqual([]);
    expect(tracer.takeLosses()).toEqual([{ target: "compact", sessionId: "s", count: 1 }]);
    expect(lines).toEqual([
      "[compact] redaction failed, so nothing is exported: broken",
      "[compact] 1 event was not delivered",
    ]);
  });

  it("OBS-6 survives a clock that fails, and says so once", () => {
    const { exporter } = collector();
    const lines: string[] = [];
    const onError = (line: string): void => void lines.push(line);
    const tracer = createTracer({ exporters: [exporter], now: () => Number.NaN, onError });
    tracer.emit(note("one"));
    tracer.emit(note("two"));
    expect(lines).toEqual(["[compact] events cannot be exported: Invalid time value"]);
  });
});

/** A recorder over an in-memory archive; storage is down for the sessions for which `fails` is true. */
function record(
  fails: (session: string) => boolean = () => false,
  sink?: Partial<Tracer>,
  now = (): Date => new Date(0),
) {
  const written: string[] = [];
  const warnings: string[] = [];
  const archive = {
    async appendEvents(session, events) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (fails(session)) throw new Error("disk full");
      for (const { properties } of events) written.push(`${session} ${properties.message}`);
    },
  } satisfies Partial<ArchiveStore>;
  const recorder = new ArchivingRecorder({
    sink: { emit: (draft) => draft, flush: async () => undefined, takeLosses: () => [], ...sink },
    first: undefined,
    archive: async () => archive as unknown as ArchiveStore,
    storageKind: "memory",
    now,
    warn: (message) => void warnings.push(message),
  });
  return { recorder, written, warnings };
}

function say(recorder: EventRecorder, session: string, ...words: readonly (string | number)[]): void {
  for (const word of words)
    recorder.announcer(session)({ kind: "warning", severity: "low", code: "x", message: String(word) });
}

describe("events beside the archive", () => {
  it("OBS-3 a flush waits for events that another call is already writing, and keeps their order", async () => {
    const { recorder, written } = record();
    say(recorder, "s", 1, 2, 3);
    const before = recorder.write("s");
    say(recorder, "s", 4, 5);
    await recorder.flush();
    expect(written).toEqual(["s 1", "s 2", "s 3", "s 4", "s 5"]);
    await before;
  });

  it("OBS-3 what the storage refuses is kept for the next time, reported once, and holds up no other session", async () => {
    let down = true;
    const { recorder, written, warnings } = record((session) => down && session === "a");
    say(recorder, "a", 1, 2);
    say(recorder, "b", 1);
    await recorder.flush();
    await recorder.flush();
    expect(written).toEqual(["b 1"]);
    expect(warnings).toEqual(["events could not be stored beside the archive, and wait: disk full"]);
    down = false;
    say(recorder, "a", 3);
    await recorder.write("a");
    expect(written).toEqual(["b 1", "a 1", "a 2", "a 3"]);
  });

  it("OBS-6 a clock that gives no valid date breaks no call, and is reported once", async () => {
    const { recorder, written, warnings } = record(undefined, {}, () => new Date(Number.NaN));
    say(recorder, "s", 1, 2);
    await recorder.flush();
    await recorder.flush();
    expect(written).toEqual([]);
    expect(warnings).toEqual(["events could not be stored beside the archive, and wait: Invalid time value"]);
  });

  it("OBS-3 what does not fit in memory is counted, reported once, and told by an event", async () => {
    const { recorder, written, warnings } = record();
    say(recorder, "s", ...Array(3_000).keys());
    await recorder.flush();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^more than 1000 events wait .* the oldest are dropped/);
    const newest = Array.from({ length: 1_000 }, (_, index) => `s ${index + 2_000}`);
    expect(written).toEqual([...newest, "s 2000 events were not delivered to events.jsonl"]);
  });

  it("OBS-3 what an exporter missed stands in an event beside the archive and with the other exporters", async () => {
    const seen: unknown[] = [];
    const lines: string[] = [];
    const sink = createTracer({
      exporters: [
        { name: "broken", export: () => Promise.reject(new Error("no")) },
        { name: "good", export: ({ properties }) => void seen.push(properties.message) },
      ],
      now: () => 0,
      onError: (line) => lines.push(line),
    });
    const { recorder, written } = record(() => false, sink);
    say(recorder, "s", "one", "two");
    await recorder.flush();
    const told = "2 events were not delivered to broken";
    expect(seen).toEqual(["one", "two", told]);
    expect(written).toEqual(["s one", "s two", `s ${told}`]);
    expect(lines).toEqual(["[broken] export failed: no", "[broken] 2 events were not delivered"]);
    await recorder.flush();
    expect(lines).toHaveLength(2);
  });
});

describe("escapeControl", () => {
  it.each([
    ["\x1b[2Jx", String.raw`\x1b[2Jx`],
    ["\x9b31m", String.raw`\x9b31m`],
    ["\x1bP1;2|dcs\x1b\\", `${String.raw`\x1bP1;2|dcs\x1b`}\\`],
    ["over\rwritten\b\x00\x7f", String.raw`over\x0dwritten\x08\x00\x7f`],
    ["\u202eabc\u2066d\u200b\u200d\ufeff", String.raw`\u202eabc\u2066d\u200b\u200d\ufeff`],
    ["a\u2028b\u00adc", String.raw`a\u2028b\xadc`],
    ["\u{e0041}\ud800", String.raw`\u{e0041}\ud800`],
    ["é 漢字 😀\n\tkept", "é 漢字 😀\n\tkept"],
  ])("makes %j visible", (text, expected) => expect(escapeControl(text)).toBe(expected));

  it("leaves nothing of the C0, C1, bidi and zero-width characters but newline and tab", () => {
    const units = fc.string({ unit: "binary", maxLength: 40 });
    fc.assert(
      fc.property(units, (text) => {
        expect(escapeControl(text)).not.toMatch(
          /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u200b-\u200d\ufeff\u2028\u2029]/u,
        );
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
