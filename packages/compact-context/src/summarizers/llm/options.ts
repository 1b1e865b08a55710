import type { TextModel } from "../../core/ports.ts";
import { CompactError } from "../../errors.ts";
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

/** Throws `InvalidArgument` for a model without the required methods and for invalid times. */
export function checkOptions(options: ModelSummarizerOptions): void {
  for (const [index, model] of [options.model, ...(options.fallbackModels ?? [])].entries()) {
    if (typeof (model as Partial<TextModel> | undefined)?.generate === "function") continue;
    const name = index === 0 ? "model" : `fallbackModels[${index - 1}]`;
    const hint = "Pass an object { name, generate(request) } that calls your provider.";
    throw invalid(name, "a summarizer needs a model with a generate function", hint);
  }
  for (const [name, allowed] of Object.entries(CHOICES)) {
    const value = options[name as keyof typeof CHOICES];
    if (value === undefined || allowed.includes(value)) continue;
    throw invalid(
      name,
      `${name} must be one of ${allowed.join(", ")}`,
      "Leave it out for the first of them.",
    );
  }
  for (const name of ["deadlineMs", "attemptDeadlineMs"] as const) {
    const value = options[name];
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw invalid(name, `${name} must be a positive number`, "Leave it out for the default.");
  }
}

const CHOICES: Readonly<Record<"verify" | "input", readonly string[]>> = {
  verify: ["flag", "remove", "off"],
  input: ["text", "prefix"],
};

function invalid(name: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidArgument", problem, { place: `options.${name}`, hint });
}
