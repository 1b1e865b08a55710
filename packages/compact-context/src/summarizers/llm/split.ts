import { type ConversationRecord, charactersOf, type RecordUnit, renderRecord } from "./records.ts";

/** One request's share of the input. */
export interface InputPart {
  readonly text: string;
  readonly tokens: number;
  /** Units that end in this part. */
  readonly units: number;
  /** Characters of what was said, headers and escapes aside. */
  readonly characters: number;
}

type Count = (text: string) => number;

/**
 * Packs units into parts of at most `room` tokens, in order. A unit that is larger is split between its records,
 * a record that is larger inside its text; nothing is left out.
 */
export function splitUnits(units: readonly RecordUnit[], room: number, countText: Count): InputPart[] {
  const parts: InputPart[] = [];
  let open = emptyPart();
  const close = (): void => {
    if (open.texts.length > 0 || open.units > 0) parts.push({ ...open, text: open.texts.join("\n") });
    open = emptyPart();
  };
  const put = ({ text, tokens, characters }: Piece): void => {
    if (open.tokens + tokens > room) close();
    open.texts.push(text);
    open.tokens += tokens;
    open.characters += characters;
  };
  for (const unit of units) {
    const text = unit.map(renderRecord).join("\n");
    const tokens = countText(`${text}\n`);
    const whole = { text, tokens, characters: charactersOf([unit]) };
    if (tokens > room) for (const piece of recordPieces(unit, room, countText)) put(piece);
    else if (text !== "") put(whole);
    open.units += 1;
  }
  close();
  return parts;
}

interface Piece {
  readonly text: string;
  readonly tokens: number;
  readonly characters: number;
}

function emptyPart(): { texts: string[]; tokens: number; units: number; characters: number } {
  return { texts: [], tokens: 0, units: 0, characters: 0 };
}

function recordPieces(unit: RecordUnit, room: number, countText: Count): Piece[] {
  return unit.flatMap((record) => {
    const text = renderRecord(record);
    const tokens = countText(`${text}\n`);
    const characters = record.text.length;
    return tokens <= room ? [{ text, tokens, characters }] : textPieces(record, room, countText);
  });
}

/** The text of one record in pieces under numbered headers, `[12.1 result]`, `[12.2 result]`. */
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

/** Characters of the next piece: as many as fit, ending at a line where one ends in its second half. */
function fittingLength(
  header: string,
  text: string,
  { room, countText }: { readonly room: number; readonly countText: Count },
): number {
  const cost = (length: number): number =>
    countText(`${renderRecord({ header, text: text.slice(0, length) })}\n`);
  // No token of a common encoding spans more than a few dozen characters: longer guesses are wasted.
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
