import { escapeSummaryTags } from "../../core/message.ts";
import type { AttemptFailure, TextModelAnswer, UnfoundClaim } from "../../core/ports.ts";
import { isObject } from "../../errors.ts";
import { HEADINGS, SHORT_WRITTEN_INTRODUCTION, WRITTEN_INTRODUCTION } from "../extractive/format.ts";
import { clipLine, oneLine, parsedJson } from "../extractive/text.ts";
import type { FactsBlock } from "./facts.ts";
import { withoutLoneSurrogates } from "./prompts.ts";

type CountText = (text: string) => number;

/** Below this a summary is the model's prose alone. */
const LEAST_FOR_FACTS = 160;
const ROOMY = 300;
/** Most of the room that facts and warnings may claim before the prose is written. */
const FACTS_SHARE = 0.4;
const WARNINGS_SHARE = 0.06;
/** A heading and one claim. */
const LEAST_FOR_WARNINGS = 24;
/** How texts join. */
const SLACK = 6;

/** How the room of a summary is divided before the prose is known. */
export interface Division {
  /** Most tokens of the prose. */
  readonly prose: number;
  /** False where the room is too small for anything but prose. */
  readonly facts: boolean;
}

/** Leaves the prose what the facts do not need. */
export function divideRoom(maxTokens: number, facts: FactsBlock | undefined, countText: CountText): Division {
  if (facts === undefined) return { prose: Math.max(0, Math.floor(maxTokens)), facts: false };
  if (maxTokens < LEAST_FOR_FACTS) return { prose: Math.max(0, Math.floor(maxTokens)), facts: false };
  const wanted = facts.lines(Math.floor(maxTokens * FACTS_SHARE), "");
  const reserved = countText(`${introductionFor(maxTokens)}\n${wanted.join("\n")}\n`) + SLACK;
  return { prose: Math.max(0, Math.floor(maxTokens - reserved)), facts: true };
}

/** False where a summary is so short that introduction and facts are kept to what matters most. */
export function isRoomy(maxTokens: number): boolean {
  return maxTokens >= ROOMY;
}

function introductionFor(maxTokens: number): string {
  return isRoomy(maxTokens) ? WRITTEN_INTRODUCTION : SHORT_WRITTEN_INTRODUCTION;
}

/** Prose, the facts that a program found, and a warning of what was not found; at most `maxTokens` tokens. */
export function completeSummary(
  prose: string,
  facts: FactsBlock,
  unfound: readonly UnfoundClaim[],
  { maxTokens, countText }: { readonly maxTokens: number; readonly countText: CountText },
): string {
  const head = [introductionFor(maxTokens), ...ownHeadingsLowered(prose).split("\n")].map(escapeSummaryTags);
  const left = maxTokens - countText(`${head.join("\n")}\n`) - SLACK;
  const warnings = unfoundLines(
    unfound,
    Math.min(left, Math.max(LEAST_FOR_WARNINGS, maxTokens * WARNINGS_SHARE)),
    countText,
  );
  const spent = warnings.length === 0 ? 0 : countText(`${warnings.join("\n")}\n`);
  for (let room = left - spent; room > 0; room = Math.floor(room * 0.9) - 1) {
    const lines = [...head, ...facts.lines(room, prose), ...warnings].map(escapeSummaryTags);
    const text = lines.join("\n");
    if (countText(text) <= maxTokens) return text;
  }
  const bare = [...head, ...warnings].map(escapeSummaryTags).join("\n");
  return countText(bare) <= maxTokens ? bare : escapeSummaryTags(prose);
}

/** Heads the claims of a summary that its source does not hold. */
export const UNFOUND_HEADING: string = `## ${HEADINGS.unfound}`;

const OWN_HEADINGS: ReadonlySet<string> = new Set(Object.values(HEADINGS).map((name) => `## ${name}`));

const INTRODUCTIONS = [WRITTEN_INTRODUCTION, SHORT_WRITTEN_INTRODUCTION];

/** The prose of a completed summary; the whole of any other text. */
export function proseOf(summary: string): string {
  const introduction = INTRODUCTIONS.find((text) => summary.startsWith(text));
  if (introduction === undefined) return summary;
  const lines = summary.slice(introduction.length).trimStart().split("\n");
  const end = lines.findIndex((line) => OWN_HEADINGS.has(line));
  return lines.slice(0, end < 0 ? lines.length : end).join("\n");
}

// A later round reads the program's sections by their headings: prose cannot pass for one of them.
function ownHeadingsLowered(prose: string): string {
  return prose
    .split("\n")
    .map((line) => (OWN_HEADINGS.has(line.trimEnd()) ? `#${line}` : line))
    .join("\n");
}

/** What an answer is held against. */
export interface Acceptance {
  /** Most tokens the text may have. */
  readonly maxTokens: number;
  readonly countText: (text: string) => number;
  /** Texts that an answer must not repeat: the summary so far, earlier answers, single messages. */
  readonly stale: readonly string[];
}

/** The text of an answer that may be a summary, or why it is none. */
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
/** A character that was cut in two is mended. */
const MENDABLE = 3;
const FEWEST_LETTERS = 3;
const FEWEST_REPEATED = 40;
const FENCE = /^```(?:\w{0,20})\n([\s\S]*?)\n?```$/;

/** Whether an answer is a summary at all; what it says is checked elsewhere. */
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

const MOST = 16;
const LONGEST = 160;

/** The lines that warn the reader of claims that were not found, in at most `room` tokens. */
function unfoundLines(
  unfound: readonly UnfoundClaim[],
  room: number,
  countText: (text: string) => number,
): string[] {
  const texts = [...new Set(unfound.map((claim) => clipLine(claim.text, LONGEST)))].slice(0, MOST);
  const lines: string[] = [];
  let left = room - countText(`${UNFOUND_HEADING}\n`);
  for (const text of texts) {
    const cost = countText(`- ${text}\n`);
    if (cost > left) break;
    left -= cost;
    lines.push(`- ${text}`);
  }
  return lines.length === 0 ? [] : [UNFOUND_HEADING, ...lines];
}
