import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { Answer, StubRequest } from "../../stubs/answers.ts";
import { type Agent, claude, codex, compactBin, listOf, opencode, Stage } from "./stage.ts";

const FIRST = "Please read all the files, and remember the parcel number TQ-7731-ZV.";
const SECOND = "Now read them once more, and remember the pier PX-2204-KB.";

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

/** A model that reads one file after another, `calls` of them for each ask; `at` runs before some step is answered. */
function reader(
  agent: Agent,
  calls: number,
  at: { readonly step: number; run(): Promise<void> } | undefined,
) {
  let newest = 0;
  let asked = 0;
  let isDone = false;
  return async (request: StubRequest): Promise<Answer> => {
    if (!agent.isMain(request.body)) return '{"title": "Reading files"}';
    // A call that comes again, because its answer was lost, gets the same answer.
    const told = [...JSON.stringify(listOf(request).slice(-2)).matchAll(/step-(\d+)-done/g)].at(-1)?.[1];
    const step = told === undefined ? asked + 1 : Number(told) + 1;
    newest = Math.max(newest, step);
    if (told !== undefined && step > asked + calls) {
      asked = newest - 1;
      return "all done";
    }
    if (step === at?.step && !isDone) {
      isDone = true;
      await at.run();
    }
    return {
      reasoning: `Step ${step} comes next. `.repeat(4),
      text: `Step ${step}: file ${step % 10}.`,
      // What the call prints stands in its result alone.
      toolCalls: [agent.shell(`cat file${step % 10}.txt; echo; echo step-$((${step}))-done`)],
    };
  };
}

/** Indexes of requests whose list does not begin with the whole list before; marks of the cache may move. */
function breaks(requests: readonly StubRequest[]): number[] {
  const bytes = requests.map((request) =>
    listOf(request).map((entry) =>
      JSON.stringify(entry, (key, value: unknown) => (key === "cache_control" ? undefined : value)),
    ),
  );
  return bytes.flatMap((list, index) => {
    const before = bytes[index - 1] ?? [];
    return before.every((entry, place) => sameText(entry, list[place])) ? [] : [index];
  });
}

/** A text may be a plain one, or the only block of a list. */
function sameText(one: string, other = ""): boolean {
  const plain = (text: string): string =>
    text.replace(/"content":\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]/, '"content":$1');
  return one === other || plain(one) === plain(other);
}

const compactionsIn = (said: string): number => said.match(/^compact [\d,]+ → /gm)?.length ?? 0;

interface Run {
  readonly main: readonly StubRequest[];
  /** Calls beside the conversation, such as for a title. */
  readonly helpers: readonly StubRequest[];
  readonly said: string;
  readonly ownCompactions: boolean;
}

/** Two asks of one session with `calls` calls each; the proxy is killed in the middle of the first. */
async function play(agent: Agent, calls: number): Promise<Run> {
  const current = new Stage();
  stage = current;
  let killed = 0;
  const kill = async (): Promise<void> => {
    killed += 1;
    await current.stopProxy("SIGKILL");
    await current.startProxy();
  };
  await current.startStub(reader(agent, calls, { step: calls - 4, run: kill }));
  await current.startProxy();
  expect(await current.run(agent, current.url, FIRST)).toContain("all done");
  expect(await current.run(agent, current.url, SECOND, true)).toContain("all done");
  expect(killed).toBe(1);
  await current.stopProxy("SIGTERM");
  const { requests } = current.stub;
  const kept = current.sessionFiles(agent).map((path) => readFileSync(path, "latin1"));
  expect(kept.join("")).toContain("TQ-7731-ZV");
  return {
    main: requests.filter(({ body }) => agent.isMain(body)),
    helpers: requests.filter(({ body }) => !agent.isMain(body)),
    said: current.said,
    ownCompactions: kept.some((text) => agent.ownCompaction.test(text)),
  };
}

describe.each([
  { agent: claude, calls: 34 },
  { agent: codex, calls: 40 },
  { agent: opencode, calls: 40 },
])("$agent.name through the proxy", ({ agent, calls }) => {
  it.skipIf(!agent.installed)(
    "runs 60 calls and more in a window of 60,000 without a refusal, an ask lost or a compaction of its own",
    async () => {
      const { main, helpers, said, ownCompactions } = await play(agent, calls);
      const requests = stage?.stub.requests ?? [];
      expect(
        requests.flatMap(({ rejection }) => (rejection === undefined ? [] : [rejection.message])),
      ).toEqual([]);
      const compactions = compactionsIn(said);
      expect(main.length).toBeGreaterThanOrEqual(60);
      expect(compactions).toBeGreaterThanOrEqual(2);
      expect(said).not.toContain("unmodified");
      expect(ownCompactions).toBe(false);
      // Whoever compacts by itself sends the conversation without its tools.
      expect(helpers.filter((request) => listOf(request).length > 2)).toEqual([]);

      const second = main.findIndex((request) => JSON.stringify(listOf(request)).includes("PX-2204-KB"));
      expect(second).toBeGreaterThan(calls);
      for (const [index, request] of main.entries()) {
        const text = JSON.stringify(listOf(request));
        expect(text).toContain("TQ-7731-ZV");
        if (index >= second) expect(text).toContain("PX-2204-KB");
      }

      // The call that was under way when the proxy was killed comes again, and goes out again byte for byte.
      const lists = main.map((request) => JSON.stringify(listOf(request)));
      const again = lists.filter((list, index) => list === lists[index - 1]);
      expect(again).toHaveLength(1);
      expect(again[0]).toContain("<COMPACT-SUMMARY");

      // The prefix of the cache: as many breaks as compactions, and in between the whole prompt is read again.
      const broken = breaks(main);
      expect(broken).toHaveLength(compactions);
      for (const [index, { usage }] of main.entries()) {
        const before = main[index - 1]?.usage?.input ?? 0;
        if (index > 0 && !broken.includes(index) && before > 0)
          expect(usage?.cacheRead ?? 0).toBeGreaterThan(before - 1_200);
      }
    },
    600_000,
  );
});

describe.each([claude, codex])("sessions of $name", (agent) => {
  it.skipIf(!agent.installed)(
    "go on in it after compact FILE -o: summary and history arrive in the first request",
    async () => {
      const current = new Stage();
      stage = current;
      await current.startStub(reader(agent, 16, undefined), { window: 200_000 });
      const { anthropicUrl: url } = current.stub;
      await current.run(agent, url, FIRST);
      const [file = ""] = current.sessionFiles(agent);
      const id = /[0-9a-f]{8}-[0-9a-f-]{27}(?=\.jsonl$)/.exec(file)?.[0] ?? "";
      const words = [compactBin, file, "--target", "30k", "-o", file, "--force", "--archive", "archive"];
      const screen = await current.runProgram(process.execPath, words);
      expect(screen.replace(/\s+/g, " ")).toContain(
        agent === claude ? `claude --resume ${id}` : `codex resume ${id}`,
      );

      const before = current.stub.requests.length;
      expect(await current.run(agent, url, SECOND, id)).toContain("all done");
      const first = current.stub.requests.slice(before).find(({ body }) => agent.isMain(body));
      const list = JSON.stringify(first === undefined ? [] : listOf(first));
      expect(first?.rejection).toBeUndefined();
      expect(list).toContain("<COMPACT-SUMMARY v1>");
      expect(list).toContain("TQ-7731-ZV");
      expect(list).toContain("step-16-done");
      expect(list).toContain("PX-2204-KB");
      expect(list).not.toContain("step-2-done");
      // Records that were copied behind the boundary are not joined with the originals.
      expect(list.split('"Step 16: file 6."')).toHaveLength(2);
    },
    120_000,
  );
});
