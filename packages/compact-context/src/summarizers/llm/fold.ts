import type { AttemptFailure, LiveConversation, SummaryAttempt, SummaryStrategy } from "../../core/ports.ts";
import { CompactError } from "../../errors.ts";
import { climb } from "./ladder.ts";
import { windowOf } from "./options.ts";
import { promptMessages } from "./prompts.ts";
import { charactersOf, type RecordUnit } from "./records.ts";
import type { KnownModel, PartToAsk, Run } from "./run.ts";
import { splitUnits } from "./split.ts";

/** What is to be summarized. */
export interface FoldInput {
  readonly units: readonly RecordUnit[];
  /** Where the model may go on from the live conversation. */
  readonly live: LiveConversation | undefined;
  /** Newest messages of it that stay. */
  readonly staying: number;
  readonly previous: string | undefined;
}

export interface Folded {
  readonly text: string;
  readonly model: string;
  /** The strategy of the last part: `brief` where the other was refused. */
  readonly strategy: SummaryStrategy;
  /** Share of the records' characters that was sent in requests that were answered. */
  readonly coverage: number;
}

/** Counters differ, and so do providers' framings: this share of the window is not planned with. */
const SAFETY = 0.1;
/** Least tokens of records that a request is worth. */
const LEAST_ROOM = 128;
/** Failures that speak against sending the conversation as it is, not against the model. */
const RETRY_AS_TEXT: ReadonlySet<AttemptFailure> = new Set<AttemptFailure>([
  "error",
  "empty",
  "stale",
  "error-text",
  "malformed",
  "unfounded",
]);

interface Progress {
  /** Units that the text tells of. */
  done: number;
  /** Characters of records in requests that were answered. */
  characters: number;
  text: string | undefined;
  strategy: SummaryStrategy;
}

/**
 * Summarizes units part by part, each with the notes so far; where a model gives up, the next goes on from there.
 * Throws `SummarizerFailed` when none is left, `Aborted` when the caller's signal is.
 */
export async function fold(input: FoldInput, models: readonly KnownModel[], run: Run): Promise<Folded> {
  const progress: Progress = { done: 0, characters: 0, text: input.previous, strategy: run.strategy };
  let last: SummaryAttempt | undefined;
  for (const [index, known] of models.entries()) {
    const failed = await foldWith(input, known, run, progress);
    if (failed === undefined) {
      const { text = "", strategy, characters } = progress;
      const total = charactersOf(input.units);
      const coverage = total === 0 ? 1 : Math.min(1, characters / total);
      return { text, model: known.model.name, strategy, coverage };
    }
    progress.characters = charactersOf(input.units.slice(0, progress.done));
    const next = models[index + 1]?.model.name;
    // What follows the last model is told by whoever called the summarizer.
    run.request.onAttempt?.(next === undefined ? failed : { ...failed, fallback: next });
    last = failed;
  }
  throw new CompactError("SummarizerFailed", failureText(last), {
    hint: "The trace has every attempt; check the model's key, its limits and its answers.",
    cause: last?.error,
  });
}

function failureText(last: SummaryAttempt | undefined): string {
  if (last === undefined) return "no model could be asked for a summary";
  return `${last.model}: ${last.outcome}${last.detail === undefined ? "" : ` (${last.detail})`}`;
}

/** Undefined when this model wrote the whole; else its last attempt. */
async function foldWith(
  input: FoldInput,
  known: KnownModel,
  run: Run,
  progress: Progress,
): Promise<SummaryAttempt | undefined> {
  const live = progress.done === 0 ? livePart(input, known, run) : undefined;
  if (live !== undefined) {
    const climbed = await climb(known, live, run);
    if ("text" in climbed) {
      progress.characters = charactersOf(input.units);
      progress.done = input.units.length;
      progress.text = climbed.text;
      progress.strategy = climbed.strategy;
      return undefined;
    }
    if (!RETRY_AS_TEXT.has(climbed.last.outcome as AttemptFailure)) return climbed.last;
    run.request.onAttempt?.({ ...climbed.last, fallback: "text" });
  }
  return foldText(input, known, run, progress);
}

async function foldText(
  input: FoldInput,
  known: KnownModel,
  run: Run,
  progress: Progress,
): Promise<SummaryAttempt | undefined> {
  const room = recordRoom(known, run, progress.text);
  const parts = splitUnits(input.units.slice(progress.done), room, run.countText);
  for (const [index, part] of parts.entries()) {
    const climbed = await climb(
      known,
      {
        records: part.text,
        live: undefined,
        staying: 0,
        tokens: part.tokens,
        previous: progress.text,
        part: index + 1,
        parts: parts.length,
      },
      run,
    );
    if (!("text" in climbed)) return climbed.last;
    progress.text = climbed.text;
    progress.strategy = climbed.strategy;
    progress.done += part.units;
    progress.characters += part.characters;
  }
  return undefined;
}

/** Tokens of records that fit one request beside its instructions, the notes so far and the answer. */
function recordRoom(known: KnownModel, run: Run, previous: string | undefined): number {
  const notes = Math.max(run.room, previous === undefined ? 0 : run.countText(previous));
  const window = windowOf(known.model) * (1 - SAFETY);
  const room = window - promptTokens(run, "") - notes - run.room - known.thinkingTokens;
  return Math.max(LEAST_ROOM, Math.floor(room));
}

function promptTokens(run: Run, records: string | undefined): number {
  const messages = promptMessages({
    strategy: run.strategy,
    templates: run.options.templates,
    records,
    previous: undefined,
    instruction: run.request.instruction,
    part: 1,
    parts: 2,
    maxTokens: run.room,
  });
  return messages.reduce((total, message) => total + run.countText(message.content) + 8, 16);
}

/** The whole input as one request behind the live conversation, where model and window allow it. */
function livePart(input: FoldInput, known: KnownModel, run: Run): PartToAsk | undefined {
  const { live } = input;
  if (live === undefined || run.options.input !== "prefix") return undefined;
  if (known.model.prefixFormats?.includes(live.prefix.format) !== true) return undefined;
  const tokens = live.tokens + promptTokens(run, undefined);
  if (tokens + run.room + known.thinkingTokens > windowOf(known.model)) return undefined;
  return {
    records: undefined,
    live,
    staying: input.staying,
    tokens,
    previous: undefined,
    part: 1,
    parts: 1,
  };
}
