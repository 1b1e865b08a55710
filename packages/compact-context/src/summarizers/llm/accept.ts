import type { AttemptFailure, TextModelAnswer } from "../../core/ports.ts";
import { withoutLoneSurrogates } from "./frame.ts";

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
  if (isRefusal(text)) return fail("refusal", opening(text));
  if (stop === "length") return fail("truncated", "cut off at the token limit");
  return undefined;
}

function judgeText(text: string): Judgement | undefined {
  if (isErrorText(text)) return fail("error-text", opening(text));
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
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const few = Object.keys(body).length <= 3;
    return "error" in body || "errors" in body || (few && ("detail" in body || "message" in body));
  } catch {
    return false;
  }
}

function hasReasoning(usage: unknown): boolean {
  return /"(?:reasoning_tokens|thinking_tokens|reasoningTokens|thoughtsTokenCount)":[1-9]/.test(
    JSON.stringify(usage) ?? "",
  );
}

function sameWords(left: string, right: string): boolean {
  const [a, b] = [plain(left), plain(right)];
  return a === b || (a.length >= FEWEST_REPEATED && a.startsWith(b) && b.length >= a.length * 0.9);
}

function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim().toLowerCase();
}

function opening(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 120);
}
