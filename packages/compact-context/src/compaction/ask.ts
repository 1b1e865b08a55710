import { type Message, messageText } from "../messages/message.ts";
import { isUserSpeech, newestAsk } from "../messages/turns.ts";
import { stretches, typedText } from "../summarizers/typed-text.ts";

/**
 * Index of the newest message in which a person typed or attached something; where hosts wrote all that users seem to
 * say (reminders, notices), the newest of those. -1 where nobody speaks.
 */
export function newestTypedAsk(messages: readonly Message[]): number {
  const typed = messages.findLastIndex((message) => isUserSpeech(message) && isTyped(message));
  return typed === -1 ? newestAsk(messages) : typed;
}

function isTyped(message: Message): boolean {
  return message.parts.some(({ type }) => type === "media") || typedText(messageText(message)) !== "";
}

/** A piece of a text; the pieces of a text joined are the text. */
export interface Piece {
  readonly text: string;
  /** False for what a host put there and for what stands between code fences: the user shows it, and says the rest. */
  readonly own: boolean;
}

/** The user's own words told from what was injected or pasted into them. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const stretch of stretches(text)) {
    if (stretch.typed) continue;
    const from = text.indexOf(stretch.text, at);
    if (from === -1) break;
    pieces.push(...fencedPieces(text.slice(at, from)), { text: stretch.text, own: false });
    at = from + stretch.text.length;
  }
  return [...pieces, ...fencedPieces(text.slice(at))];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** What stands between fences apart from the fences; a fence that never closes is no fence. */
function fencedPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let open: { readonly mark: string; readonly inside: number } | undefined;
  let said = 0;
  let at = 0;
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const next = newline === -1 ? text.length : newline + 1;
    const mark = FENCE.exec(text.slice(at, Math.min(next, at + 100)))?.[1];
    if (mark !== undefined && open === undefined) open = { mark, inside: next };
    else if (mark !== undefined && open !== undefined && mark.startsWith(open.mark)) {
      pieces.push({ text: text.slice(said, open.inside), own: true });
      pieces.push({ text: text.slice(open.inside, at), own: false });
      said = at;
      open = undefined;
    }
    at = next;
  }
  return [...pieces, { text: text.slice(said), own: true }];
}
