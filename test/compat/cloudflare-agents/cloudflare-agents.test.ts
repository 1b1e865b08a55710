import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, FACTS, survey, TURNS } from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: the runtime is loaded at run time
type Loose = any;

async function load(): Promise<{ Miniflare: Loose; build: Loose } | undefined> {
  try {
    const [miniflare, esbuild] = await Promise.all(["miniflare", "esbuild"].map((name) => import(name)));
    return { ...miniflare, ...esbuild };
  } catch {
    return undefined;
  }
}

const tools = (await load()) as NonNullable<Awaited<ReturnType<typeof load>>>;

interface Answer {
  readonly history: { readonly id: string; readonly role: string; readonly parts: { text?: string }[] }[];
  readonly overlays: {
    readonly fromMessageId: string;
    readonly toMessageId: string;
    readonly summary: string;
  }[];
}

describe.skipIf(tools === undefined)("compactionFunction in Cloudflare's runtime", () => {
  let runtime: Loose;
  beforeAll(async () => {
    const { outputFiles } = await tools.build({
      entryPoints: [fileURLToPath(new URL("worker.ts", import.meta.url))],
      bundle: true,
      write: false,
      format: "esm",
      target: "es2022",
      conditions: ["workerd", "worker", "browser"],
      external: ["cloudflare:*", "node:*", "pg", "@aws-sdk/*"],
    });
    runtime = new tools.Miniflare({
      modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0].text }],
      compatibilityDate: "2026-01-01",
      compatibilityFlags: ["nodejs_compat"],
      durableObjects: { CONVERSATION: { className: "Conversation", useSQLite: true } },
    });
    await runtime.ready;
  }, 120_000);
  afterAll(() => runtime?.dispose());

  it("INT-3 hides what is old behind one summary, and keeps the newest turns", async () => {
    const post = async (message: object | null): Promise<unknown> => {
      const answer = await runtime.dispatchFetch("http://agent/", {
        method: "POST",
        body: JSON.stringify(message),
      });
      return answer.json();
    };
    const send = (message: object | null): Promise<Answer> => post(message) as Promise<Answer>;
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await send({ id: `ask-${turn}`, role: "user", parts: [{ type: "text", text: ask(turn) }] });
      const calls = [1, 2, 3].map((part) => ({
        type: "tool-survey",
        toolCallId: `call-${turn}-${part}`,
        state: "output-available",
        input: { quay: turn, part },
        output: survey({ quay: turn, part }),
      }));
      await send({
        id: `answer-${turn}`,
        role: "assistant",
        parts: [...calls, { type: "text", text: `Quay ${turn} is surveyed.` }],
      });
    }
    const { history, overlays } = await send(null);
    expect(overlays.length).toBeGreaterThanOrEqual(3);
    const summaries = history.filter(({ id }) => id.startsWith("compaction_"));
    expect(summaries).toHaveLength(1);
    const summary = summaries[0]?.parts[0]?.text ?? "";
    expect(summary.match(/<COMPACT-SUMMARY/g)).toHaveLength(1);
    for (const { pier, value } of FACTS) {
      const found = await post({ search: `berth of ${pier}` });
      expect(JSON.stringify([history, found])).toContain(`${pier} is ${value}`);
    }
    expect(history.at(-1)?.id).toBe(`answer-${TURNS}`);
    expect(history.at(-2)?.id).toBe(`ask-${TURNS}`);
    expect(history.length).toBeLessThan(TURNS);
  }, 120_000);
});
