import { markSummaries } from "../compaction/assemble.ts";
import { countTokens } from "../compaction/count-list.ts";
import { type CompactOptions, compact } from "../compaction/one-shot.ts";
import type { CompactionResult } from "../compaction/report.ts";
import { CompactError } from "../errors.ts";
import { lint } from "../lint/index.ts";
import { decode } from "../messages/codecs.ts";
import { type Format, type Message, messageText } from "../messages/message.ts";
import { newestAsk } from "../messages/turns.ts";
import { drawHistory, type SoakHistory, type SoakRound } from "./soak-history.ts";

/** Something a compaction did that it must not do. */
export interface SoakViolation {
  readonly format: Format;
  readonly seed: number;
  /** Which compaction of the history, from 0. */
  readonly round: number;
  /** A lint rule, or the name of another promise. */
  readonly promise: string;
  readonly detail: string;
}

/** What became of one history. */
export interface SoakOutcome {
  readonly history: SoakHistory;
  /** Compactions that changed the list, and calls that found nothing to do. */
  readonly compactions: number;
  readonly untouched: number;
  /** Codes of the errors that were allowed. */
  readonly refusals: readonly string[];
  readonly violations: readonly SoakViolation[];
}

/** Runs the history of a seed through all of its compactions; each gets what the one before left, and what came since. */
export async function soakHistory(format: Format, seed: number): Promise<SoakOutcome> {
  const history = drawHistory(format, seed);
  const tally = { compactions: 0, untouched: 0, refusals: [] as string[], violations: [] as SoakViolation[] };
  let list: readonly unknown[] = [];
  let seen = 0;
  for (const [number, round] of history.rounds.entries()) {
    list = [...list, ...history.list.slice(seen, round.end)];
    seen = round.end;
    const outcome = await soakRound(list, format, round);
    for (const [promise, detail] of outcome.broken) {
      tally.violations.push({ format, seed, round: number, promise, detail });
    }
    if (outcome.refusal !== undefined) tally.refusals.push(outcome.refusal);
    else if (outcome.list === list) tally.untouched += 1;
    else tally.compactions += 1;
    list = outcome.list;
  }
  return { history, ...tally };
}

/** What a compaction gets; the format is named, never guessed. */
export type SoakRoundOptions = CompactOptions & { readonly format: Format };

/** A broken promise and what shows it. */
type Broken = readonly [promise: string, detail: string];

/** The list that is left, and what was broken on the way to it. */
export interface RoundOutcome {
  readonly list: readonly unknown[];
  readonly broken: readonly Broken[];
  readonly refusal?: string;
}

async function soakRound(list: readonly unknown[], format: Format, round: SoakRound): Promise<RoundOutcome> {
  return checkCompaction(list, optionsFor(list, decode(list, format), { format, round }));
}

/** Compacts a list and says which promises that broke; the list that came in where it was refused. */
export async function checkCompaction(
  list: readonly unknown[],
  options: SoakRoundOptions,
): Promise<RoundOutcome> {
  const before = JSON.stringify(list);
  const result = await compact(list, options).catch((error: unknown) => error);
  const touched: Broken[] = JSON.stringify(list) === before ? [] : [["input untouched", "an entry changed"]];
  if (!isResult(result)) {
    const refused = CompactError.isInstance(result) && result.code === "InsufficientBudget";
    if (refused) return { list, broken: touched, refusal: result.code };
    return { list, broken: [...touched, ["no other error", String(result)]] };
  }
  const broken = [
    ...touched,
    ...newlyBroken(list, result.messages, options.format),
    ...checkResult({ list, messages: markSummaries(decode(list, options.format)), result, options }),
    ...(await checkAgain(result.messages, options)),
  ];
  return { list: result.messages, broken };
}

function isResult(value: unknown): value is CompactionResult {
  return typeof value === "object" && value !== null && "report" in value;
}

/** A budget between what is pinned with a little room, and all of it. */
function optionsFor(
  list: readonly unknown[],
  messages: readonly Message[],
  { format, round }: { readonly format: Format; readonly round: SoakRound },
): SoakRoundOptions {
  const all = countTokens(list, { format }).tokens;
  const natives = pinned(messages).map(({ native }) => native);
  const least = (natives.length === 0 ? 0 : countTokens(natives, { format }).tokens) + 150;
  const maxTokens = Math.max(1, Math.floor(least + (round.share < 0 ? least : all - least) * round.share));
  return {
    format,
    maxTokens,
    ...(round.aim === undefined ? {} : { targetTokens: Math.max(1, Math.floor(maxTokens * round.aim)) }),
    onOverflow: round.onOverflow,
    policy: round.policy,
  };
}

/** Messages that must stay whatever happens. */
function pinned(messages: readonly Message[]): Message[] {
  return messages.filter(
    ({ role, meta }) => meta?.protected === true || role === "system" || role === "developer",
  );
}

/** Rules that are broken more often than before; errors alone. */
export function newlyBroken(before: readonly unknown[], after: readonly unknown[], format: Format): Broken[] {
  const known = errorsByRule(before, format);
  return [...errorsByRule(after, format)]
    .filter(([rule, { count }]) => count > (known.get(rule)?.count ?? 0))
    .map(([rule, { first }]) => [rule, first]);
}

function errorsByRule(
  list: readonly unknown[],
  format: Format,
): Map<string, { readonly count: number; readonly first: string }> {
  const found = new Map<string, { readonly count: number; readonly first: string }>();
  for (const { rule, severity, path, explanation } of lint(list, format)) {
    if (severity !== "error") continue;
    const { count, first } = found.get(rule) ?? { count: 0, first: `${path}: ${explanation}` };
    found.set(rule, { count: count + 1, first });
  }
  return found;
}

/** A compaction: the list and its messages, what came of it, and what was asked for. */
export interface Compacted {
  readonly list: readonly unknown[];
  readonly messages: readonly Message[];
  readonly result: CompactionResult;
  readonly options: SoakRoundOptions;
}

/** Which promises that hold in every format the result of a compaction breaks. */
export function checkResult({ list, messages, result, options }: Compacted): Broken[] {
  const broken: Broken[] = [];
  const { messages: natives, report } = result;
  const tokens = countTokens(natives, { format: options.format }).tokens;
  if (tokens > options.maxTokens) broken.push(["within budget", `${tokens} of ${options.maxTokens}`]);
  if (tokens !== report.tokensAfter) broken.push(["told tokens", `${report.tokensAfter}, really ${tokens}`]);
  const places = new Map(list.map((native, index) => [native, index]));
  const kept = natives.map((native) => places.get(native)).filter((place) => place !== undefined);
  if (kept.some((place, index) => place <= (kept[index - 1] ?? -1))) broken.push(["order", kept.join(" ")]);
  const made = natives.length - kept.length;
  if (made > report.clearedCount + report.elidedCount + 1) broken.push(["own objects", `${made} new ones`]);
  const present = new Set(natives);
  const lost = pinned(messages).filter(({ native }) => !present.has(native));
  if (lost.length > 0) broken.push(["pinned stay", lost.map(({ id }) => id).join(" ")]);
  const after = markSummaries(decode(natives, options.format));
  const summaries = after.filter((message) => messageText(message).startsWith("<COMPACT-SUMMARY v"));
  if (summaries.length > 1) broken.push(["one summary", `${summaries.length}`]);
  return [...broken, ...checkAsk(messages, after, report.elidedCount > 0)];
}

/** The newest ask is the caller's own object, or, where texts were cut, begins as it did. */
function checkAsk(before: readonly Message[], after: readonly Message[], cut: boolean): Broken[] {
  const ask = before[newestAsk(before)];
  if (ask === undefined || after.some(({ native }) => native === ask.native)) return [];
  const left = after[newestAsk(after)];
  const [head = ""] = messageText(ask);
  const same = cut && left !== undefined && messageText(left).startsWith(head);
  return same ? [] : [["newest ask", messageText(ask).slice(0, 80)]];
}

/** What was made to fit is left alone. */
async function checkAgain(natives: readonly unknown[], options: SoakRoundOptions): Promise<Broken[]> {
  const { targetTokens: _aim, ...again } = options;
  const result = await compact(natives, again).catch((error: unknown) => error);
  return isResult(result) && result.messages === natives
    ? []
    : [["second is identity", isResult(result) ? "another list" : String(result)]];
}
