import { decode } from "compact-context/internal/codecs/formats";
import {
  type Format,
  type Message,
  markSummaries,
  messageText,
  toolCalls,
  toolResults,
} from "compact-context/internal/core/message";
import type { TokenCounter } from "compact-context/internal/core/ports";
import type { CompactionReport } from "compact-context/internal/core/report";
import { isUserSpeech, latestUserMessage } from "compact-context/internal/core/units";
import { type LintOptions, lint } from "compact-context/internal/lint/index";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { checkProvider } from "./provider-checks.ts";
import { brokenSeals } from "./soak-seal.ts";

/** A broken promise and its evidence. */
export type Broken = readonly [promise: string, detail: string];

/** A compacted list, its result and the promised limits. */
export interface Looked {
  readonly format: Format;
  readonly model?: string;
  readonly list: readonly unknown[];
  /** The messages of `list`, with summaries marked. */
  readonly messages: readonly Message[];
  readonly result: {
    readonly messages: readonly unknown[];
    readonly report: Pick<CompactionReport, "tokensAfter" | "clearedCount" | "elidedCount">;
  };
  readonly maxTokens: number;
  /** New objects besides the edits of this call are allowed: a session returns its earlier edits again. */
  readonly editedBefore?: boolean;
}

/** The format-independent promises that the result breaks. */
export function checkResult(looked: Looked): Broken[] {
  const { list, messages, result, maxTokens, format, model } = looked;
  const { messages: natives, report } = result;
  const after = markSummaries(decode(natives, format));
  const tokens = countDecoded(after, format, model);
  const broken: Broken[] = [];
  if (tokens > maxTokens) broken.push(["within budget", `${tokens} of ${maxTokens}`]);
  if (tokens !== report.tokensAfter) broken.push(["told tokens", `${report.tokensAfter}, really ${tokens}`]);
  const places = new Map(list.map((native, index) => [native, index]));
  const kept = natives.map((native) => places.get(native)).filter((place) => place !== undefined);
  if (kept.some((place, index) => place <= (kept[index - 1] ?? -1))) broken.push(["order", kept.join(" ")]);
  const made = natives.filter((native) => !places.has(native) && !isBare(native, list)).length;
  const edits = report.clearedCount + report.elidedCount + strippedOf(report);
  if (looked.editedBefore !== true && made > edits + 1) broken.push(["own objects", `${made} new ones`]);
  const present = new Set(natives);
  const lost = pinned(messages).filter(({ native }) => !present.has(native));
  if (lost.length > 0) broken.push(["pinned stay", lost.map(({ id }) => id).join(" ")]);
  const summaries = after.filter(isSummary);
  if (summaries.length > 1) broken.push(["one summary", `${summaries.length}`]);
  if (summaries.some(({ role }) => role === "system" || role === "developer"))
    broken.push(["summary is no system text", summaries.map(({ role }) => role).join(" ")]);
  broken.push(...checkOpenCalls(messages, after));
  const cut = report.elidedCount > 0 || looked.editedBefore === true;
  return [...broken, ...checkAsk(messages, after, cut)];
}

/** True for an item that lost its id because the reasoning before it was dropped. */
function isBare(native: unknown, list: readonly unknown[]): boolean {
  const { id, ...rest } = native as { readonly id?: unknown };
  if (id !== undefined) return false;
  const text = JSON.stringify(rest);
  return list.some((entry) => {
    const { id: own, ...others } = entry as { readonly id?: unknown };
    return own !== undefined && JSON.stringify(others) === text;
  });
}

function strippedOf(report: object): number {
  const { reasoningDropped } = report as { readonly reasoningDropped?: number };
  return reasoningDropped ?? 0;
}

const isSummary = (message: Message): boolean => messageText(message).startsWith("<COMPACT-SUMMARY v");

/** Rules, invariants and seals that are violated more often than before; errors only. */
export function newlyBroken(before: readonly unknown[], after: readonly unknown[], format: Format): Broken[] {
  const found = errorsByRule(after, format);
  if (found.size === 0) return [];
  // Reasoning keeps a dead call together with the model's next output, so that it looks pending.
  const known = errorsByRule(before, format, { pendingAllowed: false });
  return [...found]
    .filter(([rule, { count }]) => count > (known.get(rule)?.count ?? 0))
    .map(([rule, { first }]) => [rule, first]);
}

/** Faults that the direct provider checks find in the result but not in the input. */
export function newlyRefused(
  given: readonly unknown[],
  after: readonly unknown[],
  {
    format,
    raw,
    bound,
  }: { readonly format: Format; readonly raw: readonly unknown[]; readonly bound: boolean },
): Broken[] {
  const seals = bound ? brokenSeals(after) : [];
  const sealed: Broken[] = seals.length === 0 ? [] : [["bound reasoning", `entries ${seals.join(" ")}`]];
  const found = checkProvider(format, after, raw);
  if (found.length === 0) return sealed;
  const known = new Set(checkProvider(format, given, raw));
  // Bound reasoning is only accepted after the same prefix, so a loop that was cut loses it.
  const fresh = found.filter((one) => !known.has(one) && !(bound && one.startsWith("C4")));
  return [...sealed, ...fresh.map((one): Broken => [one.split(" ", 1)[0] ?? one, one])];
}

function errorsByRule(
  list: readonly unknown[],
  format: Format,
  options: LintOptions = {},
): Map<string, { readonly count: number; readonly first: string }> {
  const found = new Map<string, { readonly count: number; readonly first: string }>();
  for (const { rule, severity, path, explanation } of lint(list, format, options)) {
    if (severity !== "error") continue;
    const { count, first } = found.get(rule) ?? { count: 0, first: `${path}: ${explanation}` };
    found.set(rule, { count: count + 1, first });
  }
  return found;
}

const counters = new Map<string, TokenCounter>();

/** Tokens of freshly decoded messages; texts are tokenized once for all histories of a format. */
export function countDecoded(messages: readonly Message[], format: Format, model?: string): number {
  const key = `${format} ${model}`;
  const counter = counters.get(key) ?? createTokenCounter({ format, model });
  counters.set(key, counter);
  return messages.reduce((total, message) => total + counter.countMessage(message), counter.perRequest);
}

/** Messages that must always stay. */
export function pinned(messages: readonly Message[]): Message[] {
  return messages.filter(
    ({ role, meta }) => meta?.protected === true || role === "system" || role === "developer",
  );
}

/** Pending calls at the end of the list are still present. */
function checkOpenCalls(before: readonly Message[], after: readonly Message[]): Broken[] {
  const lastAsked = before.findLastIndex(({ role }) => role !== "tool");
  const start =
    before.findLastIndex((message, index) => index <= lastAsked && toolCalls(message).length === 0) + 1;
  const answered = new Set(
    before
      .slice(start)
      .flatMap(toolResults)
      .map(({ id }) => id),
  );
  const open = before
    .slice(start, lastAsked + 1)
    .flatMap(toolCalls)
    .filter((call) => call.providerExecuted !== true && !answered.has(call.id));
  if (open.length === 0) return [];
  const kept = after.flatMap(toolCalls);
  // Gemini's calls can lack an id: they are identified by content.
  const lost = open.filter(({ id, name }) => !kept.some((call) => call.id === id || call.name === name));
  return lost.length === 0 ? [] : [["open calls", lost.map(({ id }) => id).join(" ")]];
}

function newestSaid(messages: readonly Message[]): Message | undefined {
  const said = messages.findLast(
    (message) =>
      isUserSpeech(message) &&
      (messageText(message).trim() !== "" || message.parts.some(({ type }) => type === "media")),
  );
  return said ?? messages[latestUserMessage(messages)];
}

/** The newest user message with text is the caller's own object or, if truncated, has the same beginning. */
function checkAsk(before: readonly Message[], after: readonly Message[], cut: boolean): Broken[] {
  const ask = newestSaid(before);
  if (ask === undefined || after.some(({ native }) => native === ask.native)) return [];
  const left = newestSaid(after);
  const [head = ""] = messageText(ask);
  const same = cut && left !== undefined && messageText(left).startsWith(head);
  return same ? [] : [["newest ask", messageText(ask).slice(0, 80)]];
}
