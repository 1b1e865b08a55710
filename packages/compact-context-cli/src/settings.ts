import type { CompactConfig } from "compact-context/internal/config/settings";
import { budgetOf } from "compact-context/internal/core/policy";
import type { SummaryStrategy, TokenCounter } from "compact-context/internal/core/ports";
import { CompactError, closest } from "compact-context/internal/errors";
import { lookUpModel } from "compact-context/internal/tokens/models";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { readConfig } from "./files/config.ts";
import type { Flags } from "./flags.ts";
import type { CliPorts } from "./ports.ts";
import { parseTokens, parseTokensOrShare } from "./quantities.ts";
import { formatCount } from "./render/numbers.ts";
import type { Transcript } from "./transcripts/transcript.ts";

/** Everything that flags, configuration and the transcript decide together. */
export interface Settings {
  readonly config: CompactConfig;
  readonly model: string | undefined;
  /** The model's limit, and where that number comes from. */
  readonly window: number;
  readonly windowFrom: "--window" | "configuration" | "model" | "default" | "command";
  /** Most tokens of a request: the window less the buffer. */
  readonly budget: number;
  readonly counter: TokenCounter;
  /** System prompt and tool schemas, which stand beside the messages. */
  readonly fixedTokens: number;
  readonly tokensBefore: number;
  readonly target: number;
  /** Nobody named a target. */
  readonly targetIsDefault: boolean;
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

/** Without a target a compaction aims for this share of what there is. */
const DEFAULT_SHARE = 0.25;
/** A smaller aim than this is only taken when somebody asks for it: not even a summary has room in it. */
const LEAST_TARGET = 100;

interface Outside {
  readonly flags: Flags;
  readonly ports: Pick<CliPorts, "cwd" | "env">;
  warn(text: string): void;
}

/** What can be said before the transcript is read; throws `InvalidUsage` and `InvalidConfig`. */
export interface EarlySettings {
  readonly config: CompactConfig;
  readonly window: number | undefined;
  readonly strategy: SummaryStrategy;
  readonly onOverflow: "elide" | "error";
}

export function earlySettings({ flags, ports, warn }: Outside): EarlySettings {
  const { config, origins } = readConfig({ file: flags.config, cwd: ports.cwd, env: ports.env, warn });
  const window = flags.window === undefined ? undefined : parseTokens(flags.window, "--window");
  if (window !== undefined) checkTargetAgainst(window, flags.target);
  return {
    config,
    window,
    strategy: oneOf(flags.strategy, "--strategy", STRATEGIES) ?? config.policy.strategy,
    onOverflow:
      oneOf(flags["on-overflow"], "--on-overflow", ["elide", "error"] as const) ??
      (origins["policy.on_overflow"] === undefined ? "elide" : config.policy.onOverflow),
  };
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

function oneOf<T extends string>(
  given: string | undefined,
  flag: string,
  known: readonly T[],
): T | undefined {
  if (given === undefined) return undefined;
  const found = known.find((one) => one === given);
  if (found !== undefined) return found;
  const near = closest(given, known);
  throw new CompactError("InvalidUsage", `${flag} ${given}: there is no such choice`, {
    place: flag,
    hint: `${near === undefined ? "" : `Did you mean ${near}? `}Choose one of ${known.join(", ")}.`,
  });
}

/** All settings for a transcript; throws `InvalidUsage` for numbers that contradict each other. */
export function settingsFor(transcript: Transcript, early: EarlySettings, flags: Flags): Settings {
  const { config } = early;
  const model = flags.model ?? config.model ?? transcript.model;
  const { window, windowFrom } = windowOf(model, early, flags.window === undefined ? "command" : "--window");
  const budget = budgetOf(window, config.policy);
  if (budget <= 0) {
    throw new CompactError(
      "InvalidUsage",
      `a window of ${formatCount(window)} tokens leaves nothing beside the ${formatCount(config.policy.hardCapBuffer)} kept free for the answer`,
      {
        place: "--window",
        hint: "Raise --window, or lower policy.hard_cap_buffer (COMPACT_HARD_CAP_BUFFER).",
      },
    );
  }
  const counter = createTokenCounter({ models: config.models, format: transcript.list, model });
  const fixedTokens = counter.countSystem(transcript.system) + counter.countTools(transcript.tools);
  const tokensBefore = transcript.messages.reduce(
    (total, message) => total + counter.countMessage(message),
    fixedTokens + counter.perRequest,
  );
  const { strategy, onOverflow } = early;
  const target = targetOf(flags.target, { config, budget, tokensBefore });
  return {
    config,
    model,
    window,
    windowFrom,
    budget,
    counter,
    fixedTokens,
    tokensBefore,
    target,
    strategy,
    onOverflow,
    targetIsDefault: flags.target === undefined && config.policy.targetContextTokens === undefined,
  };
}

function windowOf(
  model: string | undefined,
  { window, config }: EarlySettings,
  setBy: "--window" | "command",
): Pick<Settings, "window" | "windowFrom"> {
  if (window !== undefined) return { window, windowFrom: setBy };
  if (config.maxContextTokens !== undefined) {
    return { window: config.maxContextTokens, windowFrom: "configuration" };
  }
  const found = lookUpModel(model ?? "", config.models);
  return { window: found.window, windowFrom: found.known ? "model" : "default" };
}

function targetOf(
  flag: string | undefined,
  { config, budget, tokensBefore }: Pick<Settings, "config" | "budget" | "tokensBefore">,
): number {
  const share = Math.max(LEAST_TARGET, Math.floor(tokensBefore * DEFAULT_SHARE));
  if (flag === undefined) return Math.min(budget, config.policy.targetContextTokens ?? share);
  const target = parseTokensOrShare(flag, "--target", tokensBefore);
  if (target <= budget || flag.trim().endsWith("%")) return Math.min(target, budget);
  throw new CompactError(
    "InvalidUsage",
    `--target ${flag} is over the budget of ${formatCount(budget)} tokens (the window less what is kept free)`,
    { place: "--target", hint: "Lower the target, or raise --window." },
  );
}
