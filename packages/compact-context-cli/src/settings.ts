import type { CompactConfig, SummaryStrategy } from "compact-context";
import { availableOf } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import { CompactError } from "compact-context/internal/errors";
import { lookUpModel } from "compact-context/internal/tokens/models";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { type CliConfig, type ConfigRequest, readConfig } from "./files/config.ts";
import { type Flags, oneOf } from "./flags.ts";
import type { Progress } from "./ports.ts";
import { formatCount, parseTokens, parseTokensOrShare } from "./render/text.ts";
import type { Transcript, UsageRecord } from "./transcripts/transcript.ts";

// What flags, settings files and the transcript decide together, before anything is compacted.

/** Everything that flags, configuration and the transcript decide together. */
export interface Settings {
  readonly config: CompactConfig;
  readonly model: string | undefined;
  /** The model's limit, and where that number comes from. */
  readonly window: number;
  readonly windowFrom: "--window" | "configuration" | "session" | "model" | "default" | "command";
  /** Most tokens of a request: the window less the buffer. */
  readonly budget: number;
  readonly counter: TokenCounter;
  /** System prompt and tool schemas, which stand beside the messages, those that the file does not hold too. */
  readonly fixedTokens: number;
  /** Those of them that only the provider's report tells of. */
  readonly unseenTokens: number;
  /** The newest usage that the provider reported in this session, beside our count of the same prompt. */
  readonly reported: ReportedUsage | undefined;
  readonly tokensBefore: number;
  readonly target: number;
  /** Nobody named a target. */
  readonly targetIsDefault: boolean;
  /** Nobody named a target, and the session is so far from its window that nothing needs to leave it. */
  readonly isFarFromFull: boolean;
  readonly strategy: SummaryStrategy;
  readonly onOverflow: "elide" | "error";
}

const STRATEGIES: readonly SummaryStrategy[] = [
  "task_state",
  "decision_log",
  "code_delta",
  "brief",
  "step_ledger",
  "requirements_ledger",
];

/** A count that the provider reported. */
interface ReportedUsage {
  readonly record: UsageRecord;
  /** Tokens of the prompt, and our count of the same messages. */
  readonly reported: number;
  readonly counted: number;
  /** The prompt was sent before the session's last compaction: what stands beside the messages is still the same. */
  readonly isEarlier: boolean;
}

/** Without a target a compaction aims for this share of what there is, or of where a compaction would start. */
const DEFAULT_SHARE = 0.5;
/** It leaves this share of the messages, however large what stands beside them is. */
const LEAST_SHARE = 0.25;
/** Messages after which the progress is told. */
const COUNTED_AT_ONCE = 64;
/** A smaller aim than this is only taken when somebody asks for it: not even a summary has room in it. */
const LEAST_TARGET = 100;

/** What can be said before the transcript is read; throws `InvalidUsage` and `InvalidConfig`. */
interface EarlySettings extends Pick<CliConfig, "config" | "origins"> {
  readonly window: number | undefined;
  readonly strategy: SummaryStrategy;
  readonly onOverflow: "elide" | "error";
}

export function earlySettings(request: ConfigRequest & { readonly flags: Flags }): EarlySettings {
  const { flags } = request;
  const { config, origins } = readConfig(request);
  const window = flags.window === undefined ? undefined : parseTokens(flags.window, "--window");
  if (window !== undefined) checkTargetAgainst(window, flags.target);
  return {
    config,
    origins,
    window,
    strategy: oneOf(flags.strategy, "--strategy", STRATEGIES) ?? config.policy.strategy,
    onOverflow: overflowOf(flags, { config, origins }),
  };
}

/** A person at a terminal wants a result: where nobody says what is to happen, what is too large is cut. */
export function overflowOf(
  flags: Flags,
  { config, origins }: Pick<CliConfig, "config" | "origins">,
): "elide" | "error" {
  return (
    oneOf(flags["on-overflow"], "--on-overflow", ["elide", "error"] as const) ??
    (origins["policy.on_overflow"] === undefined ? "elide" : config.policy.onOverflow)
  );
}

function checkTargetAgainst(window: number, target: string | undefined): void {
  if (target === undefined || target.trim().endsWith("%")) return;
  const tokens = parseTokens(target, "--target");
  if (tokens < window) return;
  throw new CompactError(
    "InvalidUsage",
    `--target ${target} is not below --window: ${formatCount(tokens)} of ${formatCount(window)} tokens`,
    { place: "--target", hint: "The target must fit into the window: lower it, or raise --window." },
  );
}

/** All settings for a transcript; throws `InvalidUsage` for numbers that contradict each other. */
export function settingsFor(
  transcript: Transcript,
  early: EarlySettings,
  flags: Flags,
  progress?: Pick<Progress, "show">,
): Settings {
  const { config, strategy, onOverflow } = early;
  const model = flags.model ?? config.model ?? transcript.model;
  const counter = createTokenCounter({ models: config.models, format: transcript.list, model });
  const own = counter.countSystem(transcript.system) + counter.countTools(transcript.tools);
  const reported = newestUsage(transcript, counter, own + counter.perRequest);
  // A report may raise a count, never lower it: what the messages hold is known.
  const unseenTokens = reported === undefined ? 0 : Math.max(0, reported.reported - reported.counted);
  const fixedTokens = own + unseenTokens;
  const { messages } = transcript;
  let tokensBefore = fixedTokens + counter.perRequest;
  for (const [index, message] of messages.entries()) {
    tokensBefore += counter.countMessage(message);
    if (index % COUNTED_AT_ONCE === 0) progress?.show("counting tokens", index / messages.length);
  }
  const { window, windowFrom } = windowOf(model, early, {
    setBy: flags.window === undefined ? "command" : "--window",
    session: transcript.window,
  });
  const budget = availableOf(window, config.policy);
  if (budget <= 0) throw noRoom(window, config.policy.hardCapBuffer);
  const target = targetOf(flags.target, { config, budget, tokensBefore, unseenTokens, window });
  const targetIsDefault = flags.target === undefined && config.policy.targetContextTokens === undefined;
  return {
    config,
    model,
    window,
    windowFrom,
    budget,
    counter,
    fixedTokens,
    unseenTokens,
    reported,
    tokensBefore,
    target,
    strategy,
    onOverflow,
    targetIsDefault,
    isFarFromFull: targetIsDefault && tokensBefore <= usualTarget(config, budget, window),
  };
}

function noRoom(window: number, buffer: number): CompactError {
  return new CompactError(
    "InvalidUsage",
    `a window of ${formatCount(window)} tokens leaves nothing beside the ${formatCount(buffer)} kept free for the answer`,
    {
      place: "--window",
      hint: "Raise --window, or lower policy.hard_cap_buffer (COMPACT_HARD_CAP_BUFFER).",
    },
  );
}

/** What the provider reported last, where the file says so. */
function newestUsage(
  { usage, segments }: Transcript,
  counter: TokenCounter,
  fixed: number,
): ReportedUsage | undefined {
  const record = usage.findLast(({ promptTokens }) => (promptTokens ?? 0) > 0);
  const segment = segments[record?.segment ?? -1];
  if (record?.promptTokens === undefined || segment === undefined) return undefined;
  const { messages, carried } = segment;
  // Messages that a compaction kept still carry the report of the list before it.
  if (carried === 0 && messages.some(({ meta }) => meta?.summaryVersion !== undefined)) return undefined;
  const prompt = messages.slice(0, record.index);
  const counted = prompt.reduce((total, message) => total + counter.countMessage(message), fixed);
  const isEarlier = record.segment < segments.length - 1;
  return { record, reported: record.promptTokens, counted, isEarlier };
}

function windowOf(
  model: string | undefined,
  { window, config }: EarlySettings,
  { setBy, session }: { readonly setBy: "--window" | "command"; readonly session: number | undefined },
): Pick<Settings, "window" | "windowFrom"> {
  if (window !== undefined) return { window, windowFrom: setBy };
  if (config.maxContextTokens !== undefined) {
    return { window: config.maxContextTokens, windowFrom: "configuration" };
  }
  if (session !== undefined) return { window: session, windowFrom: "session" };
  const found = lookUpModel(model ?? "", config.models);
  return { window: found.window, windowFrom: found.known ? "model" : "default" };
}

/** How the aim was chosen that nobody named. */
export function aimWords({ target, budget, window, config }: Settings): string {
  if (target >= budget) return "all that a request may have";
  return target > usualTarget(config, budget, window)
    ? "a quarter of the messages, as less loses too much at once"
    : "half of what there was, at most half of where a compaction starts";
}

/** Half of what there is when a compaction starts. */
function usualTarget({ policy }: CompactConfig, budget: number, window: number): number {
  return Math.floor(Math.min(budget, window * policy.triggerPct) * DEFAULT_SHARE);
}

/** Shares are of what can leave: what stands beside the messages stays, whatever is aimed for. */
function targetOf(
  flag: string | undefined,
  sizes: Pick<Settings, "config" | "budget" | "window" | "tokensBefore" | "unseenTokens">,
): number {
  const { config, budget, tokensBefore, unseenTokens, window } = sizes;
  const left = tokensBefore - unseenTokens;
  if (flag === undefined) {
    const most = usualTarget(config, budget, window);
    const half = Math.min(most, unseenTokens + Math.floor(left * DEFAULT_SHARE));
    const least = unseenTokens + Math.max(LEAST_TARGET, Math.floor(left * LEAST_SHARE));
    const usual = tokensBefore <= most ? most : Math.max(half, least);
    return Math.min(budget, config.policy.targetContextTokens ?? usual);
  }
  const isShare = flag.trim().endsWith("%");
  const target = parseTokensOrShare(flag, "--target", left) + (isShare ? unseenTokens : 0);
  if (target <= budget || isShare) return Math.min(target, budget);
  throw new CompactError(
    "InvalidUsage",
    `--target ${flag} is over the budget of ${formatCount(budget)} tokens (the window less what is kept free)`,
    { place: "--target", hint: "Lower the target, or raise --window." },
  );
}

/** What the messages may have of the aim: were it nothing, all of them would go for what no compaction removes. */
export function messagesTarget({ target, unseenTokens, tokensBefore }: Settings): number {
  const least = Math.floor((tokensBefore - unseenTokens) * LEAST_SHARE);
  return Math.max(1, target - unseenTokens, Math.min(target, least));
}

/** The same settings as if the file held all that its provider counted: for what plays the messages alone. */
export function countedAlone(settings: Settings): Settings {
  const { unseenTokens, fixedTokens, tokensBefore } = settings;
  return {
    ...settings,
    unseenTokens: 0,
    fixedTokens: fixedTokens - unseenTokens,
    tokensBefore: tokensBefore - unseenTokens,
  };
}
