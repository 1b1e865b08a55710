import type { Message } from "../../core/message.ts";
import type { AttemptFailure, TextModelAnswer, UnfoundClaim } from "../../core/ports.ts";
import { typedText } from "../../core/units.ts";
import { isObject } from "../../errors.ts";
import { type Earlier, readEarlier } from "../extractive/format.ts";
import type { Reading } from "../extractive/reading.ts";
import { familiesIn, keyOf, type Step } from "../extractive/steps.ts";
import { oneLine, parsedJson } from "../extractive/text.ts";
import {
  type Claim,
  claimsIn,
  type KnownText,
  knownText,
  type OutcomeClaim,
  readOutcomeClaim,
} from "./claims.ts";
import { UNFOUND_HEADING } from "./complete.ts";
import { withoutLoneSurrogates } from "./prompts.ts";

// ---- whether an answer is a summary

/** What an answer is validated against. */
export interface Acceptance {
  /** Maximum tokens of the text. */
  readonly maxTokens: number;
  readonly countText: (text: string) => number;
  /** Texts that an answer must not repeat: the summary so far, earlier answers, single messages. */
  readonly stale: readonly string[];
}

/** The text of an answer that may be a summary, or the reason it is rejected. */
export type Judgement =
  | { readonly text: string }
  | { readonly failure: AttemptFailure; readonly detail: string };

const SHORT = 600;
const REFUSAL =
  /^(?:i['’]?m (?:really |very )?sorry|sorry,|i (?:can(?:no|['’])t|am (?:unable|not able)|won['’]t|must decline|will not)|unfortunately,? i can|as an ai\b|es tut mir leid|je (?:suis désolé|ne peux pas)|lo siento|申し訳|抱歉|对不起)/i;
const ERROR_OPENING =
  /^(?:<!doctype html|<html|<\?xml|error(?: generating| creating| while| occurred|:|\s+\d{3})|an (?:internal |unexpected )?error (?:has )?occurred|internal server error|bad gateway|gateway time-?out|service (?:temporarily )?unavailable|too many requests|rate limit|request timed? ?out|upstream (?:connect|request)|overloaded|the (?:server|model|engine|service) (?:had an error|is (?:currently )?(?:overloaded|unavailable|at capacity))|we(?:['’]re| are) (?:sorry|experiencing)|something went wrong|traceback \(most recent|\d{3} (?:bad gateway|internal server error|service unavailable|too many requests|forbidden|unauthorized)|\[?(?:no|empty) (?:summary|response|content)\b|previous conversation was too long|i (?:encountered|ran into) an (?:internal )?error)/i;
const NOISE = /(?![\t\n\r])\p{Cc}|\ufffd/gu;
const MOST_NOISE = 0.02;
/** Repairs a character that was cut in two. */
const MENDABLE = 3;
const FEWEST_LETTERS = 3;
const FEWEST_REPEATED = 40;
const FENCE = /^```(?:\w{0,20})\n([\s\S]*?)\n?```$/;

/** Whether an answer is a summary at all; its claims are checked elsewhere. */
export function judge(answer: TextModelAnswer, acceptance: Acceptance): Judgement {
  const raw = cleaned(answer.text);
  const lacking = judgeStop(answer, raw) ?? judgeText(raw);
  if (lacking !== undefined) return lacking;
  const repeated = acceptance.stale.some((text) => sameWords(text, raw));
  if (repeated) return fail("stale", "repeats what was said before");
  const tokens = acceptance.countText(raw);
  if (tokens > acceptance.maxTokens)
    return fail("too-long", `${tokens} tokens, ${acceptance.maxTokens} allowed`);
  return { text: raw.replace(NOISE, "") };
}

function judgeStop({ stop, usage }: TextModelAnswer, text: string): Judgement | undefined {
  if (stop === "refusal") return fail("refusal", "the provider says that the model refused");
  if (text === "") {
    const thought = stop === "length" || hasReasoning(usage);
    return thought ? fail("reasoning-only", "no text, only reasoning") : fail("empty", "no text");
  }
  if (isRefusal(text)) return fail("refusal", oneLine(text).slice(0, 120));
  if (stop === "length") return fail("truncated", "cut off at the token limit");
  return undefined;
}

function judgeText(text: string): Judgement | undefined {
  if (isErrorText(text)) return fail("error-text", oneLine(text).slice(0, 120));
  const noise = text.match(NOISE)?.length ?? 0;
  if (noise > Math.max(MENDABLE, text.length * MOST_NOISE))
    return fail("malformed", `${noise} unreadable characters`);
  const letters = text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (letters < FEWEST_LETTERS) return fail("empty", "hardly a word");
  const content = text.split("\n").filter((line) => !/^\s*(?:#{1,6}\s.*|[-*>]?\s*)$/.test(line));
  return content.length === 0 ? fail("empty", "headings with nothing below them") : undefined;
}

function fail(failure: AttemptFailure, detail: string): Judgement {
  return { failure, detail };
}

/** The text without lone surrogates and without a code fence around the whole. */
function cleaned(text: string): string {
  const whole = withoutLoneSurrogates(text).trim();
  return (FENCE.exec(whole)?.[1] ?? whole).trim();
}

function isRefusal(text: string): boolean {
  return text.length < SHORT && REFUSAL.test(text) && !text.includes("\n#");
}

function isErrorText(text: string): boolean {
  if (ERROR_OPENING.test(text)) return text.length < SHORT || text.startsWith("<");
  if (!text.startsWith("{") || !text.endsWith("}")) return false;
  const body = parsedJson(text);
  if (!isObject(body)) return false;
  const few = Object.keys(body).length <= 3;
  return "error" in body || "errors" in body || (few && ("detail" in body || "message" in body));
}

function hasReasoning(usage: unknown): boolean {
  return /"(?:reasoning_tokens|thinking_tokens|reasoningTokens|thoughtsTokenCount)":[1-9]/.test(
    JSON.stringify(usage) ?? "",
  );
}

function sameWords(left: string, right: string): boolean {
  const [a, b] = [oneLine(left).toLowerCase(), oneLine(right).toLowerCase()];
  return a === b || (a.length >= FEWEST_REPEATED && a.startsWith(b) && b.length >= a.length * 0.9);
}

// ---- whether the source supports the claims

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
  /** Counts and names of failures. */
  readonly detail: string;
}

export interface SourceInput {
  readonly reading: Reading;
  readonly messages: readonly Message[];
  /** Everything the model read apart from the summary so far. */
  readonly texts: readonly string[];
  readonly previous: string | undefined;
  readonly instruction: string | undefined;
}

/** An unsupported claim and the line that makes it. */
export interface Unfound extends UnfoundClaim {
  readonly line: number;
}

/**
 * Indexes the sources of a summary. A claim that failed an earlier check does not become true by repetition.
 */
export function sourceOf({ reading, messages, texts, previous, instruction }: SourceInput): Source {
  const so = previous === undefined ? "" : withoutUnfound(previous);
  const wish = instruction ?? "";
  const earlier = readEarlier(previous ?? "");
  const saidEarlier = [
    earlier.request,
    ...earlier.rows("rules"),
    ...earlier.episodes.flatMap(({ pieces }) =>
      pieces.filter(({ kind }) => kind === "request" || kind === "user").map(({ text }) => text),
    ),
    ...so.split("\n").filter((line) => claimsIn(line).some((claim) => claim.byUser)),
  ];
  return {
    all: knownText([...texts, so, wish]),
    user: knownText([...userTexts(messages), ...answersIn(reading), ...saidEarlier, wish]),
    checks: [...checksOf(earlier), ...reading.steps.flatMap(checkOf)],
  };
}

/** What people typed in these messages. */
function userTexts(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role !== "user" || message.meta?.synthetic === true) return [];
    return message.parts.flatMap((part) => (part.type === "text" ? [typedText(part.text)] : []));
  });
}

/** What the user chose, approved or refused in tool dialogs. */
function answersIn({ episodes }: Reading): string[] {
  return episodes.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.kind === "answer" ? [entry.answer.about, entry.answer.text] : [])),
  );
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
      return isContradicted(claim.text, checks) ? "outcome" : undefined;
  }
}

/** True if the runs contradict a clause. */
function isContradicted(clause: string, checks: readonly CheckRun[]): boolean {
  const claim = readOutcomeClaim(clause);
  if (claim === undefined) return false;
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
  if (state === "failed") return lastOfEach(runs).every((run) => run.state === "passed");
  return now ? runs.at(-1)?.state === "failed" : runs.every((run) => run.state === "failed");
}

function lastOfEach(runs: readonly CheckRun[]): CheckRun[] {
  return [...new Map(runs.map((run) => [run.command, run])).values()];
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
  return words >= QUOTE_WORDS || /[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{6,}/.test(text)
    ? text.trim().length >= QUOTE_LETTERS
    : false;
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
export function removeUnfound(text: string, unfound: readonly Unfound[]): string {
  const byLine = new Map<number, string[]>();
  for (const claim of unfound) byLine.set(claim.line, [...(byLine.get(claim.line) ?? []), claim.text]);
  const lines = text.split("\n").flatMap((line, index) => {
    const claims = byLine.get(index);
    if (claims === undefined) return [line];
    const kept = withoutClaims(line, claims);
    return kept === undefined ? [] : [kept];
  });
  return withoutBareHeadings(lines).join("\n").trim();
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

function withoutBareHeadings(lines: readonly string[]): string[] {
  return lines.filter((line, index) => {
    const level = headingLevel(line);
    if (level === 0) return true;
    const next = lines.slice(index + 1).find((other) => other.trim() !== "");
    return next !== undefined && (headingLevel(next) === 0 || headingLevel(next) > level);
  });
}

function headingLevel(line: string): number {
  return /^(#{1,6})\s/.exec(line)?.[1]?.length ?? 0;
}
