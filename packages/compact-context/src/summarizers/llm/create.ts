import { type Message, messageText } from "../../core/message.ts";
import type { SummarizeOptions, Summarizer, Summary, SummaryCheck } from "../../core/ports.ts";
import { CompactError, platform, requireOptions } from "../../errors.ts";
import { redact } from "../../redaction/redactor.ts";
import { type Input, readInput } from "../extractive/builtin.ts";
import { completeSummary, factsOf, hasRoomForFacts, isRoomy, proseOf, proseRoom } from "./complete.ts";
import { charactersOf, fold, type RecordUnit, recordUnits } from "./fold.ts";
import { checkOptions, deadlinesOf, type ModelSummarizerOptions } from "./options.ts";
import { createBreaker, type KnownModel, type Run } from "./run.ts";
import { findUnfound, removeUnfound, type Source, sourceOf, type Unfound } from "./verify.ts";

/** Minimum tokens requested from a model. */
const LEAST_PROSE = 48;
/** Number of the latest assistant messages that do not count as an answer. */
const REMEMBERED = 8;

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
    (model): KnownModel => ({ model, breaker: createBreaker(), thinkingTokens: 0 }),
  );
  return {
    name: options.name ?? options.model.name,
    usesLivePrefix: options.input === "prefix",
    summarize: (messages, request) => summarizeWith({ options, models }, messages, request),
  };
}

interface Instance {
  readonly options: ModelSummarizerOptions;
  readonly models: readonly KnownModel[];
}

/** What is known about the input before any request. */
interface Prepared extends Input {
  readonly units: readonly RecordUnit[];
  readonly request: SummarizeOptions;
}

async function summarizeWith(
  { options, models }: Instance,
  messages: readonly Message[],
  request: SummarizeOptions,
): Promise<Summary> {
  const input = await readInput(messages, request);
  const units = recordUnits(input.rest, options.redact ?? redact);
  const { rest, previous, reading, strategy, countText } = input;
  const { maxTokens, live } = request;
  // Short notes, and custom prompts, leave user requests to the prose.
  const requests = isRoomy(maxTokens) && options.templates === undefined;
  const facts =
    options.ledger === false || !hasRoomForFacts(maxTokens)
      ? undefined
      : factsOf(reading, { strategy, requests, previous, countText });
  const room = proseRoom(maxTokens, facts, countText);
  if (room < LEAST_PROSE) {
    throw new CompactError("SummarizerFailed", `${room} tokens are too few to ask a model for`, {
      hint: "Give the summary more room; the built-in summarizer works with less.",
    });
  }
  const checker = createChecker(options, { ...input, units, request });
  const said = (live?.messages ?? rest).filter(({ role }) => role === "assistant").map(messageText);
  const deadlines = deadlinesOf(options);
  // A lower bound on the input of all requests, at four characters per token.
  const inputTokens = Math.max(live?.tokens ?? 0, charactersOf(units) / 4);
  const run: Run = {
    options,
    request,
    countText,
    strategy,
    endsAt: platform.clock() + deadlines.total(inputTokens),
    attemptMs: deadlines.attempt,
    room,
    stale: said.slice(-REMEMBERED),
    verified: checker.mend,
  };
  const staying = Math.max(0, (live?.messages.length ?? 0) - messages.length);
  // If no message has content, the existing summary is the summary.
  const folded = units.some((unit) => unit.length > 0)
    ? await fold({ units, live, staying, previous }, models, run)
    : { text: standing(previous), model: options.model.name, coverage: 1 };
  const check = checker.check(folded.text);
  const unfound = check.mode === "flag" ? check.unfound : [];
  const text =
    facts === undefined
      ? folded.text
      : completeSummary(folded.text, facts, unfound, { maxTokens, countText });
  return {
    text,
    tokens: countText(text),
    summarizer: folded.model,
    messagesRead: messages.length,
    coverage: folded.coverage,
    check,
  };
}

function standing(previous: string | undefined): string {
  if (previous !== undefined) return proseOf(previous);
  throw new CompactError("SummarizerFailed", "there is nothing to summarize", {
    hint: "Give it messages, or a summary so far.",
  });
}

interface Checker {
  /** The text after applying the verify mode; undefined if nothing is left. */
  mend(text: string): string | undefined;
  /** What to report about the final text. */
  check(text: string): SummaryCheck;
}

function createChecker(options: ModelSummarizerOptions, prepared: Prepared): Checker {
  const mode = options.verify ?? "flag";
  if (mode === "off") {
    return { mend: (text) => text, check: () => ({ mode, checked: 0, unfound: [], removed: 0 }) };
  }
  let known: Source | undefined;
  const source = (): Source => {
    known ??= readSource(options, prepared);
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
  { rest, previous, reading, units, request: { live, instruction } }: Prepared,
): Source {
  const records = [...units, ...recordUnits(live?.messages ?? [], options.redact ?? redact)].flat();
  return sourceOf({
    reading,
    messages: [...rest, ...(live?.messages ?? [])],
    texts: [
      ...records.map(({ header, text }) => `${header}\n${text}`),
      JSON.stringify([live?.prefix.system, live?.prefix.tools]),
    ],
    previous,
    instruction,
  });
}
