import { decode } from "compact-context/internal/codecs/formats";
import { type CompactOptions, compact } from "compact-context/internal/compact";
import { type Format, type Message, markSummaries } from "compact-context/internal/core/message";
import type { Summarizer } from "compact-context/internal/core/ports";
import type { CompactionResult } from "compact-context/internal/core/report";
import { CompactManager } from "compact-context/internal/create-manager";
import { CompactError } from "compact-context/internal/errors";
import {
  drawHistory,
  type SoakFixed,
  type SoakHistory,
  type SoakRound,
  type SoakSummarizer,
} from "./soak-history.ts";
import {
  type Broken,
  checkResult,
  countDecoded,
  newlyBroken,
  newlyRefused,
  pinned,
} from "./soak-promises.ts";
import { sealEntries } from "./soak-seal.ts";

/** A violation caused by a compaction. */
export interface SoakViolation {
  readonly format: Format;
  readonly seed: number;
  /** Number of the compaction in the history, from 0. */
  readonly round: number;
  /** A lint rule, a provider's invariant, or the name of another promise. */
  readonly promise: string;
  readonly detail: string;
}

/** Maximum entries of a history in each size class of the figures. */
export const SIZES: readonly number[] = [5, 10, 20, 50, 100, 200, Number.POSITIVE_INFINITY];

/** Outcome of one history. */
export interface SoakOutcome {
  readonly history: SoakHistory;
  /** Compactions that changed the list, and calls that changed nothing. */
  readonly compactions: number;
  readonly untouched: number;
  /** Codes of permitted errors. */
  readonly refusals: readonly string[];
  readonly violations: readonly SoakViolation[];
}

/** The host's two lists: the raw history, and the list it sends. */
interface Host {
  /** All entries so far, as the provider created them. */
  raw: readonly unknown[];
  /** The last returned list, and the newer entries. */
  own: readonly unknown[];
}

/** Result of one step, by `compact()` or by a manager. */
interface Step {
  readonly list: readonly unknown[];
  readonly broken: readonly Broken[];
  readonly refusal?: string;
  readonly compacted: boolean;
}

type Drive = (host: Host, round: SoakRound, number: number) => Promise<Step>;

/** Runs a seed's history through all of its compactions while it grows. */
export async function soakHistory(format: Format, seed: number, fixed: SoakFixed = {}): Promise<SoakOutcome> {
  const history = drawHistory(format, seed, fixed);
  const drive = history.drive === "manager" ? managerDrive(history) : compactDrive(history);
  const tally = { compactions: 0, untouched: 0, refusals: [] as string[], violations: [] as SoakViolation[] };
  const host: Host = { raw: [], own: [] };
  for (const [number, round] of history.rounds.entries()) {
    const said = history.list.slice(host.raw.length, round.end);
    const entries = history.model === undefined ? said : sealEntries(host.own, said);
    host.raw = [...host.raw, ...entries];
    host.own = [...host.own, ...entries];
    const step = await drive(host, round, number);
    for (const [promise, detail] of step.broken) {
      tally.violations.push({ format, seed, round: number, promise, detail });
    }
    if (step.refusal !== undefined) tally.refusals.push(step.refusal);
    else if (step.compacted) tally.compactions += 1;
    else tally.untouched += 1;
    host.own = step.list;
  }
  return { history, ...tally };
}

/** The options of a compaction; the format is explicit, never detected. */
export type SoakRoundOptions = CompactOptions & { readonly format: Format };

/** The remaining list, and the broken promises. */
export interface RoundOutcome {
  readonly list: readonly unknown[];
  readonly broken: readonly Broken[];
  readonly refusal?: string;
}

/** Each compaction gets the previous result and the newer entries. */
function compactDrive(history: SoakHistory): Drive {
  const { format, model, strategy } = history;
  const summarizer = summarizerOf(history.summarizer);
  return async (host, round) => {
    const messages = markSummaries(decode(host.own, format));
    const maxTokens = budgetFor(messages, history, round.share);
    const options: SoakRoundOptions = {
      format,
      maxTokens,
      strategy,
      model,
      summarizer,
      targetTokens: round.aim === undefined ? undefined : Math.max(1, Math.floor(maxTokens * round.aim)),
      onOverflow: round.onOverflow,
      policy: round.policy,
    };
    const step = await checkCompaction(host.own, options, { messages, raw: host.raw });
    return { ...step, compacted: step.list !== host.own };
  };
}

/** Compacts a list and checks the promises; returns the input list if it was refused. */
export async function checkCompaction(
  list: readonly unknown[],
  options: SoakRoundOptions,
  known: { readonly messages?: readonly Message[]; readonly raw?: readonly unknown[] } = {},
): Promise<RoundOutcome> {
  const { format, model, maxTokens } = options;
  const before = JSON.stringify(list);
  const result = await compact(list, options).catch((error: unknown) => error);
  const touched = checkInput(list, before);
  if (!isResult(result)) return refused(result, list, touched);
  const messages = known.messages ?? markSummaries(decode(list, format));
  const after = result.messages;
  if (after === list) return { list, broken: touched };
  const broken = [
    ...touched,
    ...newlyBroken(list, after, format),
    ...newlyRefused(list, after, { format, raw: known.raw ?? list, bound: model !== undefined }),
    ...checkResult({ format, model, list, messages, result, maxTokens }),
    ...(await checkAgain(after, options)),
  ];
  return { list: after, broken };
}

function checkInput(list: readonly unknown[], before: string): Broken[] {
  return JSON.stringify(list) === before ? [] : [["input untouched", "an entry changed"]];
}

function refused(error: unknown, list: readonly unknown[], touched: readonly Broken[]): RoundOutcome {
  const allowed = CompactError.isInstance(error) && error.code === "InsufficientBudget";
  if (allowed) return { list, broken: touched, refusal: error.code };
  return { list, broken: [...touched, ["no other error", String(error)]] };
}

function isResult(value: unknown): value is CompactionResult {
  return typeof value === "object" && value !== null && "report" in value;
}

/** A budget between the pinned tokens with a small margin, and all tokens. */
function budgetFor(
  messages: readonly Message[],
  { format, model }: Pick<SoakHistory, "format" | "model">,
  share: number,
): number {
  const all = countDecoded(messages, format, model);
  const least = countDecoded(pinned(messages), format, model) + 150;
  return Math.max(1, Math.floor(least + (share < 0 ? least : all - least) * share));
}

/** A list that already fits is unchanged. */
async function checkAgain(natives: readonly unknown[], options: SoakRoundOptions): Promise<Broken[]> {
  const { targetTokens: _aim, ...again } = options;
  const result = await compact(natives, again).catch((error: unknown) => error);
  return isResult(result) && result.messages === natives
    ? []
    : [["second is identity", isResult(result) ? "another list" : String(result)]];
}

/** Room for the answer in a manager's window. */
const BUFFER = 20;

/** One session of a manager, which alternately gets the whole list and its own last result. */
function managerDrive(history: SoakHistory): Drive {
  const { format, model, rounds } = history;
  const last = rounds.at(-1);
  const all = budgetFor(decode(history.list, format), history, last?.share ?? 1);
  const summarizer = summarizerOf(history.summarizer);
  const manager = new CompactManager(
    {
      model,
      maxContextTokens: all + BUFFER,
      policy: {
        ...last?.policy,
        hardCapBuffer: BUFFER,
        strategy: history.strategy,
        onOverflow: last?.onOverflow ?? "elide",
        // A target must be below the window, which may have room for a single token.
        targetContextTokens:
          last?.aim === undefined || all < 2 ? undefined : Math.max(1, Math.floor(all * last.aim)),
      },
      storage: { kind: "memory" },
      redaction: { enabled: history.redacts },
    },
    { onWarning: () => undefined, summarizer },
  );
  let sent: readonly string[] = [];
  return async (host, round, number) => {
    const given = round.gives === "own" ? host.own : number % 2 === 0 ? host.raw : structuredClone(host.raw);
    const before = JSON.stringify(given);
    const call = round.manual ? "manualCompact" : "preflight";
    const result = await manager[call]("s", given, { format }).catch((error: unknown) => error);
    const touched = checkInput(given, before);
    if (!isResult(result)) return { ...refused(result, host.own, touched), compacted: false };
    const after = result.messages;
    const { compacted } = result.report;
    const entries = after.map((entry) => JSON.stringify(entry));
    const broken = [
      ...touched,
      ...newlyBroken(given, after, format),
      ...newlyRefused(given, after, { format, raw: host.raw, bound: model !== undefined }),
      ...checkResult({
        format,
        model,
        list: given,
        messages: markSummaries(decode(given, format)),
        result,
        maxTokens: all,
        editedBefore: true,
      }),
      ...(compacted ? [] : checkPrefix(sent, entries)),
    ];
    sent = entries;
    return { list: after, broken, compacted };
  };
}

/** Between two compactions each list starts with the previous one, byte for byte. */
function checkPrefix(sent: readonly string[], entries: readonly string[]): Broken[] {
  const changed = sent.findIndex((entry, index) => entry !== entries[index]);
  return changed === -1 ? [] : [["stable prefix", `entry ${changed}: ${entries[changed]?.slice(0, 120)}`]];
}

/** Undefined for the built-in summarizer. */
function summarizerOf(kind: SoakSummarizer): Summarizer | undefined {
  if (kind === "builtin") return undefined;
  return {
    name: kind,
    async summarize(messages, { maxTokens, previous, countText }) {
      if (kind === "failing") throw new Error("the summarizer is not there");
      const told = `${previous === undefined ? "" : "Before. "}${messages.length} messages left: the parser, its tests.`;
      const text = kind === "empty" ? "" : told;
      const tokens = countText?.(text) ?? 0;
      return {
        text: tokens > maxTokens ? "" : text,
        tokens,
        summarizer: kind,
        messagesRead: messages.length,
      };
    },
  };
}
