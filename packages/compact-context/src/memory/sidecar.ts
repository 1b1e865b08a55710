import type { TextModel, TextModelAnswer, TextModelMessage } from "../core/ports.ts";
import { CompactError, errorMessage, platform, requireOptions } from "../errors.ts";
import { redact as redactBuiltIn } from "../redaction/redactor.ts";
import { parsedJson } from "../summarizers/extractive/text.ts";
import { ask, Breaker } from "../summarizers/llm/asking.ts";
import { fallbackTokens, normalizeUsage } from "../tokens/usage.ts";

/** Expected shape of the value; a list around one object, or an object around one list, is unwrapped. */
type JsonShape = "object" | "list";

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
export function createSidecar({ model, redact = redactBuiltIn, onTask }: SidecarPorts): Sidecar {
  const breaker = new Breaker();

  /** One request; the model's answer, or the failure. */
  const request = async (
    asking: { readonly messages: readonly TextModelMessage[]; readonly maxOutputTokens: number },
    milliseconds: number,
    spent: { requests: number },
    signal: AbortSignal | undefined,
  ): Promise<TextModelAnswer | Failure> => {
    if (signal?.aborted === true) return ABORTED;
    if (milliseconds <= 0) return { outcome: "timeout" };
    if (!breaker.allows()) return { outcome: "skipped", detail: "the model failed too often of late" };
    spent.requests += 1;
    const asked = await ask(model, { ...asking, temperature: 0 }, { milliseconds, signal }).catch(
      () => undefined,
    );
    if (asked === undefined) breaker.undecided();
    else if (asked.kind === "answer") breaker.succeeded();
    else breaker.failed();
    if (asked === undefined) return ABORTED;
    if (asked.kind === "timeout") return { outcome: "timeout" };
    if (asked.kind !== "answer") return { outcome: "failed", detail: errorMessage(asked.error) };
    const { text } = asked.answer;
    return { ...asked.answer, text: typeof text === "string" ? text : "" };
  };

  const run = async <T>(task: SidecarTask<T>, signal?: AbortSignal): Promise<SidecarOutcome<T>> => {
    const { name, deadlineMs = DEADLINE_MS, maxOutputTokens = MAX_OUTPUT_TOKENS } = task;
    const start = platform.clock();
    const spent = { requests: 0, inputTokens: 0, outputTokens: 0 };
    const recorded = (how: Pick<SidecarRecord, "outcome" | "detail">, repaired = false): SidecarRecord => {
      const milliseconds = platform.clock() - start;
      const record = { name, model: model.name, milliseconds, repaired, ...spent, ...how };
      try {
        onTask?.(record);
      } catch {
        // A listener's error must not affect the task.
      }
      return record;
    };
    const failed = (how: Failure): SidecarOutcome<T> => {
      const late = how.outcome === "timeout" ? `took longer than ${deadlineMs} ms` : how.detail;
      return { done: false, output: undefined, record: recorded({ ...how, detail: late }) };
    };
    const first: readonly TextModelMessage[] = [
      { role: "system", content: redact(task.systemPrompt) },
      { role: "user", content: redact(task.prompt) },
    ];
    let messages = first;
    for (;;) {
      const milliseconds = deadlineMs - (platform.clock() - start);
      const answer = await request({ messages, maxOutputTokens }, milliseconds, spent, signal);
      if ("outcome" in answer) return failed(answer);
      const { input, output } = await tokensOf(messages, answer);
      spent.inputTokens += input;
      spent.outputTokens += output;
      const read = readAnswer(task, answer);
      if ("output" in read) {
        const record = recorded({ outcome: "done" }, read.repaired);
        return { done: true, output: read.output, rawText: answer.text, record };
      }
      if (spent.requests === MOST_REQUESTS) return failed({ outcome: "failed", detail: read.wrong });
      messages = [...first, ...correction(answer.text, read.wrong)];
    }
  };
  return { run };
}

type Failure = Pick<SidecarRecord, "outcome" | "detail">;

const ABORTED: Failure = { outcome: "aborted", detail: "its caller gave it up" };

/** As reported by the provider; else counted with o200k_base, which is loaded only then. */
async function tokensOf(
  messages: readonly TextModelMessage[],
  { text, usage }: TextModelAnswer,
): Promise<{ readonly input: number; readonly output: number }> {
  const reported = usage === undefined ? undefined : normalizeUsage(usage);
  if (reported !== undefined) return reported;
  const count = await import("../tokens/encodings/o200k-base.ts").then(
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
    const given = json === undefined ? text : JSON.stringify(json.value);
    return { output: task.parse(given), repaired: json?.repaired ?? false };
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
  requireOptions(task, "task", "Pass a task and the model that it goes to.");
  const { done: _, ...outcome } = await createSidecar(task).run(task, task.signal);
  if ("rawText" in outcome) return outcome;
  const { record } = outcome;
  throw new CompactError(
    record.outcome === "aborted" ? "Aborted" : "SummarizerFailed",
    `the task ${task.name} ${record.outcome}: ${record.detail ?? "no reason is known"}`,
    { hint: "Nothing was changed; ask again, or go on without it." },
  );
}

// ---- the JSON in a model's answer

const THOUGHT = /<(think|thinking|reasoning)>[\s\S]*?<\/\1>/gi;
const LONGEST = 400_000;

/**
 * Finds the JSON in an answer: the whole answer, the text between its brackets, and last a lenient parse that
 * tolerates typical mistakes of models; an incomplete last value is dropped. Undefined if there is none.
 */
export function answerJson(
  answer: string,
  shape?: JsonShape,
): { readonly value: object; readonly repaired: boolean } | undefined {
  const plain = answer
    .slice(0, LONGEST)
    .replace(/^\uFEFF/, "")
    .replace(THOUGHT, "")
    .trim();
  const whole = strict(plain);
  const [first, last] = [plain.search(/[{[]/), Math.max(plain.lastIndexOf("}"), plain.lastIndexOf("]"))];
  // An escaped text without its quotes: `{\"a\": 1}`.
  const isEscaped = /[{[,]\s*\\"/.test(plain);
  const found =
    whole ??
    (first < 0 || last < first ? undefined : strict(plain.slice(first, last + 1))) ??
    (isEscaped ? strict(`"${plain.replace(/\n/g, "\\n")}"`) : undefined) ??
    inProse(plain, shape);
  if (found === undefined) return undefined;
  const value = unwrapped(found, shape);
  return { value, repaired: whole === undefined || value !== found };
}

function strict(text: string): object | undefined {
  const value = parsedJson(text);
  // A JSON string that contains JSON.
  if (typeof value === "string") return /[{[]/.test(value) ? (strict(value) ?? inProse(value)) : undefined;
  return typeof value === "object" && value !== null ? value : undefined;
}

const MOST_OPENINGS = 12;
/** A value of the wrong kind is chosen only if it is this many times longer. */
const WRONG_KIND = 50;

/** The longest value of the right kind that begins anywhere in the text: prose has brackets too. */
function inProse(text: string, shape: JsonShape = "object"): object | undefined {
  let best: object | undefined;
  let most = 0;
  let at = text.search(/[{[]/);
  for (let tries = 0; at >= 0 && tries < MOST_OPENINGS; tries += 1) {
    const { value, end } = lenient(text, at);
    const weight = (end - at) * (Array.isArray(value) === (shape === "list") ? WRONG_KIND : 1);
    if (Object.keys(value).length > 0 && weight > most) [best, most] = [value, weight];
    const next = text.slice(end).search(/[{[]/);
    at = next < 0 ? -1 : end + next;
  }
  return best;
}

function unwrapped(value: object, shape: JsonShape | undefined): object {
  if (shape === "object" && Array.isArray(value) && value.length === 1) return value[0] as object;
  if (shape !== "list" || Array.isArray(value)) return value;
  const lists = Object.values(value).filter((inner) => Array.isArray(inner));
  return lists.length === 1 ? (lists[0] as object) : value;
}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ...["null", "undefined", "none", "nan"].map((word): [string, null] => [word, null]),
]);
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };
const DEEPEST = 40;

/** Comments are bounded: many that are never closed would each be searched to the end. */
const GAP = /(?:[\s,\u00a0\ufeff]|\/\/[^\n]*|\/\*[\s\S]{0,2000}?\*\/|#[^\n]*|\.\.\.|…)*/y;
const BARE_KEY = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const COLON = /\s*(?::|=>?)/y;
const BARE_VALUE = /[^\n,}\]]+/y;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** What may follow the quote that ends a string; a quote before anything else belongs to the string. */
const NEXT_KEY = "[\"'`“‘]?[\\p{L}_$][\\p{L}\\p{N}_$ -]{0,60}[\"'`”’]?\\s*[:=]";
const AFTER_VALUE = new RegExp(
  `\\s*(?:$|[}\\]]|,?\\s*/[/*]|,\\s*(?:$|[}\\]]|${NEXT_KEY})|\\n\\s*${NEXT_KEY})`,
  "uy",
);
const AFTER_ITEM = /\s*(?:$|[}\]]|,\s*(?:$|["'`“‘{[\]}]|-?\d|true|false|null|\/[/*])|\n\s*["'`“‘{[])/y;

/** Marks a value that the end of the text cut off. */
const CUT = Symbol("cut");

/** The value from the bracket at `start`, whatever quotes, keys, commas, comments and closing brackets it has. */
function lenient(text: string, start: number): { readonly value: object; readonly end: number } {
  let at = start;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  };
  const cut = (): typeof CUT => {
    at = text.length;
    return CUT;
  };
  const escaped = (): string => {
    const [letter = ""] = text.slice(at, at + 2);
    const code = take(/u[0-9a-f]{4}/iy).slice(1);
    if (code !== "") return String.fromCharCode(Number.parseInt(code, 16));
    at += letter.length;
    return ESCAPES[letter] ?? letter;
  };
  const quoted = (after: RegExp): string | typeof CUT => {
    const close = QUOTES[text[at] ?? ""];
    at += 1;
    let said = "";
    while (at < text.length) {
      const letter = text[at] ?? "";
      at += 1;
      after.lastIndex = at;
      if (letter === close && after.test(text)) return said;
      said += letter === "\\" ? escaped() : letter;
    }
    return cut();
  };
  const valueAt = (after: RegExp, depth: number): unknown => {
    take(GAP);
    const first = text[at] ?? "";
    if (first === "{" || first === "[") return depth < DEEPEST ? bracketed(depth + 1) : cut();
    if (first in QUOTES) return quoted(after);
    const bare = take(BARE_VALUE).trim();
    if (NUMBER.test(bare)) return Number(bare);
    const known = WORDS.get(bare.toLowerCase());
    if (known !== undefined) return known;
    return at >= text.length ? cut() : bare;
  };
  const field = (fields: object, depth: number): void => {
    const key = (text[at] ?? "") in QUOTES ? quoted(COLON) : take(BARE_KEY);
    const isNamed = take(COLON) !== "" || /^\s*["'“‘{[]/.test(text.slice(at, at + 20));
    if (key === "") at += 1;
    if (key === "" || key === CUT || !isNamed) return;
    const value = valueAt(AFTER_VALUE, depth);
    const own = { value, enumerable: true, configurable: true, writable: true };
    // Defined, not assigned: assigning `__proto__` would set the prototype instead of a key.
    if (value !== CUT) Object.defineProperty(fields, key, own);
  };
  /** At its bracket, at an enclosing one, or at the end of the text. */
  const isOver = (close: string): boolean => {
    take(GAP);
    const letter = text[at];
    if (letter === close) at += 1;
    return letter === undefined || letter === "]" || letter === "}";
  };
  const listed = (depth: number): unknown[] => {
    const items: unknown[] = [];
    while (!isOver("]")) {
      const item = valueAt(AFTER_ITEM, depth);
      if (item !== CUT) items.push(item);
    }
    return items;
  };
  const bracketed = (depth: number): object => {
    at += 1;
    if (text[at - 1] === "[") return listed(depth);
    const fields = {};
    while (!isOver("}")) field(fields, depth);
    return fields;
  };
  return { value: bracketed(0), end: at };
}
