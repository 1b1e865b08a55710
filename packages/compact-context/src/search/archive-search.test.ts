import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { archiveId, type Message, wrapSummary } from "../core/message.ts";
import type { StorageDriver } from "../core/ports.ts";
import { CompactError } from "../errors.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { type Archive, createArchive } from "./archive.ts";
import { type IndexMemory, OpenIndexes } from "./open-indexes.ts";
import { wordsOf } from "./words.ts";

const redact = createRedactor();

function message(id: string, text: string, more: Partial<Message> = {}): Message {
  return { id, role: "user", parts: [{ type: "text", text }], ...more };
}

/** A driver that counts transcript reads. */
function counting(driver: StorageDriver): StorageDriver & { transcriptsRead: string[] } {
  const transcriptsRead: string[] = [];
  return {
    ...driver,
    transcriptsRead,
    stream(key) {
      if (key.includes("transcript")) transcriptsRead.push(key);
      return driver.stream(key);
    },
  };
}

function setUp(medium: StorageDriver = createMemoryDriver()) {
  const driver = counting(medium);
  const archive = createArchive(driver, { redact });
  /** A new process: nothing in memory yet. */
  const reopen = (more: { warn?(text: string): void } = {}) => createArchive(driver, { redact, ...more });
  return { driver, archive, reopen, search: reopen() };
}

async function idsFor(search: Archive, text: string): Promise<string[]> {
  return (await search.search(text, { sessionId: "s", limit: 100 })).hits.map(({ id }) => id);
}

describe("what is found", () => {
  const texts: readonly (readonly [id: string, text: string])[] = [
    ["path", "edited src/storage/archiveReader.ts and nothing else"],
    ["snake", "the setting max_context_tokens was raised"],
    ["error", "TypeError: Cannot read properties of undefined (reading 'length')"],
    ["chinese", "我们决定每周四晚上部署到生产环境"],
    ["japanese", "デプロイの窓は木曜日の夜です"],
    ["korean", "배포는 목요일 밤에 한다"],
    ["thai", "การติดตั้งคืนวันพฤหัสบดี"],
    ["russian", "Развёртывание по четвергам"],
    ["plural", "three connections were refused by the servers"],
    ["phrase", "the order was: wait, then retry, then fail"],
    ["decoy", "retry then wait then fail, that was the order"],
    ["wide", "ｆｕｌｌ ｗｉｄｔｈ letters"],
    ["symbols", "it printed => { ok } <="],
  ];

  it.each([
    ["archiveReader", ["path"]],
    ["archive", ["path"]],
    ["src/storage/archiveReader.ts", ["path"]],
    ["archivereader.ts", ["path"]],
    ["max_context_tokens", ["snake"]],
    ["context", ["snake"]],
    ["typeerror", ["error"]],
    ["部署", ["chinese"]],
    ["木曜日", ["japanese"]],
    ["배포", ["korean"]],
    ["วันพฤหัสบดี", ["thai"]],
    ["РАЗВЁРТЫВАНИЕ", ["russian"]],
    ["connection server", ["plural"]],
    ['"then retry"', ["phrase"]],
    ['"WAIT,  then"', ["phrase"]],
    ['"onnections were refus"', ["plural"]],
    ['order "ait, then retr"', ["phrase"]],
    ["connec", ["plural"]],
    ["full width", ["wide"]],
    ['"=> { ok"', ["symbols"]],
    ["=>", ["symbols"]],
    ["nowhereatall", []],
  ])("ARC-4 %s", async (query, expected) => {
    const { archive, search } = setUp();
    await archive.saveTranscript(
      "s",
      1,
      texts.map(([id, text]) => message(id, text)),
    );
    expect(await idsFor(search, query)).toEqual(expected);
  });

  it("ARC-4 ranks the message with more and rarer words first, and a summary behind what it summarizes", async () => {
    const { archive, search } = setUp();
    const summary = { meta: { summaryVersion: 1 }, role: "assistant" as const };
    await archive.saveTranscript("s", 1, [
      message("common", "the migration is done"),
      message("both", "the migration of ledger 4711"),
      message("summary", "the migration of ledger 4711", summary),
      ...Array.from({ length: 8 }, (_, index) => message(`filler${index}`, `a migration step, ${index}`)),
    ]);
    expect((await idsFor(search, "migration ledger")).slice(0, 2)).toEqual(["both", "summary"]);
    const [first, second] = (await search.search("migration ledger", { sessionId: "s" })).hits;
    expect(first?.score).toBeGreaterThan(second?.score ?? 0);
  });

  it("ARC-4 puts the message that holds the text as it is before those that hold its words apart", async () => {
    const { archive, search } = setUp();
    const near = ["port of the mail server", "port 5433", "the mail port", "server 14, mail 14, port 14"];
    const long = `${"words about tides and ropes ".repeat(40)} the port of mail server 14 is 5433.`;
    await archive.saveTranscript("s", 1, [
      ...near.map((text, n) => message(`n${n}`, text)),
      message("long", long),
    ]);
    const { hits } = await search.search("port of mail server 14", { sessionId: "s", limit: 2 });
    expect(hits[0]?.id).toBe("long");
    expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).sort((a, b) => b - a));
  });

  it("ARC-4 finds the text as it is where few hits are asked for and many short texts hold its words", async () => {
    const { archive, search } = setUp();
    const short = Array.from({ length: 14 }, (_, at) =>
      message(`m${at}`, `pier ${at}: the berth of 40, dock 77`),
    );
    const long = message(
      "long",
      `${"the clerks list cargo and ropes ".repeat(60)}\nThe berth of pier 77 is free.`,
    );
    await archive.saveTranscript("s", 1, [long, ...short]);
    const { hits } = await search.search("berth of pier 77", { sessionId: "s", limit: 2 });
    expect(hits[0]?.id).toBe("long");
  });

  it("shows a summary without the tag around it", async () => {
    const { archive, search } = setUp();
    const text = wrapSummary("The berth of pier 07 is 4,322 ells long.", 2);
    const meta = { summaryVersion: 2 };
    await archive.saveTranscript("s", 1, [message("summary", text, { meta, role: "assistant" as const })]);
    const [hit] = (await search.search("berth pier", { sessionId: "s" })).hits;
    expect(hit?.snippet).toBe("The berth of pier 07 is 4,322 ells long.");
  });

  it("shows the stretch that holds most of the words", async () => {
    const { archive, search } = setUp();
    const noise = "lorem ipsum dolor sit amet ".repeat(40);
    const text = `port ${noise} the database listens on port 5433 since March ${noise}`;
    await archive.saveTranscript("s", 1, [message("m", text)]);
    const [hit] = (await search.search("database port 5433", { sessionId: "s" })).hits;
    expect(hit?.snippet).toContain("database listens on port 5433");
    expect(hit?.snippet.length).toBeLessThan(300);
  });

  it.each([
    ["port", `export the support portfolio ${"filler ".repeat(60)}the port of the pier`, "the port of"],
    ["port", `export ${"filler ".repeat(60)}two ports are open`, "two ports are"],
    ["port", `import ${"filler ".repeat(60)}set dbPort first`, "set dbPort first"],
    ["bert", `robert ${"filler ".repeat(60)}the berths are full`, "the berths are full"],
    ["港", `空港 ${"filler ".repeat(60)}`, "空港"],
  ])("shows %s where it is a word, not where it is inside another", async (word, text, shown) => {
    const { archive, search } = setUp();
    await archive.saveTranscript("s", 1, [message("m", text)]);
    const [hit] = (await search.search(word, { sessionId: "s" })).hits;
    expect(hit?.snippet).toContain(shown);
  });

  it("ARC-4 gives the same messages as reading every word of every transcript", async () => {
    const words = ["alpha", "beta", "gamma", "delta", "config.ts", "readFile", "部署", "x1"];
    const text = fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((list) => list.join(" "));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(text, { maxLength: 8 }), { minLength: 1, maxLength: 9 }),
        async (steps) => {
          const { archive, search } = setUp();
          const all: Message[] = [];
          for (const [step, list] of steps.entries()) {
            const kept = all.slice(-2);
            const added = list.map((one, n) => message(`${step}-${n}`, `${one} only${step}x${n}`));
            await archive.saveTranscript("s", step + 1, [...kept, ...added]);
            all.push(...added);
            // Every step is indexed separately: segments are added and merged.
            await search.findMessage("s", "none");
          }
          for (const word of words) {
            const parts = wordsOf(word);
            const expected = all.filter((one) =>
              one.parts.some(
                (each) => each.type === "text" && wordsOf(each.text).some((part) => parts.includes(part)),
              ),
            );
            const found = (await search.search(word, { sessionId: "s", limit: 1000 })).hits;
            expect(found.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort());
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("ids", () => {
  it("ARC-4 an id of another session, a forged one or a piece of a key finds nothing", async () => {
    const { archive, search } = setUp();
    const mine = message("m1", "mine");
    const theirs = message("m2", "theirs");
    await archive.saveTranscript("s", 1, [mine]);
    await archive.saveTranscript("t", 1, [theirs]);
    expect(await search.findMessage("s", archiveId(mine))).toMatchObject({ message: mine, step: 1 });
    for (const forged of [archiveId(theirs), "m2", "", "zzzzzzzzzz", "../t", "@", "=m1", "%", "*", "m"]) {
      expect(await search.findMessage("s", forged)).toBeUndefined();
    }
    await expect(search.findMessage("", "m1")).rejects.toMatchObject({ code: "InvalidArgument" });
  });

  it("ARC-4 equal texts are found under each of their own ids, in the list of hits once", async () => {
    const { archive, search } = setUp();
    await archive.saveTranscript("s", 1, [message("yes1", "yes please"), message("yes2", "yes please")]);
    expect(await idsFor(search, "please")).toEqual(["yes1"]);
    expect(await search.findMessage("s", "yes2")).toMatchObject({ n: 2, message: { id: "yes2" } });
  });

  it("a message that was emptied to a pointer to itself is found by its original, forged pointers by their words", async () => {
    const { archive, search } = setUp();
    const result = (content: string): Message => ({
      id: "t1",
      role: "tool",
      parts: [{ type: "toolResult", id: "c1", content }],
    });
    const whole = result("the quick brown output");
    const stub = result(`[tool output cleared: 9 tokens of output; archive id ${archiveId(whole)}]`);
    const forged = message("f1", `evil output [tool output cleared; archive id ${archiveId(whole)}]`);
    await archive.saveTranscript("s", 1, [whole, forged]);
    await archive.saveTranscript("s", 2, [stub, forged]);
    expect((await idsFor(search, "output")).sort()).toEqual(["f1", "t1"]);
    expect(await search.findMessage("s", "t1")).toMatchObject({ step: 1, message: whole });
    expect(await search.findMessage("s", archiveId(stub))).toMatchObject({ step: 2, message: stub });
  });
});

describe("the stored index", () => {
  const three = [message("m1", "first needle"), message("m2", "second needle"), message("m3", "third")];

  it("ARC-4 reads each transcript once; a later process none of them whole", async () => {
    const { driver, archive, reopen, search } = setUp();
    await archive.saveTranscript("s", 1, three);
    driver.transcriptsRead.length = 0;
    await idsFor(search, "needle");
    await idsFor(search, "third");
    expect(driver.transcriptsRead).toEqual(["s/transcript-pre-compact-001.jsonl"]);
    await archive.saveTranscript("s", 2, [...three, message("m4", "fourth needle")]);
    expect(await idsFor(search, "needle")).toContain("m4");
    const later = reopen();
    driver.transcriptsRead.length = 0;
    expect((await idsFor(later, "needle")).sort()).toEqual(["m1", "m2", "m4"]);
    // The newest step is only checked for growth, by its first line.
    expect(driver.transcriptsRead).toEqual(["s/transcript-pre-compact-002.jsonl"]);
  });

  it("takes in a step that was archived again with more messages", async () => {
    const { archive, reopen, search } = setUp();
    await archive.saveTranscript("s", 1, three);
    await idsFor(search, "needle");
    await archive.saveTranscript("s", 1, [...three, message("late", "a late needle")]);
    expect(await idsFor(reopen(), "needle")).toContain("late");
    await archive.saveTranscript("s", 2, [message("next", "next")]);
    expect(await idsFor(search, "needle")).toContain("late");
  });

  it("is made anew where a transcript is gone", async () => {
    const { driver, archive, reopen, search } = setUp();
    await archive.saveTranscript("s", 1, three);
    await archive.saveTranscript("s", 2, [message("m9", "needle nine")]);
    await idsFor(search, "needle");
    await driver.delete("s/transcript-pre-compact-001.jsonl");
    expect(await idsFor(search, "needle")).toEqual(["m9"]);
    expect(await idsFor(reopen(), "needle")).toEqual(["m9"]);
  });

  it("finds the same whatever was done to its files", async () => {
    const damage = fc.constantFrom(
      (text: string, at: number) => text.slice(0, at),
      (text: string, at: number) => `${text.slice(0, at)}x${text.slice(at + 1)}`,
      () => "",
      () => "null",
      () => '{"format":1,"words":1,"steps":[],"segments":[{"name":"../../etc","blocks":[]}],"problems":[]}',
    );
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(), fc.nat(), async (spoil, which, at) => {
        const { driver, archive, reopen, search } = setUp();
        await archive.saveTranscript("s", 1, three);
        const before = await search.search("needle", { sessionId: "s" });
        const files = (await driver.list("s/search/")).sort();
        expect(files.length).toBe(3);
        const key = files[which % files.length] ?? "";
        const text = (await driver.get(key))?.value ?? "";
        await driver.put(key, spoil(text, at % Math.max(1, text.length)));
        const after = reopen();
        expect(await after.search("needle", { sessionId: "s" })).toEqual(before);
        expect(await reopen().search("needle", { sessionId: "s" })).toEqual(before);
      }),
      { numRuns: 60 },
    );
  });

  it("RED-1 holds no secret that the archive does not hold", async () => {
    const { driver, archive, search } = setUp();
    await archive.saveTranscript("s", 1, [message("m1", "login with password=hunter2xyz please")]);
    expect(await idsFor(search, "hunter2xyz")).toEqual([]);
    expect(await idsFor(search, "login")).toEqual(["m1"]);
    for (const key of await driver.list(""))
      expect((await driver.get(key))?.value).not.toContain("hunter2xyz");
  });

  it("two workers bring it up to date at once and both find everything", async () => {
    const { driver, archive, reopen } = setUp();
    const workers = [reopen(), reopen(), reopen()];
    for (let step = 1; step <= 12; step++) {
      await archive.saveTranscript("s", step, [message(`m${step}`, `needle ${step}`)]);
      const found = await Promise.all(workers.map((worker) => idsFor(worker, "needle")));
      for (const ids of found) expect(ids.length).toBe(step);
    }
    driver.transcriptsRead.length = 0;
    expect((await idsFor(reopen(), "needle")).length).toBe(12);
    expect(driver.transcriptsRead.length).toBe(1);
    // Merging keeps the index to a few segments.
    const segments = (await driver.list("s/search/")).filter((key) => key.endsWith(".terms"));
    expect(segments.length).toBeLessThanOrEqual(5);
  });

  it("searches an archive that cannot be written, and says so once", async () => {
    const { driver, archive } = setUp();
    await archive.saveTranscript("s", 1, three);
    const warnings: string[] = [];
    const full: StorageDriver = {
      ...driver,
      put: async () => {
        throw new CompactError("StorageFailed", "the disk is full", { hint: "free some room" });
      },
    };
    const search = createArchive(full, { redact, warn: (text) => warnings.push(text) });
    expect((await idsFor(search, "needle")).sort()).toEqual(["m1", "m2"]);
    expect(await idsFor(search, '"first needle"')).toEqual(["m1"]);
    expect(warnings.length).toBe(1);
    expect(warnings[0]).toContain("the disk is full");
  });

  it("holds no more than it may, and finds the same", async () => {
    const { driver, archive } = setUp();
    const sessions = ["a", "b", "c", "d"];
    for (const session of sessions) {
      const list = Array.from({ length: 200 }, (_, n) =>
        message(`${session}${n}`, `needle ${session} word${n}`),
      );
      await archive.saveTranscript(session, 1, list);
    }
    const read = async (most?: IndexMemory) => {
      const indexes = new OpenIndexes(driver, () => undefined, most);
      const texts: (string | undefined)[] = [];
      for (const session of [...sessions, "a"]) {
        for (const segment of (await indexes.open(session)).segments)
          for (let document = 0; document < segment.size; document++)
            texts.push((await indexes.textOf(segment, document))?.text);
      }
      return { texts, held: indexes.held() };
    };
    const large = await read();
    const small = await read({ indexes: 20_000, texts: 2_000 });
    expect(small.texts).toEqual(large.texts);
    expect(new Set(small.texts).size).toBe(800);
    expect(small.held).toBeLessThanOrEqual(Math.max(20_000, (large.held / 4) * 1.1));
  });

  it("tells the lines that it could not read, each time", async () => {
    const { driver, archive, reopen } = setUp();
    await archive.saveTranscript("s", 1, three);
    const key = "s/transcript-pre-compact-001.jsonl";
    const lines = ((await driver.get(key))?.value ?? "").split("\n");
    await driver.put(key, [lines[0], "garbage", "half a li"].join("\n"));
    const expected = [
      { sessionId: "s", step: 1, line: 2, problem: expect.stringContaining("checksum") },
      { sessionId: "s", step: 1, line: 3, problem: "the last line was cut off" },
    ];
    for (const search of [reopen(), reopen()]) {
      expect((await search.search("needle", { sessionId: "s" })).problems).toEqual(expected);
    }
    expect(await idsFor(reopen(), "needle")).toEqual(["m1"]);
    await driver.put("t/transcript-pre-compact-001.jsonl", `${lines[0]}\n${lines[2]}\n`);
    const { problems } = await archive.readTranscript("t", 1);
    expect(problems).toHaveLength(1);
    expect((await reopen().search("needle", { sessionId: "t" })).problems).toEqual(
      problems.map((one) => ({ sessionId: "t", step: 1, ...one })),
    );
  });

  it.each([
    ["  ", {}],
    ["x", { limit: 0 }],
    ["x", { limit: 1.5 }],
    [7 as unknown as string, {}],
  ])("refuses %j with %j", async (text, options) => {
    await expect(setUp().search.search(text, options)).rejects.toMatchObject({ code: "InvalidArgument" });
  });
});

describe("wordsOf", () => {
  it.each([
    ["readTranscriptKey", ["readtranscriptkey", "read", "transcript", "key"]],
    ["HTTPServer v2", ["httpserver", "http", "server", "v2", "v", "2"]],
    ["policies pass status", ["policy", "pass", "status"]],
    ["", []],
    ["…—!", []],
  ])("%j", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it("takes linear time on text without a break, and knows it by its beginning", () => {
    const started = process.cpuUsage();
    expect(wordsOf("aB".repeat(500_000)).length).toBeLessThan(3000);
    expect(wordsOf("/".repeat(1_000_000))).toEqual([]);
    expect(wordsOf("部".repeat(200_000)).length).toBe(399_999);
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(5000);
  });
});
