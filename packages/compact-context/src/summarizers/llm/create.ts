import { type Message, messageText } from "../../core/message.ts";
import type {
  AttemptFailure,
  LiveConversation,
  SummarizeOptions,
  Summarizer,
  Summary,
  SummaryAttempt,
  TextModel,
} from "../../core/ports.ts";
import { CompactError, platform, requireOptions } from "../../errors.ts";
import { redact } from "../../redaction/redactor.ts";
import { lookUpModel } from "../../tokens/models.ts";
import { type Input, readInput } from "../extractive/builtin.ts";
import { Breaker, climb, type KnownModel, LEAST_PROSE, type PartToAsk, type Run } from "./asking.ts";
import { LEAST_FOR_FACTS, proseOf, surroundings } from "./complete.ts";
import { checkOptions, type ModelSummarizerOptions } from "./options.ts";
import { promptMessages } from "./prompts.ts";
import { type RecordUnit, recordUnits, splitUnits } from "./records.ts";
import { createChecker, type Source, sourceOf } from "./verify.ts";

/**
 * A summarizer that calls a model: the model writes the prose; requests, rules, tasks, checks, errors and
 * changed files are extracted by program, and the claims of the prose are checked against its source.
 * `summarize` throws `SummarizerFailed` if no model gives a usable answer, `Aborted` if the signal is
 * aborted. Keep one instance per model: it remembers which models fail.
 */
export function createModelSummarizer(options: ModelSummarizerOptions): Summarizer {
  requireOptions(options, "options", "Pass options with a model: { model: { name, generate(request) } }.");
  checkOptions(options);
  const models = [options.model, ...(options.fallbackModels ?? [])].map(
    (model): KnownModel => ({ model, breaker: new Breaker(), thinkingTokens: 0 }),
  );
  return {
    name: options.name ?? options.model.name,
    usesLivePrefix: options.input === "prefix",
    summarize: (messages, request) => summarizeWith({ options, models }, messages, request),
  };
}

/** SUM-12: what a fast model needs for a summary of ordinary size, and that size. */
const ATTEMPT_MS = 10_000;
const ORDINARY_TOKENS = 25_000;
/** Number of attempts covered by the default deadline. */
const ATTEMPTS = 6;
/** Number of the latest assistant messages that do not count as an answer. */
const REMEMBERED = 8;

async function summarizeWith(
  { options, models }: { readonly options: ModelSummarizerOptions; readonly models: readonly KnownModel[] },
  messages: readonly Message[],
  request: SummarizeOptions,
): Promise<Summary> {
  const input = await readInput(messages, request);
  const { rest, previous, strategy, countText } = input;
  const { maxTokens, live } = request;
  const { templates, ledger, verify = "flag", attemptDeadlineMs, deadlineMs } = options;
  const units = recordUnits(rest, options.redact ?? redact);
  const around =
    ledger === false || maxTokens < LEAST_FOR_FACTS
      ? undefined
      : // Custom prompts leave user requests to the prose.
        surroundings(input, maxTokens, templates === undefined);
  const room = around?.room ?? Math.max(0, Math.floor(maxTokens));
  if (room < LEAST_PROSE) {
    throw new CompactError("SummarizerFailed", `${room} tokens are too few to ask a model for`, {
      hint: "Give the summary more room; the built-in summarizer works with less.",
    });
  }
  const checker = createChecker(verify, () => readSource(options, input, units, request));
  const said = (live?.messages ?? rest).filter(({ role }) => role === "assistant").map(messageText);
  const attemptMs = (tokens: number): number =>
    attemptDeadlineMs === undefined && deadlineMs !== undefined
      ? Math.ceil(deadlineMs / models.length)
      : (attemptDeadlineMs ?? ATTEMPT_MS) * Math.max(1, tokens / ORDINARY_TOKENS);
  // A lower bound on the input of all requests, at four characters per token.
  const characters = units.flat().reduce((sum, { text }) => sum + text.length, 0);
  const totalMs = deadlineMs ?? ATTEMPTS * attemptMs(Math.max(live?.tokens ?? 0, characters / 4));
  const run: Run = {
    options,
    request,
    countText,
    strategy,
    endsAt: platform.clock() + totalMs,
    attemptMs,
    room,
    stale: said.slice(-REMEMBERED),
    verified: checker.mend,
  };
  const staying = Math.max(0, (live?.messages.length ?? 0) - messages.length);
  // If no message has content, the existing summary is the summary.
  const { text: prose, model } = units.some((unit) => unit.length > 0)
    ? await fold({ units, live, staying, previous }, models, run)
    : { text: standing(previous), model: options.model };
  const check = checker.check(prose);
  const text = around?.complete(prose, verify === "flag" ? check.unfound : []) ?? prose;
  return {
    text,
    tokens: countText(text),
    summarizer: model.name,
    messagesRead: messages.length,
    coverage: 1,
    check,
  };
}

function standing(previous: string | undefined): string {
  if (previous !== undefined) return proseOf(previous);
  throw new CompactError("SummarizerFailed", "there is nothing to summarize", {
    hint: "Give it messages, or a summary so far.",
  });
}

function readSource(
  options: ModelSummarizerOptions,
  { rest, previous, reading }: Input,
  units: readonly RecordUnit[],
  { live, instruction }: SummarizeOptions,
): Source {
  const records = [...units, ...recordUnits(live?.messages ?? [], options.redact ?? redact)].flat();
  const texts = records.map(({ header, text }) => `${header}\n${text}`);
  return sourceOf({
    reading,
    messages: [...rest, ...(live?.messages ?? [])],
    texts: [...texts, JSON.stringify([live?.prefix.system, live?.prefix.tools])],
    previous,
    instruction,
  });
}

// ---- the whole input, part by part

interface FoldInput {
  readonly units: readonly RecordUnit[];
  /** Set if the model can continue the live conversation. */
  readonly live: LiveConversation | undefined;
  /** Number of its latest messages that stay. */
  readonly staying: number;
  readonly previous: string | undefined;
}

/** The notes so far, and the number of units that they cover. */
interface Progress {
  text: string | undefined;
  done: number;
}

/** Token counters and providers' framing differ: this share of the window is kept free. */
const SAFETY = 0.1;
/** Minimum tokens of records that justify a request. */
const LEAST_ROOM = 128;
/** Failures caused by sending the live conversation, not by the model. */
const RETRY_AS_TEXT: readonly SummaryAttempt["outcome"][] = [
  "error",
  "empty",
  "stale",
  "error-text",
  "malformed",
  "unfounded",
] satisfies AttemptFailure[];

/**
 * Summarizes units part by part, each request with the notes so far; if a model gives up, the next one
 * continues from there. Throws `SummarizerFailed` if none is left, `Aborted` if the caller's signal is
 * aborted.
 */
async function fold(
  input: FoldInput,
  models: readonly KnownModel[],
  run: Run,
): Promise<{ readonly text: string; readonly model: TextModel }> {
  const progress: Progress = { text: input.previous, done: 0 };
  let last: SummaryAttempt | undefined;
  for (const [index, known] of models.entries()) {
    last = await foldWith(input, known, run, progress);
    if (last === undefined) return { text: progress.text ?? "", model: known.model };
    const next = models[index + 1]?.model.name;
    // The summarizer's caller reports the fallback of the last model.
    run.request.onAttempt?.(next === undefined ? last : { ...last, fallback: next });
  }
  const detail = last?.detail === undefined ? "" : ` (${last.detail})`;
  throw new CompactError("SummarizerFailed", `${last?.model}: ${last?.outcome}${detail}`, {
    hint: "The trace has every attempt; check the model's key, its limits and its answers.",
    cause: last?.error,
  });
}

/** Undefined if this model wrote everything; otherwise its last attempt. */
async function foldWith(
  input: FoldInput,
  known: KnownModel,
  run: Run,
  progress: Progress,
): Promise<SummaryAttempt | undefined> {
  const live = progress.done === 0 ? livePart(input, known, run) : undefined;
  if (live !== undefined) {
    const { text, last } = await climb(known, live, run);
    if (text !== undefined) {
      progress.text = text;
      return undefined;
    }
    if (!RETRY_AS_TEXT.includes(last.outcome)) return last;
    run.request.onAttempt?.({ ...last, fallback: "text" });
  }
  const room = recordRoom(known, run, progress.text);
  const parts = splitUnits(input.units.slice(progress.done), room, run.countText);
  for (const [index, { text: records, tokens, units }] of parts.entries()) {
    const place = { part: index + 1, parts: parts.length, staying: 0 };
    const { text, last } = await climb(known, { records, tokens, previous: progress.text, ...place }, run);
    if (text === undefined) return last;
    progress.text = text;
    progress.done += units;
  }
  return undefined;
}

/** Tokens of records that fit one request, next to its instructions, the notes so far and the answer. */
function recordRoom(known: KnownModel, run: Run, previous: string | undefined): number {
  const notes = Math.max(run.room, previous === undefined ? 0 : run.countText(previous));
  const room = roomOf(known, run, "") - notes;
  return Math.max(LEAST_ROOM, Math.floor(room - windowOf(known.model) * SAFETY));
}

/** The whole input as one request appended to the live conversation, if model and window allow it. */
function livePart({ live, staying }: FoldInput, known: KnownModel, run: Run): PartToAsk | undefined {
  if (live === undefined || run.options.input !== "prefix") return undefined;
  if (known.model.prefixFormats?.includes(live.prefix.format) !== true) return undefined;
  const tokens = live.tokens + promptTokens(run, undefined);
  if (live.tokens > roomOf(known, run, undefined)) return undefined;
  return { records: undefined, live, staying, tokens, previous: undefined, part: 1, parts: 1 };
}

/** What a model's window leaves next to the instructions and the answer. */
function roomOf({ model, thinkingTokens }: KnownModel, run: Run, records: string | undefined): number {
  return windowOf(model) - promptTokens(run, records) - run.room - thinkingTokens;
}

/** Input and output tokens together; from the model table unless the model states it. */
function windowOf({ window, name }: TextModel): number {
  return window ?? lookUpModel(name.slice(name.indexOf(":") + 1)).window;
}

function promptTokens({ strategy, options, request, room, countText }: Run, records?: string): number {
  const { templates } = options;
  const { instruction } = request;
  const part = { records, previous: undefined, part: 1, parts: 2, staying: 0 };
  const messages = promptMessages({ ...part, strategy, templates, instruction, maxTokens: room });
  return messages.reduce((total, message) => total + countText(message.content) + 8, 16);
}
