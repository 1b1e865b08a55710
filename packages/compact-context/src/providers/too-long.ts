import { jsonText } from "../core/message.ts";
import type { TooLong } from "../core/request.ts";
import { defined } from "../errors.ts";
import { objectOf, textOf } from "./request.ts";

/** Wordings of providers and servers; `too-long.test.ts` holds each with its source. */
const TOO_LONG: readonly RegExp[] = [
  /\b(?:prompt|input|request|payload|entity|conversation)(?: body| size)?(?: is)? too (?:long|large)/i,
  /\bexceed\w*[^.\n]{0,60}?\bcontext[ _-]?(?:length|window|size|limit)|exceed_context_size/i,
  /(?:\b|_)context[ _-](?:length|window|size|limit)[^.\n]{0,20}exceed|\bcontext shift is disabled/i,
  /\bcontext (?:length|window|size) (?:is|of) (?:only )?[\d,]+/i,
  /\b(?:longer|greater|larger|more) than (?:the |this )?(?:model's |max\w* )?(?:context|model length|tokens allowed)/i,
  /\bmax(?:imum)? (?:context|prompt|sequence|model|allowed input|input) length/i,
  /\b(?:input )?token count\b[^.\n]{0,40}\bexceeds/i,
  /\btoken count (?:of|is) [\d,]+[^\n]{0,40}\bonly supports/i,
  /`inputs` must have less than|(?:prompt|输入|输入内容) ?超长/i,
  /\binput (?:length|tokens)\b[^.\n]{0,40}\bexceeds?\b/i,
  /\brange of input length should be/i,
  /\b(?:exceed\w* (?:the )?(?:model )?token limit|token limit exceeded)/i,
  /\breduce the length of (?:the |your )?(?:messages|prompt|input)/i,
  /\btoo many (?:input |total |prompt )?(?:tokens|text bytes)/i,
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  /\brequest_too_large|\bexceeds the maximum size|payload size exceeds/i,
  /\barray_above_max_length|array too long[^\n]{0,60}maximum length/i,
];

/** Words of limits that are lifted by waiting. */
const RATE =
  /rate[ _-]?limit|throttl|quota|too many requests|(?:tokens|requests) per (?:second|min|hour|day)|\bTP[MD]\b|please wait|acceleration limit/i;

/** A request that alone is over a limit of tokens per minute: waiting does not lift that. */
const OVER_RATE = /\brequest too large\b[^\n]*\btokens per \w+[^\n]*\blimit:? ([\d,]+) requested:? ([\d,]+)/i;

/** Statuses unrelated to the length: no access, not found, timeout. */
const OTHER_STATUSES: ReadonlySet<unknown> = new Set([401, 402, 403, 404, 405, 408, 409]);

/** Maximum length of errors that are searched, in characters. */
const MOST_WORDS = 4_000;

/**
 * Undefined unless the error says that a request has more tokens, or bytes, than the model accepts; `asked` are
 * the tokens that the request reserved for its answer.
 */
export function tooLong(error: unknown, asked?: number): TooLong | undefined {
  const { statusCode, status = statusCode } = objectOf(error);
  const words = wordsOf(error);
  const [, limit = 0, together = 0] = OVER_RATE.exec(words)?.map(numberOf) ?? [];
  const overRate = together > limit ? { limit, together } : undefined;
  if (OTHER_STATUSES.has(status)) return undefined;
  if (overRate === undefined && (status === 429 || RATE.test(words))) return undefined;
  if (status !== 413 && !TOO_LONG.some((wording) => wording.test(words))) return undefined;
  const said = statedIn(words, asked, overRate);
  // The answer alone exceeds the limit: no shorter list helps.
  return (said.answer ?? 0) >= (said.limit ?? Number.POSITIVE_INFINITY) ? undefined : said;
}

/** Fields in which clients and servers keep error messages. */
function wordsOf(error: unknown): string {
  const { code, message, responseBody, error: body } = objectOf(error);
  const held = typeof body === "object" && body !== null ? jsonText(body) : textOf(body);
  return [code, message, responseBody, held].map(textOf).join("\n").slice(0, MOST_WORDS);
}

const COUNT = "(\\d[\\d,]*)(?![\\d,]| ?(?:bytes|[kmg]b?\\b|characters))";

/** One number after another way to say it. */
function counts(...ways: readonly string[]): RegExp {
  return new RegExp(ways.map((way) => way.replace("#", COUNT)).join("|"), "i");
}

const LIMIT = counts(
  "exceed context limit: \\d+ \\+ \\d+ > #",
  "tokens > #",
  "(?:context|model|prompt) length(?: \\(|: | is | is only | of )#",
  "only supports up to #",
  "must have less than #",
  "limit (?:for this model )?is #",
  "in prompt: \\d+ > #",
  "(?:token size|tokens limit|max size:) #",
  "input length of #",
  "(?:tokens allowed|context size) (?:\\(|is )?#",
  "(?:configured|the) limit of #",
  "token limit: #",
  "model with #",
  "must be <= #",
  "should be \\[\\d+, ?#",
  '"n_ctx": ?#',
);
const INPUT = counts(
  "exceed context limit: #",
  "too long: #",
  "in prompt: #",
  "tokens\\. Given: #",
  "current length is #",
  "input (?:tokens|length) #",
  "(?:resulted in|contains|prompt has|request has|contains at least) #(?: input)? tokens",
  "token count \\(?(?:of |is )?#",
  "input length \\(?#",
  "(?:input|request|prompt) \\((?:length )?#",
  "given: # `inputs`",
  '"n_prompt_tokens": ?#',
);
const ANSWER = counts(
  "exceed context limit: \\d+ \\+ #",
  "# (?:tokens )?(?:in|for) the (?:completion|output)",
  "requested # output tokens",
  "and # `max_new_tokens`",
  "max_completion_tokens' is too large: #",
  "max_tokens' is too large: #",
);
/** Input and answer together. */
const TOGETHER = counts("requested:? (?:about )?#(?: tokens|\\))");

function statedIn(
  words: string,
  asked = 0,
  { limit, together } = { limit: numberIn(words, LIMIT), together: numberIn(words, TOGETHER) },
): TooLong {
  const stated = numberIn(words, ANSWER);
  const answer = stated ?? (together === undefined || asked === 0 ? undefined : asked);
  const whole = together === undefined ? undefined : together - (answer ?? 0);
  return defined({ limit, input: numberIn(words, INPUT) ?? whole, answer });
}

function numberIn(words: string, stated: RegExp): number | undefined {
  const found = stated
    .exec(words)
    ?.slice(1)
    .find((group) => group !== undefined);
  return numberOf(found ?? "") || undefined;
}

function numberOf(digits: string): number {
  return Number(digits.replaceAll(",", ""));
}
