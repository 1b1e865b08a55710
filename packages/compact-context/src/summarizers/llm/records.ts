import {
  argumentsValue,
  type Message,
  type Part,
  resultText,
  type ToolCallPart,
} from "../../core/message.ts";
import { groupUnits } from "../../core/units.ts";
import { isObject } from "../../errors.ts";
import { asData } from "./prompts.ts";

// Messages as the records that a model reads, and their division into parts that fit a request.

/** A piece of the conversation as presented to a model. */
export interface ConversationRecord {
  /** `[12 call bash]`: the message's 1-based number in the input, and the speaker. */
  readonly header: string;
  readonly text: string;
}

/** Messages kept together as long as they fit: one message, or an exchange. */
export type RecordUnit = readonly ConversationRecord[];

export function recordUnits(messages: readonly Message[], redact: (text: string) => string): RecordUnit[] {
  return groupUnits(messages).map(({ indexes }) =>
    indexes.flatMap((index) =>
      (messages[index]?.parts ?? []).flatMap((part) => {
        const [speaker, text] = readPart(messages[index] as Message, part);
        return text.trim() === "" ? [] : [{ header: `[${index + 1} ${speaker}]`, text: redact(text) }];
      }),
    ),
  );
}

/** A record as rendered in a request; its text can neither imitate a header nor close the frame. */
export function renderRecord({ header, text }: ConversationRecord): string {
  return `${header}\n${asData(text)}`;
}

function readPart(message: Message, part: Part): [speaker: string, text: string] {
  switch (part.type) {
    case "text":
      return [speakerOf(message), part.text];
    case "toolCall":
      return [`call ${part.name.replace(/[^\w.:-]/g, "_").slice(0, 80)}`, callText(part)];
    case "toolResult":
      return [part.isError === true ? "result, failed" : "result", resultText(part)];
    case "reasoning":
      return ["reasoning", part.text];
    case "media":
      return ["media", part.name ?? part.url ?? part.mediaType];
    default:
      // Callers may pass parts that this version does not know.
      return ["", ""];
  }
}

function speakerOf({ role, meta }: Message): string {
  if (role === "tool") return "result";
  return role === "user" && meta?.synthetic === true ? "note" : role;
}

/** Arguments that hold the text an edit removed. */
const REPLACED = /^old_?(?:str|string|text)$/i;
const SHORT_CALL = 200;
const DEEPEST = 6;

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

export interface InputPart {
  readonly text: string;
  readonly tokens: number;
  /** Units completed in this part. */
  readonly units: number;
}

type Count = (text: string) => number;
type Piece = Pick<InputPart, "text" | "tokens">;

/**
 * Packs units into parts of at most `room` tokens, in order. An oversized unit is split between records, an
 * oversized record within its text; nothing is omitted.
 */
export function splitUnits(units: readonly RecordUnit[], room: number, countText: Count): InputPart[] {
  const parts: InputPart[] = [];
  let open = { text: "", tokens: 0, units: 0 };
  for (const unit of units) {
    for (const { text, tokens } of piecesOf(unit, room, countText)) {
      if (open.tokens + tokens > room) {
        if (open.text !== "" || open.units > 0) parts.push(open);
        open = { text: "", tokens: 0, units: 0 };
      }
      open.text += open.text === "" ? text : `\n${text}`;
      open.tokens += tokens;
    }
    open.units += 1;
  }
  return units.length === 0 ? [] : [...parts, open];
}

function piecesOf(unit: RecordUnit, room: number, countText: Count): Piece[] {
  const text = unit.map(renderRecord).join("\n");
  const tokens = countText(`${text}\n`);
  if (tokens <= room) return text === "" ? [] : [{ text, tokens }];
  const [record, ...others] = unit;
  if (others.length > 0) return unit.flatMap((one) => piecesOf([one], room, countText));
  return record === undefined ? [] : textPieces(record, room, countText);
}

/** Splits the text of one record into pieces under numbered headers, `[12.1 result]`, `[12.2 result]`. */
function textPieces(record: ConversationRecord, room: number, countText: Count): Piece[] {
  const pieces: Piece[] = [];
  for (let rest = record.text; rest !== ""; ) {
    const header = record.header.replace(/^\[(\d+)/, `[$1.${pieces.length + 1}`);
    const rendered = (length: number): string => renderRecord({ header, text: rest.slice(0, length) });
    const length = fittingLength(rest, room, (most) => countText(`${rendered(most)}\n`));
    const text = rendered(length);
    pieces.push({ text, tokens: countText(`${text}\n`) });
    rest = rest.slice(length);
  }
  return pieces;
}

/**
 * Length of the next piece in characters: as many as fit, ending at a line break if there is one in its
 * second half.
 */
function fittingLength(text: string, room: number, cost: (length: number) => number): number {
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
