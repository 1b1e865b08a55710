import type { Message } from "compact-context";
import { callNames, contentHash, toolCalls, toolResults } from "compact-context/internal/core/message";
import { layersOf } from "compact-context/internal/core/report";
import { STDIN } from "../files/source.ts";
import { type Invocation, misuse, printResult } from "../flags.ts";
import { createProgress } from "../ports.ts";
import { type LayerState, layerComparison, totalBars } from "../render/compaction.ts";
import { headline, messageGist, problemLines } from "../render/headline.ts";
import { foldedRows, type Style, table } from "../render/table.ts";
import { formatCount } from "../render/text.ts";
import { openTranscript } from "../sessions/discovery.ts";
import { sizesOf } from "../sessions/inspection.ts";
import { readSource } from "../sessions/opened.ts";
import { earlySettings, type Settings, settingsFor } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";

export async function diffSessions(invocation: Invocation): Promise<number> {
  const { words, flags, ports } = invocation;
  const [first = "", second = ""] = words;
  if (first === STDIN && second === STDIN) {
    throw misuse(
      "standard input can be only one of the two",
      "Name a file for the other: compact diff FILE -",
    );
  }
  const early = earlySettings(invocation);
  const progress = createProgress(ports);
  const before = await readSource(await openTranscript(first, ports), flags.format, progress);
  const after = await readSource(await openTranscript(second, ports), flags.format, progress);
  const settings = settingsFor(before, early, flags);
  const comparison: Comparison = {
    unseenTokens: settings.unseenTokens,
    before: sideOf(before, settings),
    after: sideOf(after, settings),
    changes: differenceOf(before.messages, after.messages),
  };
  printResult(invocation, diffJson(comparison), () => diffView(comparison, settings, invocation));
  return 0;
}

/** Unseen tokens are those of the first file on both sides. */
function sideOf(transcript: Transcript, { counter, config, unseenTokens }: Settings): Comparison["before"] {
  const fixedTokens =
    counter.countSystem(transcript.system) + counter.countTools(transcript.tools) + unseenTokens;
  const layers = sizesOf(transcript.messages, layersOf(transcript.messages, config.policy), counter);
  const tokens = Object.values(layers).reduce(
    (total, layer) => total + layer.tokens,
    fixedTokens + counter.perRequest,
  );
  return { transcript, layers, fixedTokens, tokens };
}

function diffJson({ before, after, changes, unseenTokens }: Comparison): Record<string, unknown> {
  return {
    tokens_before: before.tokens,
    tokens_after: after.tokens,
    unseen_tokens: unseenTokens,
    messages_before: before.transcript.messages.length,
    messages_after: after.transcript.messages.length,
    ...Object.fromEntries(countsOf(changes)),
    layers_before: before.layers,
    layers_after: after.layers,
    changes,
    problems_before: before.transcript.problems,
    problems_after: after.transcript.problems,
  };
}

interface Comparison {
  /** Fixed tokens that are not in the file, counted on both sides. */
  readonly unseenTokens: number;
  readonly before: LayerState & { readonly transcript: Transcript };
  readonly after: LayerState & { readonly transcript: Transcript };
  readonly changes: readonly Change[];
}

const SIGNS: Readonly<Record<ChangeKind, { readonly sign: string; readonly style: Style }>> = {
  kept: { sign: "=", style: "faint" },
  edited: { sign: "~", style: "warn" },
  gone: { sign: "−", style: "bad" },
  new: { sign: "+", style: "good" },
};

function countsOf(changes: readonly Change[]): [kind: string, count: number][] {
  return Object.keys(SIGNS).map((kind) => [kind, changes.filter((change) => change.kind === kind).length]);
}

/** Both sides by layer, then the changes of the messages; long runs of one kind are folded unless `all`. */
function diffView(
  { before, after, changes }: Comparison,
  settings: Settings,
  { terminal, flags }: Invocation,
): string[] {
  const names = callNames([...before.transcript.messages, ...after.transcript.messages]);
  const oldOf = (change: Change): Message | undefined => before.transcript.messages[change.before ?? -1];
  const newestOf = (change: Change): Message | undefined =>
    after.transcript.messages[change.after ?? -1] ?? oldOf(change);
  const tokensOf = (message: Message | undefined): number =>
    message === undefined ? 0 : settings.counter.countMessage(message);
  const rows = foldedRows(changes, {
    alike: (one, other) => one.kind === other.kind,
    from: 6,
    kept: 1,
    all: flags.all === true,
    row(change) {
      const { sign, style } = SIGNS[change.kind];
      const message = newestOf(change);
      const size = formatCount(tokensOf(message));
      return [
        { text: sign, style },
        { text: String((change.before ?? change.after ?? 0) + 1), style: "faint" },
        message?.role ?? "",
        change.kind === "edited" ? `${formatCount(tokensOf(oldOf(change)))} → ${size}` : size,
        {
          text: message === undefined ? "" : messageGist(message, names),
          style: change.kind === "kept" ? "faint" : style,
        },
      ];
    },
    fold(run) {
      const { sign, style } = SIGNS[run[0]?.kind ?? "kept"];
      const tokens = run.reduce((total, change) => total + tokensOf(newestOf(change)), 0);
      return [{ text: sign, style }, "⋮", `${run.length} more`, formatCount(tokens)];
    },
  });
  const counts = countsOf(changes).map(([kind, count]) => `${formatCount(count)} ${kind}`);
  return [
    ...headline(before.transcript, settings, terminal),
    ...problemLines(before.transcript, terminal),
    ...problemLines(after.transcript, terminal),
    ...totalBars(before.tokens, after.tokens, terminal),
    ...layerComparison(before, after, terminal),
    "",
    `  ${terminal.paint("strong", counts.join(", "))}`,
    "",
    ...table(rows, ["left", "right", "left", "right", "flexible"], terminal),
    "",
    ...(rows.length < changes.length ? ["  ⋮ marks messages that --all shows.", ""] : []),
  ];
}

type ChangeKind = "kept" | "edited" | "gone" | "new";

export interface Change {
  readonly kind: ChangeKind;
  /** Index in the first list; absent for a new message. */
  readonly before?: number;
  /** Index in the second list; absent for a removed message. */
  readonly after?: number;
}

/**
 * The change of each message, in the order of the first list with new messages in their place. A message with equal
 * content anywhere in the second list is kept; one with the same call, result or id but other content is edited.
 */
export function differenceOf(before: readonly Message[], after: readonly Message[]): Change[] {
  /** By index in the first list. */
  const found = new Map<number, Change & { readonly after: number }>();
  /** Indexes in the second list. */
  const paired = new Set<number>();
  /** Pairs unpaired messages with a common key, the newest first, since the newest are most likely kept. */
  const pair = (kind: ChangeKind, keysOf: (message: Message) => readonly string[]): void => {
    const free = [...after.entries()].filter(([index]) => !paired.has(index));
    const keyed = free.flatMap(([index, message]) => keysOf(message).map((key) => ({ key, index })));
    const places = new Map(keyed.map(({ key }): [string, number[]] => [key, []]));
    for (const { key, index } of keyed) places.get(key)?.push(index);
    const newestOf = (key: string): number | undefined => {
      const open = places.get(key) ?? [];
      while (paired.has(open.at(-1) ?? -1)) open.pop();
      return open.at(-1);
    };
    for (const [index, message] of [...before.entries()].reverse()) {
      if (found.has(index)) continue;
      const place = keysOf(message)
        .map(newestOf)
        .find((one) => one !== undefined);
      if (place === undefined) continue;
      paired.add(place);
      found.set(index, { kind, before: index, after: place });
    }
  };
  // Equal texts are matched by their calls first, and by content alone if a writer assigned new ids.
  pair("kept", (message) => [[contentHash(message), ...callIds(message)].join(" ")]);
  pair("edited", (message) => [...callIds(message), `id ${message.id}`]);
  pair("kept", (message) => [contentHash(message)]);
  const added = [...after.keys()].filter((index) => !paired.has(index));
  const addedUpTo = (end: number): Change[] => {
    const next = added.findIndex((index) => index >= end);
    return added.splice(0, next < 0 ? added.length : next).map((index) => ({ kind: "new", after: index }));
  };
  const changes = before.flatMap((_, index): Change[] => {
    const change = found.get(index);
    return change === undefined ? [{ kind: "gone", before: index }] : [...addedUpTo(change.after), change];
  });
  return [...changes, ...addedUpTo(after.length)];
}

function callIds(message: Message): string[] {
  return [
    ...toolCalls(message).map((call) => `call ${call.id}`),
    ...toolResults(message).map((result) => `result ${result.id}`),
  ];
}
