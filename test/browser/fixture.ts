import type {
  CompactionHead,
  CompactionView,
  LayerKey,
  MessageOutcome,
  MessageView,
  SessionHead,
  SessionView,
  SpanView,
  StepView,
} from "../../packages/compact-context-cli/src/view/session-view.ts";

/** A made-up session, as the server would serve it: the page is tested without a backend. */
export interface Fixture {
  readonly head: SessionHead;
  readonly view: SessionView;
  readonly messages: readonly MessageView[];
  readonly texts: readonly string[];
  readonly compactions: readonly CompactionView[];
}

export interface FixtureOptions {
  readonly id: string;
  readonly title?: string;
  readonly messages: number;
  readonly window?: number;
  /** The text of a message; undefined for a default text. */
  readonly text?: (index: number) => string | undefined;
  readonly live?: boolean;
}

const LAYERS: readonly LayerKey[] = [
  "tools",
  "system",
  "pinned",
  "summary",
  "remainder",
  "toolPairs",
  "recent",
];
const START = Date.parse("2026-11-03T09:00:00.000Z");
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();
const total = (tokens: readonly number[]): number => tokens.reduce((sum, each) => sum + each, 0);

/** Sizes typical of an agent's work: mostly short, occasionally a long tool result. */
function tokensOf(index: number): number {
  const mixed = (index * 2654435761) % 4294967296;
  if (index % 2 === 0) return index % 40 === 0 ? 120 + (mixed % 300) : 600 + (mixed % 4200);
  return 40 + (mixed % 240);
}

const role = (index: number): string => (index % 40 === 0 ? "user" : index % 2 === 1 ? "assistant" : "tool");
const kind = (index: number): MessageView["kind"] =>
  index % 40 === 0 ? "text" : index % 2 === 1 ? "toolCall" : "toolResult";

function messagesOf({ messages, text }: FixtureOptions): { views: MessageView[]; texts: string[] } {
  const texts = Array.from(
    { length: messages },
    (_, index) =>
      text?.(index) ?? `Message ${index + 1}: src/policy/partition.ts line ${index * 7} decides what stays.`,
  );
  const views = texts.map((each, index) => ({
    message: index,
    role: role(index),
    kind: kind(index),
    tool: index % 40 === 0 ? undefined : "read_file",
    path: index % 40 === 0 ? undefined : `src/file-${index % 7}.ts`,
    tokens: tokensOf(index),
    at: at(index * 20),
    archiveId: `arc-${index}`,
    preview: each.slice(0, 240),
  }));
  return { views, texts };
}

interface Made {
  readonly steps: StepView[];
  readonly compactions: CompactionView[];
  readonly spans: SpanView[];
}

function play(views: readonly MessageView[], window: number): Made {
  const made: Made = { steps: [], compactions: [], spans: [] };
  let kept: Listed[] = [];
  let from = 0;
  let without = 1500;
  for (let end = 1; end <= views.length; end += 2) {
    without += total(views.slice(Math.max(0, end - 2), end).map(({ tokens }) => tokens));
    const list = [...kept, ...views.slice(from, end).map((view) => outcome(view, "kept", views.length))];
    const layers = layersOf(list);
    const step = { index: made.steps.length, at: at(end * 20), messages: end, without };
    made.spans.push(check(made, end));
    if (total(layers) <= window * 0.85) {
      made.steps.push({ ...step, tokens: layers, total: total(layers) });
      continue;
    }
    const compaction = compact(list, made);
    kept = keptOf(compaction);
    from = end;
    const after = layersOf(kept);
    made.steps.push({
      ...step,
      tokens: after,
      total: total(after),
      before: layers,
      compaction: compaction.index,
    });
    made.compactions.push({ ...compaction, tokensBefore: total(layers), tokensAfter: total(after) });
    made.spans.push(...spansOf(compaction, end));
  }
  return made;
}

/** A message of a list, with the layer that its tokens count in. */
type Listed = MessageOutcome & { readonly layer: LayerKey };

function outcome(view: MessageView, word: MessageOutcome["outcome"], all: number): Listed {
  const { message: index, role: who, kind: what, tokens, archiveId, preview } = view;
  const gone = { kept: tokens, cleared: 24, cut: 400, summarized: 0, unknown: tokens }[word];
  const layer: LayerKey = index >= all - 4 ? "recent" : what === "toolResult" ? "toolPairs" : "remainder";
  return {
    message: index,
    role: who,
    kind: what,
    layer,
    outcome: word,
    tokens,
    tokensAfter: gone,
    preview,
    reason: word === "summarized" ? "older than what is kept" : "in the recent turns",
    archiveId,
  };
}

function layersOf(list: readonly Listed[]): number[] {
  const of = (layer: LayerKey): number =>
    list.filter((each) => each.layer === layer).reduce((sum, each) => sum + each.tokensAfter, 0);
  return [820, 540, ...LAYERS.slice(2).map(of)];
}

function compact(
  list: readonly Listed[],
  { compactions, steps }: Made,
): Omit<CompactionView, "messages"> & { readonly messages: readonly Listed[] } {
  const index = compactions.length;
  const messages = list.map((each, place): Listed => {
    if (each.message === undefined || place < list.length - 24)
      return { ...each, outcome: "summarized", tokensAfter: 0 };
    if (each.kind === "toolResult" && place < list.length - 6)
      return { ...each, outcome: "cleared", tokensAfter: 24 };
    return place === list.length - 5
      ? { ...each, outcome: "cut", tokensAfter: Math.min(400, each.tokens) }
      : each;
  });
  const gone = messages.filter((each) => each.outcome === "summarized" && each.message !== undefined);
  return {
    index,
    step: steps.length,
    at: at(steps.length * 40),
    durationMs: 180 + index * 37,
    reason: "trigger_pct",
    tokensBefore: 0,
    tokensAfter: 0,
    messagesBefore: list.length,
    messagesAfter: list.length - gone.length + 1,
    policy: [
      { name: "trigger", value: "85 %" },
      { name: "keep recent turns", value: "2" },
    ],
    summarizer: "builtin",
    summaryTokens: 2100,
    archiveStep: index + 1,
    failures: [],
    messages,
    summary: [
      { text: "Extract of the conversation so far, made without a model.\n", kind: "line", sources: [] },
      { text: "## Tasks\n", kind: "heading", sources: [] },
      ...gone
        .filter((_, place) => place % 9 === 0)
        .map((each, place) => ({
          text: `- ${each.preview}\n`,
          kind: "line" as const,
          sources: [
            { message: each.message ?? 0, match: "exact" as const },
            ...(place % 2 === 0 && gone[place * 9 + 3] !== undefined
              ? [{ message: gone[place * 9 + 3]?.message ?? 0, match: "likely" as const }]
              : []),
          ],
        })),
    ],
  };
}

function keptOf({ index, messages, summaryTokens }: ReturnType<typeof compact>): Listed[] {
  const left = messages
    .filter(({ outcome: word }) => word !== "summarized")
    .map((each) => ({ ...each, outcome: "kept" as const, tokens: each.tokensAfter }));
  const tokens = summaryTokens ?? 0;
  const shape = {
    role: "user",
    kind: "summary",
    layer: "summary",
    outcome: "kept",
    preview: "Extract of the conversation so far",
  } as const;
  return [{ ...shape, summaryOf: index, tokens, tokensAfter: tokens }, ...left];
}

function check({ spans }: Made, end: number): SpanView {
  const start = at(end * 20);
  return {
    id: `check-${spans.length}`,
    name: "compact.token_estimate",
    start,
    end: start,
    durationMs: 0,
    status: "ok",
    attributes: [
      { name: "model", value: "claude-sonnet-4-5" },
      { name: "usage_pct", value: "0.41" },
    ],
  };
}

function spansOf({ index, durationMs = 0 }: CompactionView, end: number): SpanView[] {
  const span = (name: string, from: number, to: number, attributes: Record<string, string>): SpanView => ({
    id: `compact-${index}-${name}`,
    parent: name === "compact" ? undefined : `compact-${index}-compact`,
    name,
    start: at(end * 20 + from / 1000),
    end: at(end * 20 + to / 1000),
    durationMs: to - from,
    status: "ok",
    attributes: Object.entries(attributes).map(([key, value]) => ({ name: key, value })),
  });
  return [
    span("compact", 0, durationMs, { reason: "trigger_pct" }),
    span("compact.archival", 4, 40, { storage_adapter: "fs", step: String(index + 1) }),
    span("compact.trigger_decision", 0, 0, {
      triggered: "true",
      "policy.trigger_pct": "0.85",
      "policy.hard_cap_buffer": "1500",
    }),
    span("compact.summary_created", 44, durationMs - 12, {
      strategy: "task_state",
      input_messages: "58",
      payload: "Extract of the conversation so far.\nOne line after the other.",
    }),
    span("compact.pruned_messages", durationMs - 4, durationMs - 4, {
      "layers.pinned": "0",
      pruned_count: "48",
    }),
  ];
}

/** A session of that many messages, with the compactions that its window requires. */
export function fixture(options: FixtureOptions): Fixture {
  const { id, title = "A long piece of work", messages: length, window = 60_000, live = false } = options;
  const { views, texts } = messagesOf(options);
  const { steps, compactions, spans } = play(views, window);
  const heads = compactions.map(({ messages: _, summary: __, ...head }): CompactionHead => head);
  const head: SessionHead = {
    id,
    title,
    source: "transcript",
    live,
    format: "anthropic",
    model: "claude-sonnet-4-5",
    window,
    trigger: window * 0.85,
    budget: window - 1500,
    dropped: 0,
    counts: { messages: length, steps: steps.length, compactions: heads.length, spans: spans.length },
    updatedAt: at(length * 20),
  };
  const view = {
    ...head,
    layers: LAYERS,
    from: { steps: 0, compactions: 0, spans: 0 },
  } as const;
  return { head, view: { ...view, steps, compactions: heads, spans }, messages: views, texts, compactions };
}
