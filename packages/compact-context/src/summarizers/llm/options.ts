import type { TextModel } from "../../core/ports.ts";
import { CompactError, MAX_TIMER_MS } from "../../errors.ts";
import { lookUpModel } from "../../tokens/models.ts";
import type { PromptTemplates } from "./prompts.ts";

export interface ModelSummarizerOptions {
  /** Asked first; may be cheaper than the agent's own. */
  readonly model: TextModel;
  /** Asked in turn where the one before fails. */
  readonly fallbackModels?: readonly TextModel[];
  /**
   * What happens to claims (paths, identifiers, numbers, URLs, quotes, words put into the user's mouth, how checks
   * ended) that the source does not hold: `flag` (default) lists them below the notes, `remove` takes the phrase out,
   * `off` does not look.
   */
  readonly verify?: "flag" | "remove" | "off";
  /**
   * `text` (default) writes the messages out; `prefix` puts the request behind the agent's live conversation, where
   * the model can do that and it fits, so that the provider's cache serves it.
   */
  readonly input?: "text" | "prefix";
  /** The caller's own requests in place of ours. */
  readonly templates?: PromptTemplates;
  /** Takes secrets out of the messages before they are written out; the built-in patterns when left out. */
  readonly redact?: (text: string) => string;
  /** False: the model's prose alone, without the sections that a program fills. */
  readonly ledger?: boolean;
  /** Milliseconds for all attempts together; when left out, those of six attempts. */
  readonly deadlineMs?: number;
  /**
   * Milliseconds for one attempt that reads up to 25,000 tokens, and in proportion more for one that reads more. When
   * left out, each model has an equal share of `deadlineMs`, or 10,000 where that is left out too.
   */
  readonly attemptDeadlineMs?: number;
  readonly seed?: number;
  /** 0 when left out. */
  readonly temperature?: number;
  /** The name in reports; the model's when left out. */
  readonly name?: string;
  readonly time?: Partial<TimePorts>;
}

/** SUM-12: what a fast model needs for a summary of ordinary size, and what is ordinary. */
const ATTEMPT_MS = 10_000;
const ORDINARY_TOKENS = 25_000;
/** Attempts that all together have time for, where nobody says how long they may take. */
const ATTEMPTS = 6;

/** How long a summary and its single requests may take. */
export interface Deadlines {
  /** Milliseconds for all attempts at a summary of so many tokens. */
  total(inputTokens: number): number;
  /** Milliseconds for one request that reads so many tokens. */
  attempt(inputTokens: number): number;
}

export function deadlinesOf({
  attemptDeadlineMs,
  deadlineMs,
  fallbackModels,
}: ModelSummarizerOptions): Deadlines {
  const attempt = (tokens: number): number => {
    if (attemptDeadlineMs === undefined && deadlineMs !== undefined) {
      return Math.ceil(deadlineMs / (1 + (fallbackModels?.length ?? 0)));
    }
    return (attemptDeadlineMs ?? ATTEMPT_MS) * Math.max(1, tokens / ORDINARY_TOKENS);
  };
  return { attempt, total: (tokens) => deadlineMs ?? ATTEMPTS * attempt(tokens) };
}

/** Tokens of input and output together; the table's where the model does not say. */
export function windowOf(model: TextModel): number {
  return model.window ?? lookUpModel(model.name.slice(model.name.indexOf(":") + 1)).window;
}

/** Throws `InvalidArgument` for a model that cannot be asked and times that are no times. */
export function checkOptions(options: ModelSummarizerOptions): void {
  for (const [index, model] of [options.model, ...(options.fallbackModels ?? [])].entries()) {
    if (typeof (model as Partial<TextModel> | undefined)?.generate === "function") continue;
    throw new CompactError("InvalidArgument", "a summarizer needs a model with a generate function", {
      place: index === 0 ? "options.model" : `options.fallbackModels[${index - 1}]`,
      hint: "Pass an object { name, generate(request) } that calls your provider.",
    });
  }
  requireOneOf("verify", options.verify, ["flag", "remove", "off"]);
  requireOneOf("input", options.input, ["text", "prefix"]);
  for (const name of ["deadlineMs", "attemptDeadlineMs"] as const) {
    const value = options[name];
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw new CompactError("InvalidArgument", `${name} must be a positive number`, {
      place: `options.${name}`,
      hint: "Leave it out for the default.",
    });
  }
}

function requireOneOf(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  throw new CompactError("InvalidArgument", `${name} must be one of ${allowed.join(", ")}`, {
    place: `options.${name}`,
    hint: "Leave it out for the first of them.",
  });
}

/** Time as the summarizer sees it; everything may be replaced in tests. */
export interface TimePorts {
  /** Milliseconds of a steady clock. */
  readonly clock: () => number;
  /** Calls back once after so many milliseconds; the returned function prevents it. */
  readonly after: (milliseconds: number, callback: () => void) => () => void;
}

/** The platform's own time. */
export const platformTime: TimePorts = {
  clock: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, Math.min(milliseconds, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
