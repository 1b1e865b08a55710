import { type Message, messageText } from "../../core/message.ts";
import type {
  SummarizeOptions,
  Summarizer,
  Summary,
  SummaryCheck,
  SummaryStrategy,
} from "../../core/ports.ts";
import { CompactError, requireOptions } from "../../errors.ts";
import { redact } from "../../redaction/redactor.ts";
import { readInput } from "../extractive/builtin.ts";
import type { Reading } from "../extractive/reading.ts";
import { completeSummary, divideRoom, type Facts, factsOf, isRoomy, proseOf } from "./complete.ts";
import { charactersOf, type Folded, fold, type RecordUnit, recordUnits } from "./fold.ts";
import {
  checkOptions,
  deadlinesOf,
  type ModelSummarizerOptions,
  platformTime,
  type TimePorts,
} from "./options.ts";
import { createBreaker, type KnownModel, type Run } from "./run.ts";
import { findUnfound, removeUnfound, type Source, sourceOf, type Unfound } from "./verify.ts";

const BREAKER_FAILURES = 3;
const BREAKER_PAUSE_MS = 60_000;
/** Least tokens that a model is asked for. */
const LEAST_PROSE = 48;
/** Newest messages of the assistant that are no answer to the request. */
const REMEMBERED = 8;

/**
 * A summarizer that asks a model: the prose is the model's, the sections of requests, rules, tasks, checks, errors and
 * changed files are found by program, and what the prose claims is looked up in its source. `summarize` throws `SummarizerFailed`
 * when no model gave a usable answer, `Aborted` when the signal is; keep one instance per model, since it remembers
 * which models fail.
 */
export function createModelSummarizer(options: ModelSummarizerOptions): Summarizer {
  requireOptions(options, "options", "Pass options with a model: { model: { name, generate(request) } }.");
  checkOptions(options);
  const time = { ...platformTime, ...options.time };
  const models = [options.model, ...(options.fallbackModels ?? [])].map((model): KnownModel => {
    const failures = options.breakerFailures ?? BREAKER_FAILURES;
    const pauseMs = options.breakerPauseMs ?? BREAKER_PAUSE_MS;
    return { model, breaker: createBreaker({ failures, pauseMs }), thinkingTokens: 0 };
  });
  return {
    name: options.name ?? options.model.name,
    usesLivePrefix: options.input === "prefix",
    summarize: (messages, request) => summarizeWith({ options, models, time }, messages, request),
  };
}

interface Instance {
  readonly options: ModelSummarizerOptions;
  readonly models: readonly KnownModel[];
  readonly time: TimePorts;
}

/** Everything that is known of the input before a model is asked. */
interface Prepared {
  readonly kept: readonly Message[];
  readonly previous: string | undefined;
  readonly reading: Reading;
  readonly units: readonly RecordUnit[];
  readonly facts: Facts | undefined;
  readonly strategy: SummaryStrategy;
  readonly countText: (text: string) => number;
}

async function summarizeWith(
  instance: Instance,
  messages: readonly Message[],
  request: SummarizeOptions,
): Promise<Summary> {
  const { options, models } = instance;
  const prepared = await prepare(options, messages, request);
  const { countText, facts } = prepared;
  const division = divideRoom(request.maxTokens, facts, countText);
  if (division.prose < LEAST_PROSE) {
    throw new CompactError("SummarizerFailed", `${division.prose} tokens are too few to ask a model for`, {
      hint: "Give the summary more room; the built-in summarizer works with less.",
    });
  }
  const checker = createChecker(options, prepared, request);
  const run = runOf(instance, prepared, request, { room: division.prose, checker });
  const folded =
    nothingNew(instance, prepared) ??
    (await fold(
      {
        units: prepared.units,
        live: request.live,
        staying: Math.max(0, (request.live?.messages.length ?? 0) - messages.length),
        previous: prepared.previous,
      },
      models,
      run,
    ));
  const check = checker.check(folded.text);
  const unfound = check.mode === "flag" ? check.unfound : [];
  const text =
    facts === undefined || !division.facts
      ? folded.text
      : completeSummary(folded.text, facts, unfound, { maxTokens: request.maxTokens, countText });
  return {
    text,
    tokens: countText(text),
    summarizer: folded.model,
    messagesRead: messages.length,
    coverage: folded.coverage,
    check,
  };
}

/** Where no message says anything, the summary so far is the summary. */
function nothingNew({ options }: Instance, { units, previous }: Prepared): Folded | undefined {
  if (units.some((unit) => unit.length > 0)) return undefined;
  if (previous === undefined) {
    throw new CompactError("SummarizerFailed", "there is nothing to summarize", {
      hint: "Give it messages, or a summary so far.",
    });
  }
  return { text: proseOf(previous), model: options.model.name, strategy: "task_state", coverage: 1 };
}

async function prepare(
  options: ModelSummarizerOptions,
  messages: readonly Message[],
  request: SummarizeOptions,
): Promise<Prepared> {
  const { rest, previous = "", reading, strategy, countText } = await readInput(messages, request);
  // Short notes, and those that the caller asks for in own words, leave the requests to the prose.
  const requests = isRoomy(request.maxTokens) && options.templates === undefined;
  return {
    kept: rest,
    previous: previous === "" ? undefined : previous,
    reading,
    units: recordUnits(rest, options.redact ?? redact),
    facts:
      options.ledger === false ? undefined : factsOf(reading, { strategy, requests, previous, countText }),
    strategy,
    countText,
  };
}

function runOf(
  { options, time }: Instance,
  { kept, units, strategy, countText }: Prepared,
  request: SummarizeOptions,
  { room, checker }: { readonly room: number; readonly checker: Checker },
): Run {
  const said = (request.live?.messages ?? kept).flatMap((message) =>
    message.role === "assistant" ? [messageText(message)] : [],
  );
  const deadlines = deadlinesOf(options);
  return {
    options,
    request,
    countText,
    strategy,
    time,
    endsAt: time.clock() + deadlines.total(inputTokens(units, request)),
    attemptMs: deadlines.attempt,
    room,
    stale: said.slice(-REMEMBERED),
    verified: checker.mend,
  };
}

/** What all requests together read at least; four characters are taken for a token. */
function inputTokens(units: readonly RecordUnit[], { live }: SummarizeOptions): number {
  return Math.max(live?.tokens ?? 0, charactersOf(units) / 4);
}

interface Checker {
  /** The text as the mode wants it; undefined where nothing is left. */
  mend(text: string): string | undefined;
  /** What is to be told about the final text. */
  check(text: string): SummaryCheck;
}

function createChecker(
  options: ModelSummarizerOptions,
  prepared: Prepared,
  request: SummarizeOptions,
): Checker {
  const mode = options.verify ?? "flag";
  if (mode === "off") {
    return { mend: (text) => text, check: () => ({ mode, checked: 0, unfound: [], removed: 0 }) };
  }
  let known: Source | undefined;
  const source = (): Source => {
    known ??= readSource(options, prepared, request);
    return known;
  };
  const removed = new Map<string, Unfound>();
  return {
    mend(text) {
      if (mode === "flag") return text;
      const { unfound } = findUnfound(text, source());
      for (const claim of unfound) removed.set(claim.text, claim);
      const rest = removeUnfound(text, unfound);
      return /[\p{L}\p{N}]/u.test(rest) ? rest : undefined;
    },
    check(text) {
      const { checked, unfound } = findUnfound(text, source());
      const all = [...removed.values(), ...unfound].map(({ kind, text: claim }) => ({ kind, text: claim }));
      return { mode, checked: checked + removed.size, unfound: all, removed: removed.size };
    },
  };
}

function readSource(
  options: ModelSummarizerOptions,
  { kept, previous, reading, units }: Prepared,
  request: SummarizeOptions,
): Source {
  const { live } = request;
  const beside =
    live === undefined
      ? []
      : [
          ...recordUnits(live.messages, options.redact ?? redact).flat(),
          { header: "", text: JSON.stringify([live.prefix.system, live.prefix.tools]) ?? "" },
        ];
  return sourceOf({
    reading,
    messages: live === undefined ? kept : [...kept, ...live.messages],
    texts: [...units.flat(), ...beside].map((record) => `${record.header}\n${record.text}`),
    previous,
    instruction: request.instruction,
  });
}
