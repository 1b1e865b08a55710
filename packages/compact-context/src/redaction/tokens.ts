import type { Finding } from "./finding.ts";
import {
  ALPHABETS,
  type Alphabet,
  CHECK_LENGTH,
  checksumOf,
  partsOf,
  type Run,
  type TokenFormat,
  tokenFormats,
} from "./formats.ts";

// Tokens recognizable by their own format, found by a scanner that reads each run of characters once.

/** True if the last six characters of a token's body are the checksum of the others. */
function hasChecksum(body: string): boolean {
  return checksumOf(body.slice(0, -CHECK_LENGTH)) === body.slice(-CHECK_LENGTH);
}

interface Compiled {
  readonly format: TokenFormat;
  readonly kind: string;
  readonly prefix: string;
  readonly parts: readonly (string | Run)[];
}

/** An alphabet's characters, and the bounds of its most recently scanned runs. */
interface Walker {
  readonly has: Uint8Array;
  readonly starts: number[];
  readonly ends: number[];
  oldest: number;
}
/** Created when a run of the alphabet is first scanned; most texts have none. */
type Walkers = Partial<Record<Alphabet, Walker>>;

const ASCII = 128;
const FEWEST_DIFFERENT = 5;
/** A placeholder in a template file: `ghp_replace_me`, `xoxb-your-token`. */
const SAYS_SO = /(?:^|[-_.])(?:your|replace|insert)[-_]|[-_]here$/i;
/** No format has more runs of variable length in one alphabet. */
const REMEMBERED = 4;

/** Formats by the code of their first two characters, longest prefix first; built by the first search. */
let byBeginning: Map<number, Compiled[]> | undefined;
/** By the code of two characters: a bit for each third character of a prefix, by its code modulo 32. */
const GOES_ON = new Int32Array(ASCII * ASCII);
const ANY = -1;

function formatsByBeginning(): Map<number, Compiled[]> {
  if (byBeginning === undefined) {
    byBeginning = beginnings(tokenFormats().map(compiled));
    for (const [code, formats] of byBeginning)
      for (const { prefix } of formats)
        GOES_ON[code] = (GOES_ON[code] as number) | (prefix.length > 2 ? 1 << prefix.charCodeAt(2) : ANY);
  }
  return byBeginning;
}

const MEMBERS = Object.fromEntries(
  Object.entries(ALPHABETS).map(([name, characters]) => [name, membersOf(characters)]),
) as Record<Alphabet, Uint8Array>;

/**
 * Tokens with a fixed prefix. Every character is tested once for prefixes and once per alphabet: scanned runs
 * are cached, so the time is linear for any text.
 */
export function findTokens(text: string): Finding[] {
  const found: Finding[] = [];
  const walkers: Walkers = {};
  const formats = formatsByBeginning();
  for (let index = nextBeginning(text, 0); index !== -1; index = nextBeginning(text, index + 1)) {
    const code = text.charCodeAt(index) * ASCII + text.charCodeAt(index + 1);
    const finding = tokenAt(text, index, formats.get(code) ?? [], walkers);
    if (finding === undefined || isKeyId(text, finding)) continue;
    found.push(finding);
    index = finding.end - 1;
  }
  return found;
}

/** The next position from `from` whose three characters can begin a token; -1 if there is none. */
function nextBeginning(text: string, from: number): number {
  const last = text.length - 2;
  for (let index = from; index < last; index++) {
    const first = text.charCodeAt(index);
    const second = text.charCodeAt(index + 1);
    if (first >= ASCII || second >= ASCII) continue;
    const thirds = GOES_ON[first * ASCII + second] as number;
    if (thirds !== 0 && ((thirds >>> text.charCodeAt(index + 2)) & 1) === 1) return index;
  }
  return -1;
}

function tokenAt(
  text: string,
  start: number,
  candidates: readonly Compiled[],
  walkers: Walkers,
): Finding | undefined {
  let atBoundary: boolean | undefined;
  for (const candidate of candidates) {
    const { prefix, format, kind } = candidate;
    if (!text.startsWith(prefix, start)) continue;
    atBoundary ??= isAtBoundary(text, start);
    const begins = atBoundary || (prefix.length >= 4 && isAfterDash(text, start));
    const end = begins || format.check !== undefined ? endAt(text, start, candidate, walkers) : undefined;
    if (end !== undefined && isToken(text.slice(start + prefix.length, end), format, begins))
      return { start, end, kind };
  }
  return undefined;
}

/** An AWS access key id is not a secret if its label says that it is an id. */
function isKeyId(text: string, { kind, start }: Finding): boolean {
  if (kind !== "token:AWS") return false;
  const before = text.slice(Math.max(0, start - 30), start);
  return /(?:key[_ -]?id|user(?:name)?|x-amz-credential)\W{1,12}(?:none\W{1,4})?$/i.test(before);
}

function endAt(text: string, start: number, { parts }: Compiled, walkers: Walkers): number | undefined {
  const reach = endOfToken(text, start, parts, walkers);
  // A final dot ends the sentence, not the token.
  return reach !== undefined && text.charAt(reach - 1) === "." ? reach - 1 : reach;
}

function isToken(body: string, format: TokenFormat, atBoundary: boolean): boolean {
  if (!hasDifferent(body) || SAYS_SO.test(body)) return false;
  if (format.digit === true && !(/\d/.test(body) && /[A-Za-z]/.test(body))) return false;
  return atBoundary || hasChecksum(body);
}

/** The end of the token; undefined if a part does not match or the token exceeds its maximum length. */
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
    // A literal after a run can consist of the run's own characters: the run then has its minimum length.
    for (const length of [end - at, least]) {
      if (length >= least && length <= most && text.startsWith(next, at + length)) return length;
    }
    return undefined;
  }
  if (end - at < least) return undefined;
  if (end - at <= most) return end - at;
  return most >= 100 ? most : undefined;
}

/** The end of the alphabet's run that contains `at`; each run is scanned once. */
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

/** True at a word boundary, also after an escape (`\n`), a percent code (`%3D`) and a terminal colour. */
function isAtBoundary(text: string, start: number): boolean {
  const before = text.charAt(start - 1);
  if (!/[A-Za-z0-9_-]/.test(before)) return true;
  return /(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|--|[a-z]_|\[\d[\d;]{0,11}m)$/.test(
    text.slice(Math.max(0, start - 15), start),
  );
}

/** After `dump-` or `my_`, a prefix of four characters is sufficient. */
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

/**
 * Tokens identified by text in the middle or at the end: issuer, required text, and the pattern of the whole
 * token, with every repetition bounded; separated by `~>`.
 */
const ANCHORED = String.raw`
HashiCorp Terraform~>.atlasv1.~>\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{55,75}
Azure~>Q~~>(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])
Azure DevOps~>AZDO~>\b[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4,8}\b
Azure Storage~>+ASt~>[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{5,8}={0,2}
Azure~>+ACR~>(?<![\w+/])[A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9]{4,7}\b
Azure~>JQQJ99~>\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}\b
MaxMind~>_mmk~>\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b
Mailchimp~>-us~>\b[0-9a-f]{32}-us\d{1,2}\b
Telegram~>:A~>\b\d{8,10}:A[\w-]{33,35}(?![\w-])
Discord~>.~>\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])
Facebook~>|~>\b\d{15,16}\|[\w-]{27,40}\b
Twitter~>-~>\b\d{15,19}-[A-Za-z0-9]{40}\b
Mailgun~>-~>\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b
Atlassian~>ATATT~>\bATATT[\w+/-]{30,400}=[0-9A-Za-z]{8}\b
New Relic~>NRAL~>\b[0-9a-z]{36}NRAL\b
Salesforce~>!~>\b00D[A-Za-z0-9]{12,15}![\w.]{60,150}
X~>AAAAAAAAAAAAAAA~>\bA{15,24}\w{4,30}%[\w%]{50,120}\b
MySQL~>*~>\*[0-9A-F]{40}\b
crypt~>$~>\$(?:1\$[./\w]{1,8}\$[./\w]{22}|2[abxy]\$\d\d\$[./\w]{53}|[56]\$(?:rounds=\d{1,9}\$)?[./\w]{1,16}\$[./\w]{43,86}|[89]\$[./\w]{14}\$[./\w]{43}|y\$[./\w]{3,8}\$[./\w]{8,40}\$[./\w]{43}|argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,8},t=\d{1,4},p=\d{1,3}\$[\w+/]{8,64}\$[\w+/]{16,128}|krb5(?:asrep|tgs)\$\d\d\$[\w@.*/$:-]{60,4096})
OpenAI~>T3BlbkFJ~>\b[\w-]{20,80}T3BlbkFJ[\w-]{20,80}
DeepL~>:fx~>\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}:fx\b
Express session~>s%3A~>\bs%3A[\w-]{32}\.[\w%]{43,61}
Sidekiq~>contribsys~>\b[0-9a-f]{8}:[0-9a-f]{8}(?=@(?:gems|enterprise)\.contribsys)
Sidekiq~>CONTRIBSYS__COM~>(?<=CONTRIBSYS__COM["'\s=:]{1,5})[0-9a-f]{8}:[0-9a-f]{8}\b
`;

const ANCHORED_TOKENS = ANCHORED.trim()
  .split("\n")
  .map((row) => {
    const [issuer = "", anchor = "", pattern = ""] = row.split("~>");
    return { issuer, anchor, pattern: new RegExp(pattern, "g") };
  });

/** Tokens without a fixed prefix. */
export function* findAnchoredTokens(text: string): Generator<Finding> {
  for (const { issuer, anchor, pattern } of ANCHORED_TOKENS) {
    if (!text.includes(anchor)) continue;
    for (const match of text.matchAll(pattern)) {
      yield { start: match.index, end: match.index + match[0].length, kind: `token:${issuer}` };
    }
  }
}
