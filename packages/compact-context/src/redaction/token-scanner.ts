import type { Finding } from "./finding.ts";
import {
  ALPHABETS,
  type Alphabet,
  hasChecksum,
  partsOf,
  type Run,
  TOKEN_FORMATS,
  type TokenFormat,
} from "./formats.ts";

interface Compiled {
  readonly format: TokenFormat;
  readonly kind: string;
  readonly prefix: string;
  readonly parts: readonly (string | Run)[];
}

/** Which characters an alphabet has, and where the last few of its runs that were walked begin and end. */
interface Walker {
  readonly has: Uint8Array;
  readonly starts: number[];
  readonly ends: number[];
  oldest: number;
}
/** Made when a run of the alphabet is walked first: most texts have none. */
type Walkers = Partial<Record<Alphabet, Walker>>;

const ASCII = 128;
const FEWEST_DIFFERENT = 5;
/** No format has as many runs of one alphabet whose length is open. */
const REMEMBERED = 4;

/** Formats by the code of their first two characters, the longest prefix first. */
const BY_BEGINNING = beginnings(TOKEN_FORMATS.map(compiled));
const CAN_BEGIN = new Uint8Array(ASCII * ASCII);
for (const code of BY_BEGINNING.keys()) CAN_BEGIN[code] = 1;
const MEMBERS = Object.fromEntries(
  Object.entries(ALPHABETS).map(([name, characters]) => [name, membersOf(characters)]),
) as Record<Alphabet, Uint8Array>;

/**
 * Tokens that show by their beginning. Every character is looked at once for beginnings and once by each
 * alphabet: a run that was walked is remembered, so the time is linear whatever the text.
 */
export function findTokens(text: string): Finding[] {
  const found: Finding[] = [];
  const walkers: Walkers = {};
  const last = text.length - 1;
  for (let index = 0; index < last; index++) {
    const first = text.charCodeAt(index);
    const second = text.charCodeAt(index + 1);
    const code = first * ASCII + second;
    if (first >= ASCII || second >= ASCII || CAN_BEGIN[code] === 0) continue;
    const finding = tokenAt(text, index, BY_BEGINNING.get(code) ?? [], walkers);
    if (finding === undefined) continue;
    found.push(finding);
    index = finding.end - 1;
  }
  return found;
}

function tokenAt(
  text: string,
  start: number,
  candidates: readonly Compiled[],
  walkers: Walkers,
): Finding | undefined {
  const atBoundary = isAtBoundary(text, start);
  for (const candidate of candidates) {
    const { prefix, format, kind } = candidate;
    const begins = atBoundary || (prefix.length >= 4 && isAfterDash(text, start));
    const end = begins || format.check !== undefined ? endAt(text, start, candidate, walkers) : undefined;
    if (end !== undefined && isToken(text.slice(start + prefix.length, end), format, begins))
      return { start, end, kind };
  }
  return undefined;
}

function endAt(
  text: string,
  start: number,
  { prefix, parts }: Compiled,
  walkers: Walkers,
): number | undefined {
  if (!text.startsWith(prefix, start)) return undefined;
  const reach = endOfToken(text, start, parts, walkers);
  // A full stop ends the sentence, not the token.
  return reach !== undefined && text.charAt(reach - 1) === "." ? reach - 1 : reach;
}

function isToken(body: string, format: TokenFormat, atBoundary: boolean): boolean {
  if (!hasDifferent(body)) return false;
  if (format.digit === true && !(/\d/.test(body) && /[A-Za-z]/.test(body))) return false;
  return atBoundary || hasChecksum(body);
}

/** Where the token ends; undefined when a part does not fit or the token goes on beyond its length. */
function endOfToken(
  text: string,
  start: number,
  parts: readonly (string | Run)[],
  walkers: Walkers,
): number | undefined {
  let at = start;
  for (const [index, part] of parts.entries()) {
    if (typeof part === "string") {
      if (!text.startsWith(part, at)) return undefined;
      at += part.length;
      continue;
    }
    walkers[part.alphabet] ??= { has: MEMBERS[part.alphabet], starts: [], ends: [], oldest: 0 };
    const end = endOfRun(text, at, walkers[part.alphabet] as Walker);
    const next = parts[index + 1];
    const length = lengthOfRun(text, { at, end, part, next });
    if (length === undefined) return undefined;
    at += length;
  }
  return at;
}

interface Reach {
  readonly at: number;
  readonly end: number;
  readonly part: Run;
  readonly next: string | Run | undefined;
}

function lengthOfRun(text: string, { at, end, part, next }: Reach): number | undefined {
  const { least, most } = part;
  if (typeof next === "string") {
    // What parts two runs may be of the alphabet of the first: then the first is as long as its least.
    for (const length of [end - at, least]) {
      if (length >= least && length <= most && text.startsWith(next, at + length)) return length;
    }
    return undefined;
  }
  if (end - at < least) return undefined;
  if (end - at <= most) return end - at;
  return most >= 100 ? most : undefined;
}

/** Where the run of an alphabet that holds `at` ends; each run is walked once. */
function endOfRun(text: string, at: number, walker: Walker): number {
  for (let slot = 0; slot < REMEMBERED; slot++) {
    const known = walker.ends[slot] ?? 0;
    if (at < known && at >= (walker.starts[slot] ?? 0)) return known;
  }
  let end = at;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code >= ASCII || walker.has[code] === 0) break;
  }
  walker.starts[walker.oldest] = at;
  walker.ends[walker.oldest] = end;
  walker.oldest = (walker.oldest + 1) % REMEMBERED;
  return end;
}

/** True where a word begins: also behind an escape (`\n`) and a percent code (`%3D`). */
function isAtBoundary(text: string, start: number): boolean {
  const before = text.charAt(start - 1);
  if (!/[A-Za-z0-9_-]/.test(before)) return true;
  return /(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|--|[a-z]_)$/.test(
    text.slice(Math.max(0, start - 6), start),
  );
}

/** Behind `dump-` or `my_`, a beginning of four characters is enough. */
function isAfterDash(text: string, start: number): boolean {
  return /[_-]/.test(text.charAt(start - 1));
}

function hasDifferent(body: string): boolean {
  return new Set(body.slice(0, 64)).size >= FEWEST_DIFFERENT;
}

function compiled(format: TokenFormat): Compiled {
  const parts = partsOf(format.shape);
  const [prefix] = parts;
  if (typeof prefix !== "string" || prefix.length < 2)
    throw new RangeError(`${format.shape} does not begin with two characters of its own`);
  return { format, kind: `token:${format.issuer}`, prefix, parts };
}

function beginnings(formats: readonly Compiled[]): Map<number, Compiled[]> {
  const found = new Map<number, Compiled[]>();
  for (const format of formats.toSorted((one, other) => other.prefix.length - one.prefix.length)) {
    const code = format.prefix.charCodeAt(0) * ASCII + format.prefix.charCodeAt(1);
    found.set(code, [...(found.get(code) ?? []), format]);
  }
  return found;
}

function membersOf(characters: string): Uint8Array {
  const members = new Uint8Array(ASCII);
  for (const character of characters) members[character.charCodeAt(0)] = 1;
  return members;
}

interface AnchoredToken {
  readonly issuer: string;
  /** Bounded throughout; the whole match is the token. */
  readonly pattern: RegExp;
  /** Text without which there is none. */
  readonly anchor: string;
}

/** Tokens that show by something in their middle or at their end. */
const ANCHORED_TOKENS: readonly AnchoredToken[] = [
  {
    issuer: "HashiCorp Terraform",
    anchor: ".atlasv1.",
    pattern: /\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{55,75}/g,
  },
  { issuer: "Azure", anchor: "Q~", pattern: /(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])/g },
  { issuer: "Azure DevOps", anchor: "AZDO", pattern: /\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b/g },
  { issuer: "Azure Storage", anchor: "+ASt", pattern: /[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{5,8}={0,2}/g },
  { issuer: "Azure", anchor: "JQQJ99", pattern: /\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}\b/g },
  { issuer: "MaxMind", anchor: "_mmk", pattern: /\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b/g },
  { issuer: "Mailchimp", anchor: "-us", pattern: /\b[0-9a-f]{32}-us\d{1,2}\b/g },
  { issuer: "Telegram", anchor: ":A", pattern: /\b\d{8,10}:A[\w-]{33,35}(?![\w-])/g },
  { issuer: "Discord", anchor: ".", pattern: /\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])/g },
  { issuer: "Facebook", anchor: "|", pattern: /\b\d{15,16}\|[\w-]{27,40}\b/g },
  { issuer: "Twitter", anchor: "-", pattern: /\b\d{15,19}-[A-Za-z0-9]{40}\b/g },
  { issuer: "Mailgun", anchor: "-", pattern: /\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b/g },
  { issuer: "OpenAI", anchor: "T3BlbkFJ", pattern: /\b[\w-]{20,80}T3BlbkFJ[\w-]{20,80}/g },
  {
    issuer: "Sidekiq",
    anchor: "contribsys",
    pattern: /\b[0-9a-f]{8}:[0-9a-f]{8}(?=@(?:gems|enterprise)\.contribsys)/g,
  },
  {
    issuer: "Sidekiq",
    anchor: "CONTRIBSYS__COM",
    pattern: /(?<=CONTRIBSYS__COM["'\s=:]{1,5})[0-9a-f]{8}:[0-9a-f]{8}\b/g,
  },
];

/** Tokens whose mark is not at their beginning. */
export function* findAnchoredTokens(text: string): Generator<Finding> {
  for (const { issuer, anchor, pattern } of ANCHORED_TOKENS) {
    if (!text.includes(anchor)) continue;
    for (const match of text.matchAll(pattern)) {
      yield { start: match.index, end: match.index + match[0].length, kind: `token:${issuer}` };
    }
  }
}
