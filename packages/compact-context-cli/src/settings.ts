import type { CompactConfig, SummaryStrategy } from "compact-context";
import { availableOf } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import { lookUpModel } from "compact-context/internal/tokens/models";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { type CliConfig, type ConfigRequest, readConfig } from "./files/config.ts";
import { type Flags, misuse, oneOf } from "./flags.ts";
import type { Progress } from "./ports.ts";
import { formatCount, parseTokens, parseTokensOrShare } from "./render/text.ts";
import { providerOf, type Transcript, type UsageRecord } from "./transcripts/transcript.ts";

// The settings of a compaction from flags, configuration and transcript.

export interface Settings {
  readonly config: CompactConfig;
  readonly model: string | undefined;
  /** Context window in tokens, and its source. */
  readonly window: number;
  readonly windowFrom: "--window" | "configuration" | "session" | "model" | "family" | "default" | "command";
  /** Maximum tokens of a request: the window less the buffer. */
  readonly budget: number;
  readonly counter: TokenCounter;
  /** Tokens of system prompt and tool schemas, with `unseenTokens`. */
  readonly fixedTokens: number;
  /** Fixed tokens that are not in the file, derived from the provider's usage. */
  readonly unseenTokens: number;
  /** The newest usage in the session, beside our count of the same prompt. */
  readonly reported: ReportedUsage | undefined;
  readonly tokensBefore: number;
  readonly target: number;
  /** True if no target is configured. */
  readonly targetIsDefault: boolean;
  /** True if no target is configured and the session is too small to need a compaction. */
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

interface ReportedUsage {
  readonly record: UsageRecord;
  /** Tokens of the prompt as reported, and as counted here. */
  readonly reported: number;
  readonly counted: number;
  /** True for a prompt before the session's last compaction; its fixed tokens still apply. */
  readonly isEarlier: boolean;
}

/** Default target as a share of the session, or of the size that triggers a compaction. */
const DEFAULT_SHARE = 0.5;
/** Minimum share of the messages that a default target keeps. */
const MIN_SHARE = 0.25;
/** Messages between two progress updates. */
const PROGRESS_STEP = 64;
/** Minimum default target; below it not even a summary fits. */
const MIN_TARGET = 100;

interface EarlySettings extends Pick<CliConfig, "config" | "origins"> {
  readonly window: number | undefined;
  readonly strategy: SummaryStrategy;
  readonly onOverflow: "elide" | "error";
}

/** The settings that do not need the transcript; throws `InvalidUsage` and `InvalidConfig`. */
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

/** The command elides by default, where the library throws. */
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
  const problem = `--target ${target} is not below --window: ${formatCount(tokens)} of ${formatCount(window)} tokens`;
  throw misuse(problem, "Lower --target, or raise --window.", "--target");
}

/** The settings for a transcript; throws `InvalidUsage` for contradictory sizes. */
export function settingsFor(
  transcript: Transcript,
  early: EarlySettings,
  flags: Flags,
  progress?: Pick<Progress, "show">,
): Settings {
  const { config, strategy, onOverflow } = early;
  const model = flags.model ?? config.model ?? transcript.model;
  const counter = createTokenCounter({ models: config.models, format: providerOf(transcript), model });
  const own = counter.countSystem(transcript.system) + counter.countTools(transcript.tools);
  const reported = newestUsage(transcript, counter, own + counter.perRequest);
  // Usage may raise a count but never lower it, as the messages are known.
  const unseenTokens = reported === undefined ? 0 : Math.max(0, reported.reported - reported.counted);
  const fixedTokens = own + unseenTokens;
  const { messages } = transcript;
  let tokensBefore = fixedTokens + counter.perRequest;
  for (const [index, message] of messages.entries()) {
    tokensBefore += counter.countMessage(message);
    if (index % PROGRESS_STEP === 0) progress?.show("counting tokens", index / messages.length);
  }
  const setBy = flags.window === undefined ? "command" : "--window";
  const { window, windowFrom } =
    early.window === undefined
      ? usualWindow(model, config, transcript.window)
      : ({ window: early.window, windowFrom: setBy } as const);
  const budget = availableOf(window, config.policy);
  if (budget <= 0) {
    const problem = `a window of ${formatCount(window)} tokens leaves nothing besides the ${formatCount(config.policy.hardCapBuffer)} reserved for the answer`;
    const hint = "Raise --window, or lower policy.hard_cap_buffer (COMPACT_HARD_CAP_BUFFER).";
    throw misuse(problem, hint, "--window");
  }
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

/** The last usage in the file, if any. */
function newestUsage(
  { usage, segments }: Transcript,
  counter: TokenCounter,
  fixed: number,
): ReportedUsage | undefined {
  const record = usage.at(-1);
  const segment = segments[record?.segment ?? -1];
  if (record === undefined || segment === undefined) return undefined;
  const { messages, carried } = segment;
  // Messages kept by a compaction still carry the usage of the list before it.
  if (carried === 0 && messages.some(({ meta }) => meta?.summaryVersion !== undefined)) return undefined;
  const prompt = messages.slice(0, record.index);
  const counted = prompt.reduce((total, message) => total + counter.countMessage(message), fixed);
  const isEarlier = record.segment < segments.length - 1;
  return { record, reported: record.promptTokens, counted, isEarlier };
}

function usualWindow(
  model: string | undefined,
  config: CompactConfig,
  session: number | undefined,
): Pick<Settings, "window" | "windowFrom"> {
  if (config.maxContextTokens !== undefined) {
    return { window: config.maxContextTokens, windowFrom: "configuration" };
  }
  if (session !== undefined) return { window: session, windowFrom: "session" };
  const found = lookUpModel(model ?? "", config.models);
  const known = found.found === "family" ? "family" : "model";
  return { window: found.window, windowFrom: found.known ? known : "default" };
}

/** How the default target was chosen. */
export function aimWords({ target, budget, window, config, unseenTokens }: Settings): string {
  if (target >= budget) return "the whole budget";
  const most = usualTarget(config, budget, window);
  if (target === most) return "half of the size that triggers a compaction";
  if (target > most) return "a quarter of the messages, to not lose too much at once";
  return unseenTokens === 0
    ? "half of the session"
    : "half of what the file holds, and all that it does not contain";
}

/** Half of the size that triggers a compaction. */
function usualTarget({ policy }: CompactConfig, budget: number, window: number): number {
  return Math.floor(Math.min(budget, window * policy.triggerPct) * DEFAULT_SHARE);
}

/** Shares are of the tokens without the unseen ones, which no compaction can remove. */
function targetOf(
  flag: string | undefined,
  sizes: Pick<Settings, "config" | "budget" | "window" | "tokensBefore" | "unseenTokens">,
): number {
  const { config, budget, tokensBefore, unseenTokens, window } = sizes;
  const left = tokensBefore - unseenTokens;
  if (flag === undefined) {
    const most = usualTarget(config, budget, window);
    const half = Math.min(most, unseenTokens + Math.floor(left * DEFAULT_SHARE));
    const least = unseenTokens + Math.max(MIN_TARGET, Math.floor(left * MIN_SHARE));
    const usual = tokensBefore <= most ? most : Math.max(half, least);
    return Math.min(budget, config.policy.targetContextTokens ?? usual);
  }
  const isShare = flag.trim().endsWith("%");
  const target = parseTokensOrShare(flag, "--target", left) + (isShare ? unseenTokens : 0);
  if (target <= budget || isShare) return Math.min(target, budget);
  const problem = `--target ${flag} is over the budget of ${formatCount(budget)} tokens (the window less the buffer)`;
  throw misuse(problem, "Lower the target, or raise --window.", "--target");
}

/** The messages' part of the target, with a minimum: a compaction cannot make up for large unseen tokens. */
export function messagesTarget({ target, unseenTokens, tokensBefore }: Settings): number {
  const least = Math.floor((tokensBefore - unseenTokens) * MIN_SHARE);
  return Math.max(1, target - unseenTokens, Math.min(target, least));
}
