import type { Redaction } from "../core/ports.ts";
import { createLruMap, isList, requireOptions, requireText } from "../errors.ts";
import { compilePatterns } from "./custom-patterns.ts";
import {
  type Finder,
  type Finding,
  findAround,
  joinFindings,
  replaceFindings,
  replacements,
  type Span,
} from "./finding.ts";
import { mayHoldJsonLines, redactJson, redactJsonText } from "./json.ts";
import { findKeyValues, findKubernetesSecrets } from "./named.ts";
import { findNear } from "./near.ts";
import { findPersonal } from "./personal.ts";
import { findPlaces } from "./places.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { findAnchoredTokens, findTokens } from "./tokens.ts";

/** Takes secrets out of what leaves the process; never changes what it is given. */
export interface Redactor extends Redaction {
  /** The text without secrets; `WITHHELD` in place of the whole text when that takes too long or fails. */
  redactText(text: string): string;
}

export interface RedactorOptions {
  /** True when left out. */
  readonly enabled?: boolean;
  /** More to take out, beside the built-in patterns: each whole match is replaced. */
  readonly patterns?: readonly (string | RegExp)[];
  /** Also takes out e-mail addresses, telephone numbers, payment cards and bank accounts; false when left out. */
  readonly personal?: boolean;
  /** Told `REDACTION_OFF_WARNING` at once when redaction is switched off. */
  readonly onWarning?: (warning: string) => void;
  /** Told the kind of everything that is taken out, such as `named-value` or `token:GitHub`. */
  readonly onFinding?: (kind: string) => void;
  /** Milliseconds for one text, beside one for each 1,000 characters; 5,000 when left out. */
  readonly deadline?: number;
  /** Milliseconds of a steady clock. */
  readonly clock?: () => number;
}

/** What a user must hear, with severity high, before the first export when redaction is switched off. */
export const REDACTION_OFF_WARNING =
  "redaction is switched off: secrets in the conversation are written to the archive, the traces and the logs as they are";

/** What stands in place of a text that could not be searched in time, or whose search failed. */
export const WITHHELD = "<REDACTED:withheld>";

/** What they find they find in the text around it. */
const PLAIN: readonly Finder[] = [findTokens, findAnchoredTokens, findKeyValues, findNear, findPlaces];
const NEAR: readonly Finder[] = [...PLAIN, findEncoded];
/** A text of one word: nothing in it names or frames another part of it. */
const ONE_WORD = /^[\w./#-]+$/;
/** What one word may be or hold. */
const IN_WORD: readonly Finder[] = [findTokens, findAnchoredTokens, findEncoded];
/** What a text in base64 is searched for. */
const INNER: readonly Finder[] = [...PLAIN, findPrivateKeys];
/** These follow a text from its beginning to its end, before the others and behind them. */
const FIRST: readonly Finder[] = [findPrivateKeys];
const LAST: readonly Finder[] = [findKubernetesSecrets];
const DEADLINE = 5000;
/** What is taken out can bare something beside it; two rounds settle it, more are for hostile text. */
const MOST_ROUNDS = 6;
const DEEPEST_JSON = 8;
/** Texts whose outcome is remembered, the newest, and how many characters make one worth it. */
const KNOWN = 32;
const LONG = 256;
/** Shorter texts that are remembered once nothing was found in them: roles, names of tools, keys, ids. */
const HARMLESS = 4096;

const BEGINNING = 24;
const LONGEST_RUN = 65_536;
const PRINTED = /^[\t\n\r\x20-\x7e]+$/;
/** The characters of base64, in both alphabets. */
const IN_BASE64 = new Uint8Array(128);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
  IN_BASE64[character.charCodeAt(0)] = 1;

const inBase64 = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code < 128 && IN_BASE64[code] === 1;
};

/** Runs of at least 24 characters of base64. Every 24th character is looked at, because a run cannot lie between two. */
function* runsOfBase64(text: string): Generator<Span> {
  let from = 0;
  for (let probe = BEGINNING - 1; probe < text.length; probe += BEGINNING) {
    if (!inBase64(text, probe)) continue;
    let start = probe;
    while (start > from && inBase64(text, start - 1)) start -= 1;
    let end = probe + 1;
    while (end < text.length && inBase64(text, end)) end += 1;
    for (let at = start; end - at >= BEGINNING; at += LONGEST_RUN)
      yield { start: at, end: Math.min(end, at + LONGEST_RUN) };
    from = end;
    probe = end;
  }
}

/** Runs of base64 whose text holds a secret; what does not begin with a text is not decoded any further. */
function* findEncoded(text: string): Generator<Finding> {
  for (const { start, end } of runsOfBase64(text)) {
    if (!PRINTED.test(decoded(text.slice(start, start + BEGINNING)))) continue;
    const inner = decoded(text.slice(start, end));
    if (!INNER.some((find) => !find(inner)[Symbol.iterator]().next().done)) continue;
    const padding = /^={0,2}/.exec(text.slice(end, end + 2))?.[0].length ?? 0;
    yield { start, end: end + padding, kind: "base64" };
  }
}

function decoded(run: string): string {
  const plain = run.replaceAll("-", "+").replaceAll("_", "/");
  try {
    return atob(plain.slice(0, plain.length - (plain.length % 4 === 1 ? 1 : 0)));
  } catch {
    return "";
  }
}

/** The text with every secret that the built-in patterns know replaced by `<REDACTED>`; linear time, idempotent. */
export function redact(text: string): string {
  requireText(text, "text", "Pass the text itself; createRedactor redacts values as well.");
  return BUILT_IN_REDACTOR.redactText(text);
}

/** A redactor with the built-in patterns and the caller's; throws `InvalidConfig` for a pattern that cannot be used. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  requireOptions(options);
  const { enabled = true, patterns = [], onWarning } = options;
  const custom = isList(patterns) && patterns.length === 0 ? [] : [compilePatterns(patterns)];
  if (!enabled) {
    onWarning?.(REDACTION_OFF_WARNING);
    const asItIs = (text: string): string => text;
    return {
      enabled,
      redactText: asItIs,
      redactValue: (value, maxDepth) =>
        maxDepth === undefined ? value : redactJson(value, asItIs, { deepest: maxDepth }),
    };
  }
  const last = [...LAST, ...custom, ...(options.personal === true ? [findPersonal] : [])];
  const finders = [...FIRST, ...NEAR, ...last];
  const search = createSearch(last, options);
  // An archived message holds each text twice, once as its provider wrote it. Findings are told for each.
  const known = createLruMap<string>(options.onFinding === undefined ? KNOWN : 0);
  const harmless = new Set<string>();
  const remember = (text: string, after: string): void => {
    if (text.length >= LONG) known.set(text, after);
    else if (after === text) {
      if (harmless.size >= HARMLESS) harmless.clear();
      harmless.add(text);
    }
  };
  const redactText = (text: string): string => {
    if (text.length < 4 || harmless.has(text)) return text;
    const before = text.length < LONG ? undefined : known.get(text);
    if (before !== undefined) return before;
    try {
      const after = search(text);
      remember(text, after);
      return after;
    } catch {
      return WITHHELD;
    }
  };
  const find: Finder = (text) => joinFindings(finders.flatMap((finder) => [...finder(text)]));
  return {
    enabled,
    redactText,
    redactValue: (value, maxDepth) => redactJson(value, redactText, { find, deepest: maxDepth }),
  };
}

/** The text without what is found in it, round after round; throws when the time is over. */
function createSearch(last: readonly Finder[], options: RedactorOptions): (text: string) => string {
  const { deadline = DEADLINE, clock = () => performance.now(), onFinding } = options;
  let depth = 0;
  let end = Number.POSITIVE_INFINITY;
  /** By text that was searched: where something was replaced in it. */
  const searched = new Map<string, readonly Span[]>();

  const checkTime = (): void => {
    if (clock() > end) throw new RangeError("the time for this text is over");
  };
  const findBy = (finders: readonly Finder[], text: string): Finding[] => {
    const found: Finding[] = [];
    for (const finder of finders) {
      for (const finding of finder(text)) {
        found.push(finding);
        if (found.length % 256 === 0) checkTime();
      }
      checkTime();
    }
    return found;
  };
  const onNamed = (): void => onFinding?.("named-value");
  const plain = (text: string): string => {
    const replaced = searched.get(text);
    if (replaced?.length === 0) return text;
    const finders = ONE_WORD.test(text) ? IN_WORD : NEAR;
    const around = replaced && findAround(text, replaced, (part) => findBy(NEAR, part));
    const near = around ?? findBy(finders, text);
    const found = joinFindings([...findBy(FIRST, text), ...near, ...findBy(last, text)]);
    for (const { kind } of found) onFinding?.(kind);
    const after = replaceFindings(text, found);
    searched.set(after, replacements(found));
    return after;
  };
  const once = (text: string): string => {
    if (depth > DEEPEST_JSON) return plain(text);
    const inJson = (inner: string): string => (inner.length < 4 ? inner : nested(inner));
    const json = (part: string): string | undefined => redactJsonText(part, { redactText: inJson, onNamed });
    return json(text) ?? (mayHoldJsonLines(text) ? eachLine(text, { plain, json }) : plain(text));
  };
  const rounds = (text: string): string => {
    let before = text;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const after = once(before);
      if (after === before) return after;
      before = after;
    }
    return before;
  };
  const nested = (text: string): string => {
    depth += 1;
    try {
      return once(text);
    } finally {
      depth -= 1;
    }
  };
  return (text) => {
    end = clock() + deadline + text.length / 1000;
    depth = 0;
    try {
      return rounds(text);
    } finally {
      searched.clear();
    }
  };
}

const BUILT_IN_REDACTOR = createRedactor();

/** Lines that are JSON are read as such; what stands between them is searched as one text. */
function eachLine(
  text: string,
  how: { plain(text: string): string; json(line: string): string | undefined },
): string {
  const pieces: string[] = [];
  let prose: string[] = [];
  const finish = (): void => {
    if (prose.length > 0) pieces.push(how.plain(prose.join("\n")));
    prose = [];
  };
  for (const line of text.split("\n")) {
    const json = how.json(line);
    if (json === undefined) prose.push(line);
    else {
      finish();
      pieces.push(json);
    }
  }
  finish();
  return pieces.join("\n");
}
