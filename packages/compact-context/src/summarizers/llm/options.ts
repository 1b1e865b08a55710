import type { TextModel } from "../../core/ports.ts";
import { CompactError } from "../../errors.ts";
import { lookUpModel } from "../../tokens/models.ts";
import type { PromptTemplates } from "./prompts.ts";

export interface ModelSummarizerOptions {
  /** Tried first; may be cheaper than the agent's own. */
  readonly model: TextModel;
  /** Tried in order, each after the previous one fails. */
  readonly fallbackModels?: readonly TextModel[];
  /**
   * Handling of claims (paths, identifiers, numbers, URLs, quotes, words attributed to the user, check
   * outcomes) that the source does not support: `flag` (default) lists them below the notes, `remove` deletes
   * the phrase, `off` skips the check.
   */
  readonly verify?: "flag" | "remove" | "off";
  /**
   * `text` (default) writes the messages out; `prefix` appends the request to the agent's live conversation,
   * if the model supports it and it fits, so that the provider's cache is hit.
   */
  readonly input?: "text" | "prefix";
  /** The caller's prompts, used instead of ours. */
  readonly templates?: PromptTemplates;
  /** Redacts the messages before they are written out. Default: the built-in patterns. */
  readonly redact?: (text: string) => string;
  /** False: only the model's prose, without the extracted sections. */
  readonly ledger?: boolean;
  /** Milliseconds for all attempts together. Default: those of six attempts. */
  readonly deadlineMs?: number;
  /**
   * Milliseconds for one attempt with up to 25,000 input tokens, proportionally more for longer ones.
   * Default: each model's equal share of `deadlineMs`, or 10,000 without `deadlineMs`.
   */
  readonly attemptDeadlineMs?: number;
  readonly seed?: number;
  /** Default: 0. */
  readonly temperature?: number;
  /** The name in reports. Default: the model's. */
  readonly name?: string;
}

/** SUM-12: what a fast model needs for a summary of ordinary size, and that size. */
const ATTEMPT_MS = 10_000;
const ORDINARY_TOKENS = 25_000;
/** Number of attempts covered by the default deadline. */
const ATTEMPTS = 6;

/** Time limits of a summary and of its single requests. */
export interface Deadlines {
  /** Milliseconds for all attempts at a summary of this many tokens. */
  total(inputTokens: number): number;
  /** Milliseconds for one request with this many input tokens. */
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

/** Input and output tokens together; from the model table unless the model states it. */
export function windowOf(model: TextModel): number {
  return model.window ?? lookUpModel(model.name.slice(model.name.indexOf(":") + 1)).window;
}

/** Throws `InvalidArgument` for a model without the required methods and for invalid times. */
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
