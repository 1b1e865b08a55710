import type { Redaction } from "../core/ports.ts";
import { isList, requireOptions, requireText } from "../errors.ts";
import { compilePatterns } from "./custom-patterns.ts";
import {
  createRunFinder,
  type Finder,
  type Finding,
  findAround,
  joinFindings,
  replaceFindings,
  replacements,
  type Span,
} from "./finding.ts";
import { mayHoldJsonLines, redactJson, redactJsonText } from "./json.ts";
import { findInLines, findKubernetesSecrets } from "./lines.ts";
import { findKeyValues } from "./named.ts";
import { findNear } from "./near.ts";
import { findPersonal } from "./personal.ts";
import { findPlaces } from "./places.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { findTokens } from "./tokens.ts";

/** Redacts secrets in data that leaves the process; never changes its input. */
export interface Redactor extends Redaction {
  /** The text without secrets; `WITHHELD` if redaction fails or exceeds the deadline. */
  redactText(text: string): string;
}

export interface RedactorOptions {
  /** Default: true. */
  readonly enabled?: boolean;
  /** Additional patterns to redact; each whole match is replaced. */
  readonly patterns?: readonly (string | RegExp)[];
  /** Also redacts e-mail addresses, telephone numbers, payment cards and bank accounts. Default: false. */
  readonly personal?: boolean;
  /** Called once with `REDACTION_OFF_WARNING` if redaction is disabled. */
  readonly onWarning?: (warning: string) => void;
  /** Called with the kind of every redacted finding, such as `named-value` or `token:GitHub`. */
  readonly onFinding?: (kind: string) => void;
  /** Milliseconds for one text, plus one per 1,000 characters. Default: 5,000. */
  readonly deadline?: number;
  /** Monotonic clock, milliseconds. */
  readonly clock?: () => number;
}

/** A warning of high severity, shown to the user before the first export if redaction is disabled. */
export const REDACTION_OFF_WARNING =
  "redaction is switched off: secrets in the conversation are written to the archive, the traces and the logs as they are";

/** Replaces a text whose search timed out or failed. */
export const WITHHELD = "<REDACTED:withheld>";

/** Layers whose findings depend only on the nearby text. */
const PLAIN: readonly Finder[] = [findTokens, findKeyValues, findNear, findPlaces, findInLines];
const NEAR: readonly Finder[] = [...PLAIN, findEncoded];
/** A text of a single word: it has no names or context. */
const ONE_WORD = /^[\w./#-]+$/;
const IN_WORD: readonly Finder[] = [findTokens, findEncoded];
/** The layers for decoded base64. */
const INNER: readonly Finder[] = [...PLAIN, findPrivateKeys];
const DEADLINE = 5000;
/** A replacement can expose an adjacent secret. Two rounds suffice, except for hostile text. */
const MOST_ROUNDS = 6;
const DEEPEST_JSON = 8;
/** Characters of the texts whose results are known, with what each costs besides; at more, all are forgotten. */
const KNOWN = 2 ** 20;
const COST = 64;
/** Below this length: roles, tool names, keys, ids. */
const SHORT = 256;

const BEGINNING = 24;
/** A longer run is read in parts. */
const LONGEST_RUN = 65_536;
/** Runs of the characters of both base64 alphabets. */
const findRuns = createRunFinder(/[\w+/-]/, BEGINNING);
const PRINTED = /^[\t\n\r\x20-\x7e]+$/;

/** Base64 runs whose decoded text contains a secret; decoding stops if the beginning is not text. */
function* findEncoded(text: string): Generator<Finding> {
  for (const { start, end } of findRuns(text).flatMap(partsOf)) {
    if (!PRINTED.test(decoded(text.slice(start, start + BEGINNING)))) continue;
    const inner = decoded(text.slice(start, end));
    if (!INNER.some((find) => !find(inner)[Symbol.iterator]().next().done)) continue;
    const padding = /^={0,2}/.exec(text.slice(end, end + 2))?.[0].length ?? 0;
    yield { start, end: end + padding, kind: "base64" };
  }
}

function partsOf({ start, end }: Span): Span[] {
  const parts: Span[] = [];
  for (let at = start; end - at >= BEGINNING; at += LONGEST_RUN)
    parts.push({ start: at, end: Math.min(end, at + LONGEST_RUN) });
  return parts;
}

function decoded(run: string): string {
  const plain = run.replaceAll("-", "+").replaceAll("_", "/");
  try {
    return atob(plain.slice(0, plain.length - (plain.length % 4 === 1 ? 1 : 0)));
  } catch {
    return "";
  }
}

/** Replaces every secret found by the built-in patterns with `<REDACTED>`; linear time, idempotent. */
export function redact(text: string): string {
  requireText(text, "text", "Pass the text itself; createRedactor redacts values as well.");
  return BUILT_IN_REDACTOR.redactText(text);
}

/** A redactor with the built-in and the caller's patterns; throws `InvalidConfig` for an unusable pattern. */
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
  // These, and the layer for private keys, read a text from start to end.
  const last = [findKubernetesSecrets, ...custom, ...(options.personal === true ? [findPersonal] : [])];
  const finders = [findPrivateKeys, ...NEAR, ...last];
  const search = createSearch(last, options);
  // An archived message holds each text twice, once in its provider's form; a summary is in the state, in its file and in
  // an event, with other sessions' messages between. `onFinding` must be called for each finding.
  const known = new Map<string, string>();
  let size = 0;
  const redactText = (text: string): string => {
    if (text.length < 4) return text;
    const before = known.get(text);
    if (before !== undefined) return before;
    try {
      const after = search(text);
      if (options.onFinding === undefined || (after === text && text.length < SHORT)) {
        if (size > KNOWN) {
          known.clear();
          size = 0;
        }
        known.set(text, after);
        size += text.length + COST;
      }
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

/** Redacts findings in rounds until none is left; throws on timeout. */
function createSearch(last: readonly Finder[], options: RedactorOptions): (text: string) => string {
  const { deadline = DEADLINE, clock = () => performance.now(), onFinding } = options;
  let depth = 0;
  let end = Number.POSITIVE_INFINITY;
  /** By searched text: the positions of its replacements. */
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
    const found = joinFindings([...findBy([findPrivateKeys], text), ...near, ...findBy(last, text)]);
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

/** Redacts JSON lines as JSON; the text between them is searched as one text. */
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
