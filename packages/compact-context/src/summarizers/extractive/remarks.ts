import type { Statement } from "./reading.ts";
import type { Item } from "./select.ts";
import { blocksOf, clipEnd, depthOf, linesOf, oneLine, quotedCode, withoutMarks } from "./text.ts";

// What pieces weigh, and the assistant's words in pieces.

/** Relative weight of each kind of piece; tuned on recorded sessions (docs/summaries.md). */
export const WEIGHTS = {
  /** A message typed by the user, whole or its first line. */
  typed: 5,
  typedLine: 1.6,
  /** A further part that asks something, or is the last. */
  typedQuestion: 2,
  typedCode: 0.7,
  reply: 6,
  answer: 6,
  /** The first words of the assistant's answer to a question. */
  answered: 4,
  /** The assistant's last words before the user's next message. */
  closing: 2.6,
  decision: 2.4,
  /** Says what was wrong, or why. */
  finding: 2.4,
  explained: 1.8,
  remark: 1.2,
  /** "Let me look at …": announces a step, which the step itself shows. */
  narration: 0.2,
  report: 0.4,
  changed: 2.2,
  code: 0.35,
  ran: 1.6,
  committed: 4,
  other: 0.8,
  looked: 0.1,
  found: 0.3,
  /** The only content left of a cleared output. */
  emptied: 1,
  foreign: 2,
  foreignRest: 1.2,
} as const;

export type Piece = Pick<Item, "kind" | "text" | "weight" | "decides">;

export const MAX_SENTENCE = 420;
export const MAX_CODE = 200;
/** Lines of code that are told behind the words which introduce them. */
const MOST_CODE_LINES = 3;
const EXPLAINS =
  /\b(?:because|root cause|the (?:issue|problem|bug|reason|cause|fix) (?:is|was|here)|turns out|that(?:'s| is) why|since|so that|which means|instead of|rather than|but (?:the|it|this)|fail(?:s|ed|ing)?|found|missing)\b/i;
const FINDS =
  /\b(?:root cause|turns out|the (?:real |actual |core |key |underlying )?(?:issue|problem|bug|cause|reason|insight) (?:is|was)\b|found (?:the|it)\b|that(?:['’]s| is) why|this (?:means|explains)\b)/i;
export const NARRATION: RegExp =
  /^(?:now |good|great|perfect|ok(?:ay)?|excellent|alright|sure|right)?[,.!]?\s*(?:now |next,? )?(?:let me|let's (?:look|check|see|start|run|verify)|i['’]ll (?:now |start|also |read|look|check|run|inspect|create|add|update)|i['’]m (?:now |also |just )?(?:read|check|inspect|search|load|verify)ing\b(?!.*[:;])|i need to|now i|(?:now|next|then|first|finally|also),? (?:update|find|remove|add|fix|create|run|check|write|replace|edit|change|move|verify|test|lint)\b[^.]{0,200}[:.]$)/i;

/** Sentences of a paragraph are joined up to this many characters. */
const TOGETHER = 160;

export function spokenPieces(text: string, closing: boolean, decisions: readonly Statement[] = []): Piece[] {
  const chosen = decisions.map((decision) => bare(decision.text));
  let offered = false;
  const lines: [line: string, code: string[]][] = [];
  for (const { text: line, code } of linesOf(text)) {
    if (!code) lines.push([line, []]);
    else lines.at(-1)?.[1].push(line);
  }
  return [...new Map(lines.map((one) => [JSON.stringify(one), one])).values()]
    .flatMap(([line, code]) => withCode(paragraphPieces(line), code))
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .map((part) => {
      const decides = chosen.some((decision) => part.includes(decision));
      offered = depthOf(part) < 0 ? OFFERS.test(part) : offered;
      const piece = spokenPiece(clipEnd(part, MAX_SENTENCE), closing, decides);
      return offered && depthOf(part) >= 0 && !decides ? { ...piece, weight: WEIGHTS.other } : piece;
    });
}

export function spokenPiece(text: string, closing: boolean, decides: boolean): Piece {
  const says = decides ? "decision" : kindOfRemark(text);
  const weight = WEIGHTS[says === "remark" && closing ? "closing" : says];
  return { kind: "assistant", text, weight, decides };
}

/** Code that words introduce stands behind them if it is as short as a value or a command. */
function withCode(parts: readonly string[], code: readonly string[]): readonly string[] {
  const told = code.map((line) => quotedCode(oneLine(line))).join(" ");
  const last = parts.at(-1) ?? "";
  const belongs = last.endsWith(":") && code.length <= MOST_CODE_LINES && told.length <= MAX_CODE;
  return belongs && told !== "" ? [...parts.slice(0, -1), `${last} ${told}`] : parts;
}

/** Introduces ways of which one is chosen: a reply quotes that one. */
const OFFERS = /\b(?:options?|alternatives|approaches|possibilities)\b[^.!?]{0,60}[:?]$/i;

/** A line of prose in parts of some sentences; an item of a list or a row of a table as one, indented as it was. */
function paragraphPieces(line: string): string[] {
  const plain = bare(line);
  if (HEADING.test(line)) return [plain.endsWith(":") ? plain : `${plain}:`];
  const row = /^\|(.+)\|$/.exec(plain)?.[1]?.trim();
  if (row !== undefined) return [`- ${row}`];
  const [listed, indent = "", number = "- "] = LISTED.exec(line) ?? [];
  if (listed !== undefined) return [`${"  ".repeat(Math.min(indent.length / 2, 3))}${number}${plain}`];
  return blocksOf(plain, TOGETHER).map(({ text }) => text);
}

/** Bold words, but not the asterisks of a path such as `src/**`. Underscores more often belong to names. */
const BOLD = /(?<![\w/*])\*\*(?=[^\s*/])([^*\n]{1,400}?)(?<=[^\s*])\*\*(?![\w/*])/g;
const HEADING = /^\s{0,3}(?:#{1,6}\s|\*\*[^*]{1,120}\*\*:?\s*$)/;
const LISTED = /^(\s*)(?:[-*+•]\s|(\d{1,3}[.)]\s))/;

/** Words on one line, without list, heading and emphasis markers. */
export function bare(text: string): string {
  return oneLine(withoutMarks(text.trim()).replace(BOLD, "$1"));
}

function kindOfRemark(sentence: string): "narration" | "finding" | "explained" | "remark" {
  if (NARRATION.test(sentence)) return "narration";
  if (FINDS.test(sentence)) return "finding";
  return EXPLAINS.test(sentence) ? "explained" : "remark";
}

/** What is asked is answered first: "No, it is fixed in the code." `lasts` says whether that answer counts as a decision. */
export function answerFirst<Told extends Piece>(pieces: readonly Told[], lasts: boolean): Told[] {
  const first = pieces.find(
    ({ weight, text }) =>
      weight > WEIGHTS.narration && (!text.endsWith(":") || /^(?:yes|no|not)\b/i.test(text)),
  );
  return pieces.map((piece) =>
    piece === first
      ? {
          ...piece,
          text: piece.text.replace(/:$/, " …"),
          weight: Math.max(piece.weight, WEIGHTS.answered),
          decides: lasts || piece.decides,
        }
      : piece,
  );
}
