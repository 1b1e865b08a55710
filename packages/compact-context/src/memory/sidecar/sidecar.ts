import type { TextModel, TextModelAnswer, TextModelMessage } from "../../core/ports.ts";
import { CompactError, errorMessage, platform, requireOptions } from "../../errors.ts";
import { redact as redactBuiltIn } from "../../redaction/redactor.ts";
import { ask, createBreaker } from "../../summarizers/llm/asking.ts";
import { fallbackTokens, normalizeUsage } from "../../tokens/usage.ts";
import { answerJson, type JsonShape } from "./answer-json.ts";

/** A small task for a model, outside the run. */
export interface SidecarTask<T> {
  /** For people and records, such as `session-update`. */
  readonly name: string;
  readonly systemPrompt: string;
  readonly prompt: string;
  /**
   * Parses the answer: its JSON, repaired, if there is any, else its text. If it throws, the model is asked
   * once more with the error.
   */
  readonly parse: (text: string) => T;
  /** Expected shape of the JSON. */
  readonly shape?: JsonShape;
  /** Default: 2,000. */
  readonly maxOutputTokens?: number;
  /** Milliseconds for all requests together. Default: 30,000. */
  readonly deadlineMs?: number;
}

export interface SidecarRecord {
  readonly name: string;
  readonly model: string;
  /** `skipped`: the model failed too often recently, so it was not called. */
  readonly outcome: "done" | "failed" | "timeout" | "aborted" | "skipped";
  readonly milliseconds: number;
  readonly requests: number;
  /** The answer was accepted but was not strict JSON. */
  readonly repaired: boolean;
  /** As reported by the provider, else our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The last error. */
  readonly detail?: string;
}

/** An output with the answer it was parsed from; `output` is defined only if the outcome is `done`. */
export type SidecarOutcome<T> =
  | { readonly done: true; readonly output: T; readonly rawText: string; readonly record: SidecarRecord }
  | { readonly done: false; readonly output: undefined; readonly record: SidecarRecord };

interface SidecarPorts {
  readonly model: TextModel;
  /** Redacts prompts. Default: the built-in patterns. */
  readonly redact?: (text: string) => string;
  /** Called with the record of every finished task. */
  readonly onTask?: (record: SidecarRecord) => void;
}

/** Runs tasks with one model. Tasks are independent, but repeated failures skip the model for a while. */
export interface Sidecar {
  readonly model: TextModel;
  /** Never rejects. */
  run<T>(task: SidecarTask<T>, signal?: AbortSignal): Promise<SidecarOutcome<T>>;
}

const MAX_OUTPUT_TOKENS = 2_000;
const DEADLINE_MS = 30_000;
/** The first request, and one retry with the error. */
const MOST_REQUESTS = 2;
/** Maximum characters of a wrong answer shown to the model in the retry. */
const SHOWN = 4_000;

/** Creates a task runner; the only state shared by tasks is whether the model is available. */
export function createSidecar(ports: SidecarPorts): Sidecar {
  requireOptions(ports, "ports", "Pass the model that small tasks go to: { model }.");
  const { model, redact = redactBuiltIn } = ports;
  const breaker = createBreaker();

  /** One request; the model's answer, or the failure. */
  const request = async (
    task: SidecarTask<unknown>,
    messages: readonly TextModelMessage[],
    spent: { readonly start: number; requests: number },
    signal: AbortSignal | undefined,
  ): Promise<TextModelAnswer | Failure> => {
    const { deadlineMs = DEADLINE_MS, maxOutputTokens = MAX_OUTPUT_TOKENS } = task;
    const late: Failure = { outcome: "timeout", detail: `took longer than ${deadlineMs} ms` };
    const milliseconds = deadlineMs - (platform.clock() - spent.start);
    if (signal?.aborted === true) return ABORTED;
    if (milliseconds <= 0) return late;
    if (!breaker.allows()) return SKIPPED;
    spent.requests += 1;
    const asking = { messages, maxOutputTokens, temperature: 0 };
    const asked = await ask(model, asking, { milliseconds, signal }).catch(() => undefined);
    if (asked === undefined) {
      breaker.undecided();
      return ABORTED;
    }
    if (asked.kind === "answer") {
      breaker.succeeded();
      const { text } = asked.answer;
      return { ...asked.answer, text: typeof text === "string" ? text : "" };
    }
    breaker.failed();
    return asked.kind === "timeout" ? late : { outcome: "failed", detail: errorMessage(asked.error) };
  };

  const run = async <T>(task: SidecarTask<T>, signal?: AbortSignal): Promise<SidecarOutcome<T>> => {
    const spent = { start: platform.clock(), requests: 0, inputTokens: 0, outputTokens: 0 };
    const recorded = (
      outcome: SidecarRecord["outcome"],
      repaired = false,
      detail?: string,
    ): SidecarRecord => {
      const { start, ...counts } = spent;
      const milliseconds = platform.clock() - start;
      const record = {
        name: task.name,
        model: model.name,
        outcome,
        milliseconds,
        repaired,
        ...counts,
        detail,
      };
      tell(ports, record);
      return record;
    };
    const failed = ({ outcome, detail }: Failure): SidecarOutcome<T> => ({
      done: false,
      output: undefined,
      record: recorded(outcome, false, detail),
    });
    const first: readonly TextModelMessage[] = [
      { role: "system", content: redact(task.systemPrompt) },
      { role: "user", content: redact(task.prompt) },
    ];
    let messages = first;
    let wrong = "";
    for (let round = 1; round <= MOST_REQUESTS; round += 1) {
      const answer = await request(task, messages, spent, signal);
      if ("outcome" in answer) return failed(answer);
      const { input, output } = await tokensOf(messages, answer);
      spent.inputTokens += input;
      spent.outputTokens += output;
      const read = readAnswer(task, answer);
      if ("output" in read)
        return {
          done: true,
          output: read.output,
          rawText: answer.text,
          record: recorded("done", read.repaired),
        };
      wrong = read.wrong;
      messages = [...first, ...correction(answer.text, wrong)];
    }
    return failed({ outcome: "failed", detail: wrong });
  };
  return { model, run };
}

interface Failure {
  readonly outcome: "failed" | "timeout" | "aborted" | "skipped";
  readonly detail: string;
}

const ABORTED: Failure = { outcome: "aborted", detail: "its caller gave it up" };
const SKIPPED: Failure = { outcome: "skipped", detail: "the model failed too often of late" };

function tell({ onTask }: SidecarPorts, record: SidecarRecord): void {
  try {
    onTask?.(record);
  } catch {
    // A listener's error must not affect the task.
  }
}

/** As reported by the provider; else counted with o200k_base, which is loaded only then. */
async function tokensOf(
  messages: readonly TextModelMessage[],
  { text, usage }: TextModelAnswer,
): Promise<{ readonly input: number; readonly output: number }> {
  const reported = usage === undefined ? undefined : normalizeUsage(usage);
  if (reported !== undefined) return reported;
  const count = await import("../../tokens/encodings/o200k-base.ts").then(
    ({ o200kBase }) => o200kBase.count,
    () => fallbackTokens,
  );
  return { input: messages.reduce((sum, { content }) => sum + count(content), 0), output: count(text) };
}

function readAnswer<T>(
  task: SidecarTask<T>,
  { text, stop }: TextModelAnswer,
): { readonly output: T; readonly repaired: boolean } | { readonly wrong: string } {
  if (stop === "refusal") return { wrong: "the model refused" };
  const json = answerJson(text, task.shape);
  if (json === undefined && task.shape !== undefined)
    return { wrong: text.trim() === "" ? "the answer was empty" : "the answer holds no JSON" };
  try {
    return { output: task.parse(json?.text ?? text), repaired: json?.repaired ?? false };
  } catch (error) {
    return { wrong: stop === "length" ? `it was cut off: ${errorMessage(error)}` : errorMessage(error) };
  }
}

function correction(answer: string, wrong: string): readonly TextModelMessage[] {
  const content = `That answer cannot be used: ${wrong}. Answer again, shorter if it was cut off, with nothing but the JSON that was asked for.`;
  const shown = answer.trim() === "" ? "(nothing)" : answer.slice(0, SHOWN);
  return [
    { role: "assistant", content: shown },
    { role: "user", content },
  ];
}

/**
 * Runs one task with its own model. Rejects with `SummarizerFailed` if no usable answer came in time, and
 * with `Aborted` if the signal aborts.
 */
export async function runSidecarTask<T>(
  task: SidecarTask<T> & SidecarPorts & { readonly signal?: AbortSignal },
): Promise<{ readonly output: T; readonly rawText: string; readonly record: SidecarRecord }> {
  const outcome = await createSidecar(task).run(task, task.signal);
  if (outcome.done) {
    const { output, rawText, record } = outcome;
    return { output, rawText, record };
  }
  const { record } = outcome;
  throw new CompactError(
    record.outcome === "aborted" ? "Aborted" : "SummarizerFailed",
    `the task ${task.name} ${record.outcome}: ${record.detail ?? "no reason is known"}`,
    { hint: "Nothing was changed; ask again, or go on without it." },
  );
}
