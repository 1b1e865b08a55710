import {
  argumentsValue,
  type Message,
  type Part,
  resultText,
  type ToolCallPart,
} from "../../core/message.ts";
import type { AttemptFailure, LiveConversation, SummaryAttempt } from "../../core/ports.ts";
import { groupUnits } from "../../core/units.ts";
import { CompactError, isObject } from "../../errors.ts";
import { windowOf } from "./options.ts";
import { asData, promptMessages } from "./prompts.ts";
import { climb, type KnownModel, type PartToAsk, type Run } from "./run.ts";

/** The input to summarize. */
export interface FoldInput {
  readonly units: readonly RecordUnit[];
  /** Set if the model can continue the live conversation. */
  readonly live: LiveConversation | undefined;
  /** Number of its latest messages that stay. */
  readonly staying: number;
  readonly previous: string | undefined;
}

export interface Folded {
  readonly text: string;
  readonly model: string;
  /** Share of the records' characters that answered requests contained. */
  readonly coverage: number;
}

/** Token counters and providers' framing differ: this share of the window is kept free. */
const SAFETY = 0.1;
/** Minimum tokens of records that justify a request. */
const LEAST_ROOM = 128;
/** Failures caused by sending the live conversation, not by the model. */
const RETRY_AS_TEXT: ReadonlySet<AttemptFailure> = new Set<AttemptFailure>([
  "error",
  "empty",
  "stale",
  "error-text",
  "malformed",
  "unfounded",
]);

interface Progress {
  /** Number of units the text covers. */
  done: number;
  /** Characters of records in answered requests. */
  characters: number;
  text: string | undefined;
}

/**
 * Summarizes units part by part, each request with the notes so far; if a model gives up, the next one
 * continues from there. Throws `SummarizerFailed` if none is left, `Aborted` if the caller's signal is
 * aborted.
 */
export async function fold(input: FoldInput, models: readonly KnownModel[], run: Run): Promise<Folded> {
  const progress: Progress = { done: 0, characters: 0, text: input.previous };
  let last: SummaryAttempt | undefined;
  for (const [index, known] of models.entries()) {
    const failed = await foldWith(input, known, run, progress);
    if (failed === undefined) {
      const { text = "", characters } = progress;
      const total = charactersOf(input.units);
      const coverage = total === 0 ? 1 : Math.min(1, characters / total);
      return { text, model: known.model.name, coverage };
    }
    progress.characters = charactersOf(input.units.slice(0, progress.done));
    const next = models[index + 1]?.model.name;
    // The summarizer's caller reports the fallback of the last model.
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
      Object.assign(progress, { text, done: input.units.length, characters: charactersOf(input.units) });
      return undefined;
    }
    if (!RETRY_AS_TEXT.has(last.outcome as AttemptFailure)) return last;
    run.request.onAttempt?.({ ...last, fallback: "text" });
  }
  const room = recordRoom(known, run, progress.text);
  const parts = splitUnits(input.units.slice(progress.done), room, run.countText);
  for (const [index, part] of parts.entries()) {
    const { text: records, tokens } = part;
    const place = { part: index + 1, parts: parts.length };
    const asked = { records, live: undefined, staying: 0, tokens, previous: progress.text, ...place };
    const { text, last } = await climb(known, asked, run);
    if (text === undefined) return last;
    progress.text = text;
    progress.done += part.units;
    progress.characters += part.characters;
  }
  return undefined;
}

/** Tokens of records that fit one request, next to its instructions, the notes so far and the answer. */
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

/** The whole input as one request appended to the live conversation, if model and window allow it. */
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

/** The input of one request. */
export interface InputPart {
  readonly text: string;
  readonly tokens: number;
  /** Units completed in this part. */
  readonly units: number;
  /** Characters of message text, without headers and escapes. */
  readonly characters: number;
}

type Count = (text: string) => number;

/**
 * Packs units into parts of at most `room` tokens, in order. An oversized unit is split between records, an
 * oversized record within its text; nothing is omitted.
 */
export function splitUnits(units: readonly RecordUnit[], room: number, countText: Count): InputPart[] {
  const parts: InputPart[] = [];
  let open = emptyPart();
  const close = (): void => {
    if (open.texts.length > 0 || open.units > 0) parts.push({ ...open, text: open.texts.join("\n") });
    open = emptyPart();
  };
  for (const unit of units) {
    for (const { text, tokens, characters } of piecesOf(unit, room, countText)) {
      if (open.tokens + tokens > room) close();
      open.texts.push(text);
      open.tokens += tokens;
      open.characters += characters;
    }
    open.units += 1;
  }
  close();
  return parts;
}

type Piece = Omit<InputPart, "units">;

function emptyPart(): { texts: string[]; tokens: number; units: number; characters: number } {
  return { texts: [], tokens: 0, units: 0, characters: 0 };
}

function piecesOf(unit: RecordUnit, room: number, countText: Count): Piece[] {
  const text = unit.map(renderRecord).join("\n");
  const tokens = countText(`${text}\n`);
  if (tokens <= room) return text === "" ? [] : [{ text, tokens, characters: charactersOf([unit]) }];
  const [record, ...others] = unit;
  if (others.length > 0) return unit.flatMap((one) => piecesOf([one], room, countText));
  return record === undefined ? [] : textPieces(record, room, countText);
}

/** Splits the text of one record into pieces under numbered headers, `[12.1 result]`, `[12.2 result]`. */
function textPieces(record: ConversationRecord, room: number, countText: Count): Piece[] {
  const pieces: Piece[] = [];
  let rest = record.text;
  while (rest !== "") {
    const header = record.header.replace(/^\[(\d+)/, `[$1.${pieces.length + 1}`);
    const length = fittingLength(header, rest, { room, countText });
    const text = renderRecord({ header, text: rest.slice(0, length) });
    pieces.push({ text, tokens: countText(`${text}\n`), characters: length });
    rest = rest.slice(length);
  }
  return pieces;
}

/**
 * Length of the next piece in characters: as many as fit, ending at a line break if there is one in its
 * second half.
 */
function fittingLength(
  header: string,
  text: string,
  { room, countText }: { readonly room: number; readonly countText: Count },
): number {
  const cost = (length: number): number =>
    countText(`${renderRecord({ header, text: text.slice(0, length) })}\n`);
  // No token of a common encoding spans more than a few dozen characters, so larger guesses are wasted.
  let length = Math.min(text.length, room * 8);
  for (let tokens = cost(length); tokens > room && length > 1; tokens = cost(length)) {
    length = Math.max(1, Math.min(length - 1, Math.floor((length * room * 0.98) / tokens)));
  }
  if (length < text.length) {
    const line = text.lastIndexOf("\n", length);
    if (line > length / 2) length = line + 1;
  }
  const code = text.charCodeAt(length);
  return code >= 0xdc00 && code <= 0xdfff && length > 1 ? length - 1 : length;
}

/** A piece of the conversation as presented to a model. */
export interface ConversationRecord {
  /** `[12 call bash]`: the message's 1-based number in the input, and the speaker. */
  readonly header: string;
  /** The original text. */
  readonly text: string;
}

/** Messages kept together as long as they fit: one message, or an exchange. */
export type RecordUnit = readonly ConversationRecord[];

/** The units of a list, in order. */
export function recordUnits(messages: readonly Message[], redact: (text: string) => string): RecordUnit[] {
  return groupUnits(messages).map((unit) =>
    unit.indexes.flatMap((index) => {
      const message = messages[index];
      return message === undefined ? [] : recordsOf(message, index + 1, redact);
    }),
  );
}

/** Characters of message text, without headers. */
export function charactersOf(units: readonly RecordUnit[]): number {
  return units.reduce((total, unit) => total + unit.reduce((sum, record) => sum + record.text.length, 0), 0);
}

/** A record as rendered in a request; its text can neither imitate a header nor close the frame. */
export function renderRecord(record: ConversationRecord): string {
  return `${record.header}\n${asData(record.text)}`;
}

function recordsOf(message: Message, number: number, redact: (text: string) => string): ConversationRecord[] {
  return message.parts.flatMap((part) => {
    const read = readPart(message, part);
    if (read === undefined || read.text.trim() === "") return [];
    return [{ header: `[${number} ${read.speaker}]`, text: redact(read.text) }];
  });
}

function readPart(message: Message, part: Part): { speaker: string; text: string } | undefined {
  switch (part.type) {
    case "text":
      return { speaker: speakerOf(message), text: part.text };
    case "toolCall":
      return { speaker: `call ${asName(part.name)}`, text: callText(part) };
    case "toolResult":
      return { speaker: part.isError === true ? "result, failed" : "result", text: resultText(part) };
    case "reasoning":
      return { speaker: "reasoning", text: part.text };
    case "media":
      return { speaker: "media", text: part.name ?? part.url ?? part.mediaType };
  }
}

/** Arguments that hold the text an edit removed. */
const REPLACED = /^old_?(?:str|string|text)$/i;
const SHORT_CALL = 200;
const DEEPEST = 6;

/** Renders a call readably: its name, then `key: value` with strings decoded onto their own lines. */
function callText(call: ToolCallPart): string {
  const value = argumentsValue(call);
  if (!isObject(value)) return `${call.name}: ${plain(value, 0)}`;
  const pairs = Object.entries(value)
    .filter(([key]) => !REPLACED.test(key))
    .map(([key, entry]) => `${key}: ${plain(entry, 0)}`);
  const short = pairs.join(", ");
  const inLine = short.length <= SHORT_CALL && !short.includes("\n");
  return `${call.name} ${inLine ? short : pairs.join("\n")}`.trim();
}

function plain(value: unknown, depth: number): string {
  if (typeof value === "string") return value;
  if (depth >= DEEPEST || typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  if (Array.isArray(value)) {
    const items = (value as unknown[]).map((item) => plain(item, depth + 1));
    return items.join(items.some((item) => item.includes("\n") || item.length > 60) ? "\n" : ", ");
  }
  return Object.entries(value)
    .map(([key, entry]) => `${key}: ${plain(entry, depth + 1)}`)
    .join(", ");
}

function speakerOf(message: Message): string {
  if (message.role === "tool") return "result";
  if (message.role === "user" && message.meta?.synthetic === true) return "note";
  return message.role;
}

function asName(name: string): string {
  return name.replace(/[^\w.:-]/g, "_").slice(0, 80);
}
