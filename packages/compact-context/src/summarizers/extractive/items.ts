import type { Steps } from "../../errors.ts";
import { isLookingCommand } from "./commands.ts";
import { changeWords, type FileChange } from "./edits.ts";
import type { Told } from "./format.ts";
import { outcomeWords, REFUSAL, tookEffect } from "./outcomes.ts";
import { emptiedPieces, foundPieces, reportPieces } from "./outputs.ts";
import { placeWords } from "./places.ts";
import type { Entry, Episode, Reading, Statement } from "./reading.ts";
import {
  answerFirst,
  MAX_CODE,
  MAX_SENTENCE,
  type Piece,
  spokenPiece,
  spokenPieces,
  WEIGHTS,
} from "./remarks.ts";
import type { Item } from "./select.ts";
import { decisionsIn, readSentences } from "./statements.ts";
import { isLaunched, keyOf, type Step } from "./steps.ts";
import { blocksOf, clipEnd, clipLine, groupBy, linesOf, oneLine } from "./text.ts";
import type { Answer } from "./typed.ts";

/** Weight of the oldest piece relative to the newest. */
const OLDEST = 0.5;

/** Weight of a piece by its place in time, from 0 to 1. */
export function ageWeight(time: number): number {
  return OLDEST + (1 - OLDEST) * time;
}

/** The latest messages show where the work stands: how many, and the factor on their weight. */
const NEWEST_MESSAGES = 16;
const NEWEST = 2;
/** The same for what otherwise counts little: the files that were open last, and the lines that were written last. */
const NEWEST_IN_VIEW = 8;

/** Typed messages up to this many characters form one piece. */
const WHOLE_MESSAGE = 360;
/** Maximum characters of a part of a longer one. */
const MAX_PART = 200;
const MAX_WORDS = 300;
const MIN_CODE = 24;
const MESSAGES_OF_A_STEP = 8;

/** All candidate pieces, in chronological order. `shorten` removes the common root from paths. */
export function* itemsOf(reading: Reading, firstEpisode: number, shorten: Scope["shorten"]): Steps<Item[]> {
  const last = reading.messages.length;
  const ageOf = (message: number, kind: Item["kind"]): number => {
    const newest = kind === "looked" || kind === "code" ? NEWEST_IN_VIEW : NEWEST;
    return ageWeight(message / last) * (message >= last - NEWEST_MESSAGES ? newest : 1);
  };
  const scope: Scope = {
    shorten,
    newest: last - NEWEST_MESSAGES,
    decisions: groupBy(reading.decisions, ({ message }) => message),
    asked: false,
  };
  const items: Item[] = [];
  for (const [index, episode] of reading.episodes.entries()) {
    const first = items.length;
    for (const [source, pieces] of piecesOf(episode, scope)) {
      if (source % MESSAGES_OF_A_STEP === 0) yield;
      for (const { kind, text, weight, decides } of pieces) {
        items.push({
          kind,
          decides: decides === true,
          // Typed text keeps its lines and list indentation; elsewhere a line break could forge a section.
          text: kind === "request" || kind === "assistant" ? text : oneLine(text),
          weight: weight * ageOf(source, kind),
          episode: firstEpisode + index,
          order: items.length - first,
          source,
          // What the summary so far tells needs the room, too.
          newest: firstEpisode === 0 && source >= last - NEWEST_MESSAGES,
        });
      }
    }
  }
  return items;
}

interface Scope {
  /** Removes the common root from paths. */
  readonly shorten: (text: string) => string;
  /** First of the newest messages. */
  readonly newest: number;
  /** What each message settled. */
  readonly decisions: ReadonlyMap<number, readonly Statement[]>;
  /** The person's last words ask something. */
  readonly asked: boolean;
}

/** The candidate pieces of an episode by the message that they come from. */
function* piecesOf({ request, about, entries }: Episode, scope: Scope): Generator<[number, Piece[]]> {
  if (request !== undefined && request.stays !== "whole")
    yield [request.message, typedPieces(request.text, about)];
  const steps = entries.flatMap((entry) => (entry.kind === "step" && !entry.step.stays ? [entry.step] : []));
  const last: Last = {
    files: groupBy(filesChanged(steps, scope.shorten), ({ step }) => step),
    runs: groupBy(steps, keyOf),
  };
  let asked = ASKS.test(request?.text ?? "");
  for (const entry of entries) {
    yield [entry.message, entryPieces(entry, last, { ...scope, asked })];
    if (entry.kind === "user") asked = ASKS.test(entry.speech.text);
    else if (entry.kind === "answer") asked ||= ASKS.test(entry.answer.text);
    else if (entry.kind === "assistant") asked &&= !entry.closing;
  }
}

const ASKS = /[?？](?:\s|$)/;

/** A typed text in pieces; a short one with the question it answers. */
export function typedPieces(text: string, about = ""): Piece[] {
  if (text.length <= WHOLE_MESSAGE)
    return [{ kind: "request", text: `${text.trim()}${aboutNote(about)}`, weight: WEIGHTS.typed }];
  const blocks = blocksOf(text, MAX_PART);
  return blocks.map(({ text: block, code }, index) => {
    const asks = index === blocks.length - 1 || /[?？](?: …)?\s*$/m.test(block);
    const weight = index === 0 ? WEIGHTS.typed : asks ? WEIGHTS.typedQuestion : WEIGHTS.typedLine;
    return { kind: "request", text: block, weight: code ? WEIGHTS.typedCode : weight };
  });
}

/** The pieces of an episode of an earlier round, each of the value that it had when it was new. */
export function toldPieces(told: readonly Told[]): (Piece & Pick<Told, "source">)[] {
  const lines = told.filter(({ kind }) => kind === "request").map(({ text }) => text);
  const asked = lines.join("\n");
  // What was typed stays longest: each part of it counts as its first, and no answer to it comes first.
  const typed = (lines.length === 0 ? [] : typedPieces(asked)).map((piece) => ({
    ...piece,
    weight: WEIGHTS.typed,
    source: -1,
  }));
  const closing = told.findLast(({ kind }) => kind === "assistant")?.source;
  const rest = told.slice(lines.length).map(({ kind, text, source }) => ({
    ...valued(kind, text, source === closing),
    source,
  }));
  const answer = ASKS.test(asked) ? rest.findIndex(({ source }) => source === closing) : rest.length;
  return [...typed, ...rest.slice(0, answer), ...answerFirst(rest.slice(answer), false)];
}

function valued(kind: Told["kind"], text: string, closing: boolean): Piece {
  if (kind === "assistant")
    return spokenPiece(text, closing, decisionsIn(readSentences(text), kind).length > 0);
  const weights = { ...WEIGHTS, request: WEIGHTS.typed, user: WEIGHTS.reply, ran: ranWeight(text) };
  return { kind, text, weight: weights[kind] };
}

function ranWeight(text: string): number {
  if (text.startsWith("committed")) return WEIGHTS.committed;
  return /: (?:passed|failed)\b/.test(text) ? WEIGHTS.ran : WEIGHTS.other;
}

export function aboutNote(about: string): string {
  return about === "" ? "" : ` (answers: ${clipLine(about, 240)})`;
}

export interface FileStory {
  readonly path: string;
  readonly effect: FileChange["effect"];
  /** Each change in words, in chronological order. */
  readonly what: readonly string[];
  /** The latest step that changed it. */
  readonly step: Step;
}

/** The files changed by steps, most recently changed last; failed changes are ignored. */
export function filesChanged(steps: readonly Step[], shorten: Scope["shorten"]): FileStory[] {
  const stories = new Map<string, FileStory>();
  const done = steps.filter(({ stays, outcome }) => !stays && tookEffect(outcome));
  const changes = done.flatMap((step) => step.action.files.map((file) => ({ ...file, step })));
  for (const change of changes) {
    const { step } = change;
    const path = shorten(change.path).replace(/^\.\//, "");
    if (change.effect === "read") continue;
    const known = stories.get(path);
    const before = known?.what ?? [];
    const { effect, what } = change.effect === "created" ? written(change, known) : change;
    stories.delete(path);
    stories.set(path, {
      path,
      effect:
        known === undefined || effect === "deleted" || known.effect === "deleted" ? effect : known.effect,
      what: what === "" || before.includes(what) ? before : [...before, what],
      step,
    });
  }
  return [...stories.values()];
}

/** A file that was written as a whole, told as what it replaces. */
function written(
  { what, step }: FileChange & Pick<FileStory, "step">,
  known: FileStory | undefined,
): Pick<FileChange, "effect" | "what"> {
  const isNew = known === undefined || known.effect === "deleted" || known.what.length === 0;
  const again = !isNew && what !== "" && !known.what.includes(what);
  const rewritten = step.action.kind === "edit" && REWRITTEN.test((step.result?.text ?? "").slice(0, 300));
  return {
    effect: rewritten ? "rewritten" : "created",
    what: again ? `written anew with ${what}` : what,
  };
}

/** How tools report that a file which they wrote was there before. */
const REWRITTEN = /\b(?:has been updated|overwr(?:ote|itten))\b/i;

/** An episode's result per file and per command, placed where it last happened. */
interface Last {
  readonly files: ReadonlyMap<Step, readonly FileStory[]>;
  readonly runs: ReadonlyMap<string, readonly Step[]>;
}

function entryPieces(entry: Entry, last: Last, scope: Scope): Piece[] {
  if (entry.kind === "step") return entry.step.stays ? [] : stepPieces(entry.step, last, scope);
  if (entry.kind === "answer")
    return [{ kind: "user", text: answerWords(entry.answer), weight: WEIGHTS.answer }];
  const { text, stays, message } = entry.speech;
  if (stays === "whole") return [];
  if (entry.kind === "foreign") return foreignPieces(text);
  const speaker = SPEAKER.exec(text);
  if (speaker !== null) {
    const lines = foundPieces(text.slice(speaker[0].length), scope.shorten);
    return lines
      .filter((_, at) => at < FIRST_OF_SPEAKER || at >= lines.length - LAST_OF_SPEAKER)
      .map((piece) => ({ kind: "ran", text: `${speaker[1]}: ${piece.text}`, weight: WEIGHTS.emptied }));
  }
  if (entry.kind === "assistant") {
    const pieces = spokenPieces(text, entry.closing, scope.decisions.get(message));
    return scope.asked && entry.closing ? answerFirst(pieces, true) : pieces;
  }
  return [{ kind: "user", text: `${oneLine(text)}${aboutNote(entry.about)}`, weight: WEIGHTS.reply }];
}

/** Lines of what another agent or a program says in one message: a page or a list of files has many. */
const FIRST_OF_SPEAKER = 8;
const LAST_OF_SPEAKER = 4;
/** The line above the words of another agent or a program that speaks in the assistant's place. */
const SPEAKER = /^\[([^\]\n]{2,60})\]\s{0,3}\n/;

const ANSWER_VERBS = { refusal: "refused a call", approval: "approved", choice: "chose" } as const;

function answerWords({ kind, about, text }: Answer): string {
  const words = oneLine(text.replace(/(?<=\S)\n+(?=\S)/g, kind === "choice" ? " · " : " "));
  const said = words === "" ? "" : `${kind === "refusal" ? ", saying" : ""}: ${words}`;
  return `${ANSWER_VERBS[kind]}${said}${about === "" ? "" : ` (${clipLine(about, 240)})`}`;
}

const FOREIGN_HEADING = /^(?:#{1,6}\s+|\*\*|\d{1,2}\.\s+)?(\p{Lu}[\p{L} ,/&()-]{2,60}):?(?:\*\*)?:?\s*$/u;
/** Headings of other writers under which the work goes on. */
const LASTING =
  /request|intent|goal|next|pending|todo|current|remaining|constraint|preference|user|decision/i;

/** The lines of another writer's summary: open work weighs most, code least. */
export function foreignPieces(text: string): Piece[] {
  const lines = linesOf(text);
  // A model's reasoning stands before its summary.
  const from = lines.findIndex(({ text: line }) => ANALYSIS.test(line));
  const to = lines.findIndex(({ text: line }, index) => index > from && SUMMARY.test(line));
  const rest = from >= 0 && to > from ? lines.slice(to) : lines;
  let lasting = true;
  return rest.flatMap(({ text: line, code }): Piece[] => {
    if (FRAME.test(line)) return [];
    const heading = FOREIGN_HEADING.exec(line)?.[1];
    if (heading !== undefined) lasting = LASTING.test(heading);
    const plain = lasting ? WEIGHTS.foreign : WEIGHTS.foreignRest;
    const weight = code || /^\s{8}/.test(line) ? WEIGHTS.typedCode : plain;
    return [{ kind: "foreign", text: clipEnd(line, MAX_SENTENCE), weight }];
  });
}

const ANALYSIS = /^(?:<analysis>|Analysis:)\s*$/;
const SUMMARY = /^(?:<summary>|Summary:|1\. Primary Request)/;
const FRAME =
  /^(?:This session is being continued|Please continue the conversation|If you need specific details from before|<\/?(?:analysis|summary)>|Summary:$)/;

function stepPieces(step: Step, last: Last, scope: Scope): Piece[] {
  const { action, outcome } = step;
  const { shorten } = scope;
  if (step.emptied) return emptiedPieces(step, scope.shorten);
  const changed = (last.files.get(step) ?? []).map((story): Piece => {
    return { kind: "changed", text: shorten(changeWords(story)), weight: WEIGHTS.changed };
  });
  if (action.kind === "edit" && tookEffect(outcome)) return [...changed, ...codePieces(step, scope)];
  if (changed.length > 0) return changed;
  // Of an edit that was refused, the answer tells all.
  if (action.kind === "edit" && outcome.detail === REFUSAL) return [];
  const runs = last.runs.get(keyOf(step)) ?? [];
  return runs.at(-1) === step ? donePieces(step, runs.length, scope) : [];
}

/** What these print is the repository's past, not a finding. */
const LISTS = /\bgit (?:log|status|fetch|branch|diff --(?:stat|name))\b/;

/** A step that changed no file, placed where it last happened. */
function donePieces(step: Step, times: number, scope: Scope): Piece[] {
  const { action } = step;
  const words = clipEnd(scope.shorten(action.words), MAX_WORDS);
  const looks = action.command !== undefined && isLookingCommand(action.command);
  switch (looks ? "search" : action.kind) {
    case "plan":
    case "ask":
      return [];
    case "read":
    case "search":
      return [
        { kind: "looked", text: words, weight: WEIGHTS.looked },
        ...(action.kind === "run" && step.message >= scope.newest && !LISTS.test(action.command ?? "")
          ? foundPieces(step.result?.text ?? "", scope.shorten)
          : []),
      ];
    case "agent":
      return [
        { kind: "ran", text: words, weight: WEIGHTS.other },
        ...(isLaunched(step) ? [] : reportPieces(step)),
      ];
    case "run":
    case "edit":
      return [ranPiece(step, words, times)];
    default:
      return [
        ranPiece(step, words, times),
        ...foundPieces(step.result?.text ?? "", scope.shorten, step.outcome.detail),
      ];
  }
}

function ranPiece({ action, outcome, place }: Step, words: string, times: number): Piece {
  const ended = outcomeWords(outcome);
  const text = `${words}${placeWords(place)}${times > 1 ? ` (${times} times)` : ""}${ended === "" ? "" : `: ${ended}`}`;
  const weight = outcome.verifies ? WEIGHTS.ran : WEIGHTS.other;
  return { kind: "ran", text, weight: action.words.startsWith("committed") ? WEIGHTS.committed : weight };
}

/** Lines added by an edit that its words do not quote, if there is room. */
function codePieces({ action }: Step, { shorten }: Scope): Piece[] {
  const isCode = (line: string): boolean =>
    line.length >= MIN_CODE && line.length <= MAX_CODE && /[a-z]{3}/.test(line);
  return action.files.flatMap(({ path, added, what }) =>
    added
      .filter((line) => isCode(line) && !what.includes(line))
      .map((line) => ({ kind: "code", text: `${shorten(path)}: \`${line}\``, weight: WEIGHTS.code })),
  );
}
