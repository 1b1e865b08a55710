import type { TextModel } from "../../core/ports.ts";
import type { TimePorts } from "../../summarizers/llm/options.ts";
import type { JsonShape } from "./answer-json.ts";

/** A small piece of work for a model, beside the run. */
export interface SidecarTask<T> {
  /** For people and records, such as `session-update`. */
  readonly name: string;
  readonly systemPrompt: string;
  readonly prompt: string;
  /**
   * Makes the output of an answer: of its JSON, mended and strict, where it holds some, else of its text. What it
   * throws is told to the model, which is asked once more.
   */
  readonly parse: (text: string) => T;
  /** What the JSON should be. */
  readonly shape?: JsonShape;
  /** 2,000 when left out. */
  readonly maxOutputTokens?: number;
  /** Milliseconds for all requests together; 30,000 when left out. */
  readonly deadlineMs?: number;
}

/** What became of a task. */
export interface SidecarRecord {
  readonly name: string;
  readonly model: string;
  /** `skipped`: the model failed too often of late to be asked. */
  readonly outcome: "done" | "failed" | "timeout" | "aborted" | "skipped";
  readonly milliseconds: number;
  readonly requests: number;
  /** The answer was taken, but was not strict JSON. */
  readonly repaired: boolean;
  /** As the provider counted them, else by our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What went wrong last. */
  readonly detail?: string;
}

/** An output with the answer it was made of; `output` is undefined exactly where the outcome is not `done`. */
export type SidecarOutcome<T> =
  | { readonly done: true; readonly output: T; readonly rawText: string; readonly record: SidecarRecord }
  | { readonly done: false; readonly output: undefined; readonly record: SidecarRecord };

export interface SidecarPorts {
  readonly model: TextModel;
  /** Takes secrets out of prompts; the built-in patterns when left out. */
  readonly redact?: (text: string) => string;
  readonly countText?: (text: string) => number;
  readonly time?: Partial<TimePorts>;
  /** Told of every task as it ends. */
  readonly onTask?: (record: SidecarRecord) => void;
}

/** Asks one model for one thing after another; what becomes of a task touches no other. */
export interface Sidecar {
  readonly model: TextModel;
  /** Never rejects. */
  run<T>(task: SidecarTask<T>, signal?: AbortSignal): Promise<SidecarOutcome<T>>;
}
