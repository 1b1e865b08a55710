import type { TextModel, TextModelAnswer, TextModelMessage } from "../../core/ports.ts";
import { CompactError, errorMessage, requireOptions } from "../../errors.ts";
import { redact as redactBuiltIn } from "../../redaction/redactor.ts";
import { platformTime, type TimePorts } from "../../summarizers/llm/options.ts";
import { ask, type Breaker, createBreaker } from "../../summarizers/llm/run.ts";
import { fallbackTokens, normalizeUsage } from "../../tokens/usage.ts";
import { answerJson, type JsonShape } from "./answer-json.ts";

const MAX_OUTPUT_TOKENS = 2_000;
const DEADLINE_MS = 30_000;
/** The task, and once more with a word about what was wrong. */
const MOST_REQUESTS = 2;
const BREAKER = { failures: 3, pauseMs: 60_000 };
/** Characters of a wrong answer that are shown to its writer. */
const SHOWN = 4_000;

/** A runner of tasks that remembers, across them, only whether its model is there at all. */
export function createSidecar(ports: SidecarPorts): Sidecar {
  requireOptions(ports, "ports", "Pass the model that small tasks go to: { model }.");
  const context: Context = {
    ports,
    time: { ...platformTime, ...ports.time },
    redact: ports.redact ?? redactBuiltIn,
    counter: async () => ports.countText ?? countDefault(),
    breaker: createBreaker(BREAKER),
  };
  return {
    model: ports.model,
    run: async (task, signal) => {
      const outcome = await runTask(task, signal, context);
      tell(ports, outcome.record);
      return outcome;
    },
  };
}

/**
 * One task with a model of its own. Rejects with `SummarizerFailed` when no answer could be used in time, and with
 * `Aborted` when the signal is.
 */
export async function runSidecarTask<T>(
  task: SidecarTask<T> & SidecarPorts & { readonly signal?: AbortSignal },
): Promise<{ readonly output: T; readonly rawText: string; readonly record: SidecarRecord }> {
  const { done, output, record, ...rest } = await createSidecar(task).run(task, task.signal);
  if (done) return { output, record, ...(rest as { rawText: string }) };
  const code = record.outcome === "aborted" ? "Aborted" : "SummarizerFailed";
  throw new CompactError(
    code,
    `the task ${task.name} ${record.outcome}: ${record.detail ?? "no reason is known"}`,
    {
      hint: "Nothing was changed; ask again, or go on without it.",
    },
  );
}

interface Context {
  readonly ports: SidecarPorts;
  readonly time: TimePorts;
  readonly redact: (text: string) => string;
  readonly counter: () => Promise<(text: string) => number>;
  readonly breaker: Breaker;
}

/** o200k_base, whose vocabulary is loaded for providers that report no usage only. */
async function countDefault(): Promise<(text: string) => number> {
  const loaded = import("../../tokens/encodings/o200k-base.ts");
  return loaded.then(
    ({ o200kBase }) => o200kBase.count,
    () => fallbackTokens,
  );
}

/** What a task used up so far. */
interface Spent {
  readonly startedAt: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
}

async function runTask<T>(
  task: SidecarTask<T>,
  signal: AbortSignal | undefined,
  context: Context,
): Promise<SidecarOutcome<T>> {
  const spent: Spent = { startedAt: context.time.clock(), requests: 0, inputTokens: 0, outputTokens: 0 };
  const ended = (outcome: SidecarRecord["outcome"], repaired: boolean, detail?: string): SidecarRecord => ({
    name: task.name,
    model: context.ports.model.name,
    outcome,
    milliseconds: context.time.clock() - spent.startedAt,
    requests: spent.requests,
    repaired,
    inputTokens: spent.inputTokens,
    outputTokens: spent.outputTokens,
    detail,
  });
  let messages = firstMessages(task, context);
  let wrong = "";
  for (let round = 1; round <= MOST_REQUESTS; round += 1) {
    const reply = await request(task, { messages, signal, spent, context });
    if ("outcome" in reply) {
      return { done: false, output: undefined, record: ended(reply.outcome, false, reply.detail) };
    }
    const read = readAnswer(task, reply.answer);
    if ("output" in read) {
      return {
        done: true,
        output: read.output,
        rawText: reply.answer.text,
        record: ended("done", read.repaired),
      };
    }
    wrong = read.wrong;
    messages = [...firstMessages(task, context), ...hint(reply.answer.text, wrong)];
  }
  return { done: false, output: undefined, record: ended("failed", false, wrong) };
}

type Reply =
  | { readonly answer: TextModelAnswer }
  | { readonly outcome: SidecarRecord["outcome"]; readonly detail: string };

async function request<T>(
  task: SidecarTask<T>,
  at: {
    readonly messages: readonly TextModelMessage[];
    readonly signal: AbortSignal | undefined;
    readonly spent: Spent;
    readonly context: Context;
  },
): Promise<Reply> {
  const { messages, signal, spent, context } = at;
  const { breaker, time, counter } = context;
  const deadline = task.deadlineMs ?? DEADLINE_MS;
  const milliseconds = deadline - (time.clock() - spent.startedAt);
  if (signal?.aborted === true) return { outcome: "aborted", detail: "its caller gave it up" };
  if (milliseconds <= 0) return { outcome: "timeout", detail: `took longer than ${deadline} ms` };
  if (!breaker.allows(time.clock()))
    return { outcome: "skipped", detail: "the model failed too often of late" };
  spent.requests += 1;
  const asked = await ask(
    context.ports.model,
    { messages, maxOutputTokens: task.maxOutputTokens ?? MAX_OUTPUT_TOKENS, temperature: 0 },
    { milliseconds, signal, time },
  ).catch(() => undefined);
  if (asked === undefined) {
    breaker.undecided();
    return { outcome: "aborted", detail: "its caller gave it up" };
  }
  if (asked.kind === "answer") {
    breaker.succeeded();
    return { answer: await counted(asked.answer, messages, spent, counter) };
  }
  breaker.failed(time.clock());
  if (asked.kind === "timeout") return { outcome: "timeout", detail: `took longer than ${deadline} ms` };
  return { outcome: "failed", detail: errorMessage(asked.error) };
}

async function counted(
  answer: TextModelAnswer,
  messages: readonly TextModelMessage[],
  spent: Spent,
  counter: Context["counter"],
): Promise<TextModelAnswer> {
  const text = typeof answer.text === "string" ? answer.text : "";
  const usage = answer.usage === undefined ? undefined : normalizeUsage(answer.usage);
  const { input, output } = usage ?? (await countedUsage(messages, text, counter));
  spent.inputTokens += input;
  spent.outputTokens += output;
  return { ...answer, text };
}

async function countedUsage(
  messages: readonly TextModelMessage[],
  text: string,
  counter: Context["counter"],
): Promise<{ readonly input: number; readonly output: number }> {
  const countText = await counter();
  return {
    input: messages.reduce((sum, { content }) => sum + countText(content), 0),
    output: countText(text),
  };
}

function readAnswer<T>(
  task: SidecarTask<T>,
  { text, stop }: TextModelAnswer,
): { readonly output: T; readonly repaired: boolean } | { readonly wrong: string } {
  if (stop === "refusal") return { wrong: "the model refused" };
  const json = answerJson(text, task.shape);
  if (json === undefined && task.shape !== undefined) {
    return { wrong: text.trim() === "" ? "the answer was empty" : "the answer holds no JSON" };
  }
  try {
    return { output: task.parse(json?.text ?? text), repaired: json?.repaired ?? false };
  } catch (error) {
    return { wrong: stop === "length" ? `it was cut off: ${errorMessage(error)}` : errorMessage(error) };
  }
}

function firstMessages<T>({ systemPrompt, prompt }: SidecarTask<T>, { redact }: Context): TextModelMessage[] {
  return [
    { role: "system", content: redact(systemPrompt) },
    { role: "user", content: redact(prompt) },
  ];
}

function hint(answer: string, wrong: string): TextModelMessage[] {
  const content = `That answer cannot be used: ${wrong}. Answer again, shorter if it was cut off, with nothing but the JSON that was asked for.`;
  const shown = answer.trim() === "" ? "(nothing)" : answer.slice(0, SHOWN);
  return [
    { role: "assistant", content: shown },
    { role: "user", content },
  ];
}

function tell({ onTask }: SidecarPorts, record: SidecarRecord): void {
  try {
    onTask?.(record);
  } catch {
    // Who listens must not break what it listens to.
  }
}

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

interface SidecarPorts {
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
