import type { Message } from "../../core/message.ts";
import type { SummaryCheck, UnfoundClaim } from "../../core/ports.ts";
import { typedText } from "../../core/units.ts";
import { type Earlier, readEarlier } from "../extractive/format.ts";
import type { Reading } from "../extractive/reading.ts";
import { familiesIn, keyOf, type Step } from "../extractive/steps.ts";
import { groupBy } from "../extractive/text.ts";
import { type Claim, claimsIn, KnownText, type OutcomeClaim } from "./claims.ts";
import { UNFOUND_HEADING } from "./complete.ts";

// Whether the source of a summary supports its claims.

/** The input of the summary's writer. */
export interface Source {
  readonly all: KnownText;
  /** What people typed or chose, here and in the summary so far. */
  readonly user: KnownText;
  /** Runs of tests, builds and similar, oldest first. */
  readonly checks: readonly CheckRun[];
}

interface CheckRun {
  readonly command: string;
  readonly state: "passed" | "failed" | "unknown";
  readonly detail: string;
}

interface SourceInput {
  readonly reading: Reading;
  readonly messages: readonly Message[];
  /** Everything the model read apart from the summary so far. */
  readonly texts: readonly string[];
  readonly previous: string | undefined;
  readonly instruction: string | undefined;
}

/** An unsupported claim and the line that makes it. */
interface Unfound extends UnfoundClaim {
  readonly line: number;
}

/** Applies a verify mode to one summary; the source is read when it is first needed. */
export function createChecker(
  mode: SummaryCheck["mode"],
  readSource: () => Source,
): {
  /** The text after applying the mode; undefined if nothing is left. */
  mend(text: string): string | undefined;
  /** What to report about the final text. */
  check(text: string): SummaryCheck;
} {
  let source: Source | undefined;
  const find = (text: string): ReturnType<typeof findUnfound> => {
    if (mode === "off") return { checked: 0, unfound: [] };
    source ??= readSource();
    return findUnfound(text, source);
  };
  const removed = new Map<string, UnfoundClaim>();
  return {
    mend(text) {
      if (mode !== "remove") return text;
      const { unfound } = find(text);
      for (const claim of unfound) removed.set(claim.text, claim);
      const rest = removeUnfound(text, unfound);
      return /[\p{L}\p{N}]/u.test(rest) ? rest : undefined;
    },
    check(text) {
      const { checked, unfound } = find(text);
      const all = [...removed.values(), ...unfound].map(({ kind, text: claim }) => ({ kind, text: claim }));
      return { mode, checked: checked + removed.size, unfound: all, removed: removed.size };
    },
  };
}

/**
 * Indexes the sources of a summary. A claim that failed an earlier check does not become true by repetition.
 */
export function sourceOf({ reading, messages, texts, previous = "", instruction = "" }: SourceInput): Source {
  const so = withoutUnfound(previous);
  const earlier = readEarlier(previous);
  const pieces = earlier.episodes.flatMap((episode) => episode.pieces);
  const saidEarlier = [
    earlier.request,
    ...earlier.rows("rules"),
    ...pieces.filter(({ kind }) => kind === "request" || kind === "user").map(({ text }) => text),
    ...so.split("\n").filter((line) => claimsIn(line).some((claim) => claim.byUser)),
  ];
  const typed = messages
    .filter(({ role, meta }) => role === "user" && meta?.synthetic !== true)
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [typedText(part.text)] : [])));
  // What the user chose, approved or refused in tool dialogs.
  const answers = reading.episodes
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => (entry.kind === "answer" ? [entry.answer.about, entry.answer.text] : []));
  return {
    all: new KnownText([...texts, so, instruction]),
    user: new KnownText([...typed, ...answers, ...saidEarlier, instruction]),
    checks: [...checksOf(earlier), ...reading.steps.flatMap(checkOf)],
  };
}

function checkOf(step: Step): CheckRun[] {
  const { verifies, state, detail, failing } = step.outcome;
  return verifies ? [{ command: keyOf(step), state, detail: [detail, ...failing].join(" ") }] : [];
}

function checksOf({ rows }: Earlier): CheckRun[] {
  return rows("checks")
    .toReversed()
    .flatMap((row): CheckRun[] => {
      const [, command, state = "unknown", detail = ""] = /^`(.+)`: (passed|failed)?(.*)$/.exec(row) ?? [];
      return command === undefined ? [] : [{ command, state: state as CheckRun["state"], detail }];
    });
}

function withoutUnfound(previous: string): string {
  const at = previous.indexOf(UNFOUND_HEADING);
  if (at < 0) return previous;
  const denied = [...previous.slice(at).matchAll(/^- (.*\S)/gm)].map(([, claim = ""]) => claim);
  return denied.reduce((text, claim) => text.replaceAll(claim, " "), previous.slice(0, at));
}

/** Sections that state wishes. */
const WISHES = /^#{1,6}\s.*(?:request|goal|rule|constraint|task|next|plan|require|wait|question)/i;

/** Checks every claim of a text against its source. */
export function findUnfound(text: string, source: Source): { checked: number; unfound: Unfound[] } {
  const unfound: Unfound[] = [];
  let checked = 0;
  let wished = false;
  text.split("\n").forEach((content, line) => {
    if (headingLevel(content) > 0) wished = WISHES.test(content);
    for (const claim of claimsIn(content)) {
      if (wished && claim.kind === "outcome") continue;
      checked += 1;
      const kind = lackOf(claim, source);
      if (kind !== undefined) unfound.push({ kind, text: claim.text, line });
    }
  });
  return { checked, unfound };
}

/** The kind of an unsupported claim; undefined if it is supported. */
function lackOf(claim: Claim, { all, user, checks }: Source): UnfoundClaim["kind"] | undefined {
  switch (claim.kind) {
    case "url":
      return all.has(claim.text) ? undefined : "url";
    case "path":
      return hasPath(claim.text, all) ? undefined : "path";
    case "identifier":
      return hasName(claim.text, all) ? undefined : "identifier";
    case "number":
      return all.hasNumber(claim.text) ? undefined : "number";
    case "quote":
      return quoteLack(claim, all, user);
    case "attribution":
      return saidByUser(claim.text, user) ? undefined : "attribution";
    case "outcome":
      return claim.outcome && isContradicted(claim.outcome, checks) ? "outcome" : undefined;
  }
}

function isContradicted(claim: OutcomeClaim, checks: readonly CheckRun[]): boolean {
  const { name, subjects } = claim;
  const named = name === "" ? [] : checks.filter(({ command }) => command.includes(name));
  if (named.length > 0) return disagree(named, claim);
  const about = subjects.map((subject) =>
    checks.filter(({ command }) => familiesIn(command).includes(subject)),
  );
  // A file or test that no command names is judged by the last run that mentions it.
  return about.some((runs) => (name === "" || runs.at(-1)?.detail.includes(name)) && disagree(runs, claim));
}

/** Runs of unknown outcome contradict nothing. */
function disagree(runs: readonly CheckRun[], { state, now }: OutcomeClaim): boolean {
  if (runs.length === 0) return false;
  const lastOfEach = new Map(runs.map((run) => [run.command, run]));
  if (state === "failed") return [...lastOfEach.values()].every((run) => run.state === "passed");
  return now ? runs.at(-1)?.state === "failed" : runs.every((run) => run.state === "failed");
}

const LINE_NUMBER = /:(\d{1,7})(?:[:-](\d{1,7}))?$/;

function hasPath(written: string, all: KnownText): boolean {
  const path = written.replace(/^\.\//, "").replace(/\/$/, "");
  if (all.has(path) || all.has(path.replaceAll("\\", "/"))) return true;
  const place = LINE_NUMBER.exec(path);
  if (place !== null) {
    const numbers = place.slice(1).filter((number) => number !== undefined);
    return numbers.every((number) => all.hasNumber(number)) && hasPath(path.slice(0, place.index), all);
  }
  return isJoined(path, all);
}

/** A folder's full path and a path below it were both read; the writer joined them. */
function isJoined(path: string, all: KnownText): boolean {
  if (!/^[/~]/.test(path)) return false;
  for (let at = path.indexOf("/", 1); at > 0; at = path.indexOf("/", at + 1)) {
    const rest = path.slice(at + 1);
    if (/[/.]/.test(rest) && all.has(path.slice(0, at)) && all.startsPath(rest)) return true;
  }
  return false;
}

function hasName(written: string, all: KnownText): boolean {
  const name = written.replace(/\(.*$/, "");
  if (all.has(name)) return true;
  const pieces = name.split(/[^\p{L}\p{N}_]+/u).filter((piece) => piece.length > 1);
  return pieces.length > 1 && pieces.every((piece) => all.has(piece));
}

const QUOTE_WORDS = 2;
const QUOTE_LETTERS = 6;

function quoteLack(claim: Claim, all: KnownText, user: KnownText): UnfoundClaim["kind"] | undefined {
  const pieces = claim.text.split(/…|\.\.\.|\[[^\]]{0,20}\]/).filter(saysSomething);
  if (!pieces.every((piece) => all.hasWords(piece))) return "quote";
  const isUsers = !claim.byUser || pieces.every((piece) => user.hasWords(piece));
  return isUsers ? undefined : "attribution";
}

function saysSomething(text: string): boolean {
  const words = text.trim().split(/\s+/).length;
  const isLong = words >= QUOTE_WORDS || /[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{6,}/.test(text);
  return isLong && text.trim().length >= QUOTE_LETTERS;
}

/** A paraphrase shares at least a third of its longer words with the original. */
const SHARED = 0.34;
const FEWEST_TELLING = 3;
const REPORTING =
  /^(?:user|users|customer|human|client|operator|said|says|asked|asks|want|wants|wanted|requested|requests|require|requires|required|insists|insisted|approved|confirmed|told|instructed|prefers|preferred|demands|demanded|stated|agreed|authorized|authorised|allowed|that|this|with|have|from|their|they|them|should|must|will|would|could|also|then|when|which)$/;

function saidByUser(line: string, user: KnownText): boolean {
  const words = (line.toLowerCase().match(/\p{L}{4,}/gu) ?? []).filter((word) => !REPORTING.test(word));
  if (words.length < FEWEST_TELLING) return true;
  const shared = words.filter((word) => user.hasStem(word)).length;
  return shared >= words.length * SHARED;
}

const PREFIX = /^(\s*(?:[-*>]\s+|\d{1,3}[.)]\s+)?(?:[^,;.`"]{1,40}:\s+)?)(.*)$/;
const SENTENCE_END = /(?<=[.!?。！？])\s+/;
const ITEM_END = /(?<=[,;])\s+/;
const FEWEST_ITEMS = 3;

/**
 * Removes the phrases with unsupported claims: the list item, else the sentence, else the line. Headings left
 * empty are removed too.
 */
function removeUnfound(text: string, unfound: readonly Unfound[]): string {
  const byLine = groupBy(unfound, (claim) => claim.line);
  const lines = text.split("\n").flatMap((line, index) => {
    const claims = byLine.get(index)?.map((claim) => claim.text);
    return claims === undefined ? line : (withoutClaims(line, claims) ?? []);
  });
  // Headings left empty go as well.
  const kept = lines.filter((line, index) => {
    const level = headingLevel(line);
    if (level === 0) return true;
    const next = lines.slice(index + 1).find((other) => other.trim() !== "");
    return next !== undefined && (headingLevel(next) === 0 || headingLevel(next) > level);
  });
  return kept.join("\n").trim();
}

function withoutClaims(line: string, claims: readonly string[]): string | undefined {
  const [, prefix = "", body = ""] = PREFIX.exec(line) ?? [];
  if (claims.some((claim) => prefix.includes(claim))) return undefined;
  const items = body.split(ITEM_END);
  const isList = items.length >= FEWEST_ITEMS && body.split(SENTENCE_END).length === 1;
  const pieces = isList ? items : body.split(SENTENCE_END);
  const kept = pieces.filter((piece) => !claims.some((claim) => piece.includes(claim)));
  // A claim that spans several pieces cannot be cut out.
  if (kept.length === 0 || kept.length === pieces.length) return undefined;
  return `${prefix}${kept.join(" ").replace(/[,;]$/, "")}`;
}

function headingLevel(line: string): number {
  return /^(#{1,6})\s/.exec(line)?.[1]?.length ?? 0;
}
