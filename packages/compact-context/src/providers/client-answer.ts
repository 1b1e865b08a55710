import { jsonText } from "../core/message.ts";
import { defined } from "../errors.ts";
import { objectOf, textOf } from "./request.ts";

/** What clients give back for a request: a promise that can also hand out the raw response. */
export interface ClientAnswer<T> extends Promise<T> {
  asResponse(): Promise<unknown>;
  withResponse(): Promise<unknown>;
}

/** An SDK's own answer to a call that succeeded; its body is not read before `read` is called. */
export interface Made<T> {
  readonly answer: PromiseLike<T>;
  read(): Promise<T>;
}

/** A promise as the SDKs' clients give it, for a call that is made a little later. */
export function laterAnswer<T>(made: Promise<Made<T>>): ClientAnswer<T> {
  return new LaterAnswer(made);
}

/** A class of its own: only then `await` calls its `then`, and the body is read for those who ask for the value. */
class LaterAnswer<T> extends Promise<T> implements ClientAnswer<T> {
  readonly #made: Promise<Made<T>>;
  #value: Promise<T> | undefined;

  constructor(made: Promise<Made<T>>) {
    super(() => undefined);
    this.#made = made;
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise that starts reading when it is asked
  override then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#value ??= this.#made.then((made) => made.read());
    return this.#value.then(done, failed);
  }

  override finally(done?: (() => void) | null): Promise<T> {
    return this.then().finally(done);
  }

  asResponse(): Promise<unknown> {
    return this.#made.then(({ answer }) => (answer as ClientAnswer<T>).asResponse());
  }

  async withResponse(): Promise<unknown> {
    await this;
    return ((await this.#made).answer as ClientAnswer<T>).withResponse();
  }
}

/** What a provider says of a request that is too long, in its own tokens; a field is there where it says so. */
export interface TooLong {
  /** Most tokens that it takes. */
  readonly limit?: number;
  /** Tokens of the request without its answer. */
  readonly input?: number;
  /** Tokens that it sets aside for the answer, out of the same limit. */
  readonly answer?: number;
}

/** The wordings of providers and servers; `client-answer.test.ts` holds each with its source. */
const TOO_LONG: readonly RegExp[] = [
  /\b(?:prompt|input|request|payload|entity|conversation)(?: body| size)?(?: is)? too (?:long|large)/i,
  /\bexceed\w*[^.\n]{0,60}?\bcontext[ _-]?(?:length|window|size|limit)|exceed_context_size/i,
  /(?:\b|_)context[ _-](?:length|window|size|limit)[^.\n]{0,20}exceed/i,
  /\bcontext (?:length|window|size) (?:is|of) (?:only )?[\d,]+/i,
  /\b(?:longer|greater|larger|more) than (?:the |this )?(?:model's |max\w* )?(?:context|model length|tokens allowed)/i,
  /\bmax(?:imum)? (?:context|prompt|sequence|model|allowed input|input) length/i,
  /\b(?:input )?token count\b[^.\n]{0,40}\bexceeds/i,
  /\binput (?:length|tokens)\b[^.\n]{0,40}\bexceeds?\b/i,
  /\brange of input length should be/i,
  /\b(?:exceed\w* (?:the )?(?:model )?token limit|token limit exceeded)/i,
  /\breduce the length of (?:the |your )?(?:messages|prompt|input)/i,
  /\btoo many (?:input |total |prompt )?(?:tokens|text bytes)/i,
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  /\brequest_too_large|\bexceeds the maximum size|payload size exceeds/i,
  /\barray_above_max_length|array too long[^\n]{0,60}maximum length/i,
];

/** Words of a limit that waiting lifts. */
const RATE =
  /rate[ _-]?limit|throttl|quota|too many requests|(?:tokens|requests) per (?:second|min|hour|day)|\bTP[MD]\b|please wait|acceleration limit/i;

/** Answers that say nothing of the length: no access, not found, too often. */
const OTHER_STATUSES: ReadonlySet<unknown> = new Set([401, 402, 403, 404, 405, 408, 409, 429]);

/** Errors are searched up to this length. */
const MOST_WORDS = 4_000;

/** Undefined unless a provider's answer says that a request has more tokens, or bytes, than the model takes. */
export function tooLong(error: unknown): TooLong | undefined {
  const { statusCode, status = statusCode } = objectOf(error);
  const words = wordsOf(error);
  if (OTHER_STATUSES.has(status) || RATE.test(words)) return undefined;
  if (status !== 413 && !TOO_LONG.some((wording) => wording.test(words))) return undefined;
  const said = statedIn(words);
  // The answer alone is over the limit: no shorter list helps.
  return (said.answer ?? 0) >= (said.limit ?? Number.POSITIVE_INFINITY) ? undefined : said;
}

/** Where clients and servers keep what they say. */
function wordsOf(error: unknown): string {
  const { code, message, responseBody, error: body } = objectOf(error);
  const held = typeof body === "object" && body !== null ? jsonText(body) : textOf(body);
  return [code, message, responseBody, held].map(textOf).join("\n").slice(0, MOST_WORDS);
}

const COUNT = "(\\d[\\d,]*)(?![\\d,]| ?(?:bytes|[kmg]b\\b|characters))";

/** One number after another way to say it. */
function counts(...ways: readonly string[]): RegExp {
  return new RegExp(ways.map((way) => way.replace("#", COUNT)).join("|"), "i");
}

const LIMIT = counts(
  "exceed context limit: \\d+ \\+ \\d+ > #",
  "tokens > #",
  "(?:context|model|prompt) length(?: \\(| is | is only | of )#",
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
  "(?:resulted in|contains|prompt has|request has|contains at least) #(?: input)? tokens",
  "token count \\(?(?:of )?#",
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

function statedIn(words: string): TooLong {
  const [limit, answer, together] = [LIMIT, ANSWER, TOGETHER].map((stated) => numberIn(words, stated));
  const whole = together === undefined ? undefined : together - (answer ?? 0);
  return defined({ limit, input: numberIn(words, INPUT) ?? whole, answer });
}

function numberIn(words: string, stated: RegExp): number | undefined {
  const found = stated
    .exec(words)
    ?.slice(1)
    .find((group) => group !== undefined);
  const count = Number(found?.replaceAll(",", ""));
  return count > 0 ? count : undefined;
}

/** Lets every piece of a stream be seen as it passes; anything else is shown once. The very same object comes back. */
export function watch<T>(answer: T, see: (piece: unknown) => void): T {
  const stream = answer as { [Symbol.asyncIterator]?: () => AsyncIterator<unknown> };
  const iterate = typeof answer === "object" && answer !== null ? stream[Symbol.asyncIterator] : undefined;
  if (iterate === undefined) {
    see(answer);
    return answer;
  }
  const pieces = async function* (): AsyncGenerator<unknown> {
    for await (const piece of { [Symbol.asyncIterator]: () => iterate.call(answer) }) {
      see(piece);
      yield piece;
    }
  };
  Object.defineProperty(answer, Symbol.asyncIterator, { value: pieces, configurable: true });
  return answer;
}

/** Methods of an object, or of objects in its fields, that are replaced; each gets the method that was there. */
export interface Overlay {
  readonly [name: string]: Overlay | ((original: Method) => Method);
}

export type Method = (...args: never[]) => unknown;

/** The object with some methods replaced; everything else, private fields too, goes on as before. */
export function overlay<T extends object>(target: T, replaced: Overlay): T {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key, object);
      const branch = typeof key === "string" && Object.hasOwn(replaced, key) ? replaced[key] : undefined;
      if (typeof value === "function") {
        const method = value.bind(object) as Method;
        return typeof branch === "function" ? branch(method) : method;
      }
      const inner = typeof branch === "object" && typeof value === "object" && value !== null;
      return inner ? overlay(value, branch) : value;
    },
  });
}
