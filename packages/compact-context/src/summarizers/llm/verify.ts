import type { Message } from "../../core/message.ts";
import type { ClaimKind, UnfoundClaim } from "../../core/ports.ts";
import { readEarlier } from "../extractive/earlier.ts";
import { type FactKind, factsIn } from "../extractive/facts.ts";
import { UNFOUND_HEADING } from "./complete.ts";
import { userTexts } from "./fold.ts";

/** What the writer of a summary was given. */
export interface Source {
  readonly all: KnownText;
  /** What people typed, here and in the summary so far. */
  readonly user: KnownText;
}

export interface SourceInput {
  readonly messages: readonly Message[];
  /** Everything that the model read beside the summary so far. */
  readonly texts: readonly string[];
  readonly previous: string | undefined;
  readonly instruction: string | undefined;
}

/** A claim that was not found, and the line of the text that makes it. */
export interface Unfound extends UnfoundClaim {
  readonly line: number;
}

/** Indexes what a summary may draw on. What an earlier check did not find does not become true by being repeated. */
export function sourceOf({ messages, texts, previous, instruction }: SourceInput): Source {
  const so = previous === undefined ? "" : withoutUnfound(previous);
  const wish = instruction ?? "";
  const earlier = readEarlier(previous ?? "");
  const saidEarlier = [
    ...earlier.request,
    earlier.firstRequest ?? "",
    ...earlier.constraints,
    ...so.split("\n").filter((line) => claimsIn(line).some((claim) => claim.byUser)),
  ];
  return {
    all: knownText([...texts, so, wish]),
    user: knownText([...userTexts(messages), ...saidEarlier, wish]),
  };
}

function withoutUnfound(previous: string): string {
  const at = previous.indexOf(UNFOUND_HEADING);
  if (at < 0) return previous;
  const denied = previous
    .slice(at)
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/^- /, "").trim())
    .filter((text) => text !== "");
  return denied.reduce((text, claim) => text.replaceAll(claim, " "), previous.slice(0, at));
}

/** Looks every claim of a text up in its source. */
export function findUnfound(text: string, source: Source): { checked: number; unfound: Unfound[] } {
  const unfound: Unfound[] = [];
  let checked = 0;
  text.split("\n").forEach((content, line) => {
    for (const claim of claimsIn(content)) {
      checked += 1;
      const kind = lackOf(claim, source);
      if (kind !== undefined) unfound.push({ kind, text: claim.text, line });
    }
  });
  return { checked, unfound };
}

/** What kind of claim is not borne out; undefined for one that is. */
function lackOf(claim: Claim, { all, user }: Source): UnfoundClaim["kind"] | undefined {
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
  }
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

/** A folder by its full path, and a path from there: both were read, the whole is the writer's. */
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

const FEWEST_WORDS = 2;
const FEWEST_LETTERS = 6;

function quoteLack(claim: Claim, all: KnownText, user: KnownText): UnfoundClaim["kind"] | undefined {
  const pieces = claim.text.split(/…|\.\.\.|\[[^\]]{0,20}\]/).filter(saysSomething);
  if (!pieces.every((piece) => all.hasWords(piece))) return "quote";
  const isUsers = !claim.byUser || pieces.every((piece) => user.hasWords(piece));
  return isUsers ? undefined : "attribution";
}

function saysSomething(text: string): boolean {
  const words = text.trim().split(/\s+/).length;
  return words >= FEWEST_WORDS || /[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{6,}/.test(text)
    ? text.trim().length >= FEWEST_LETTERS
    : false;
}

/** A paraphrase of something that was said shares a third of its longer words with it. */
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

/** Something that a line of a summary says and that its source can be asked for. */
export interface Claim {
  readonly kind: ClaimKind;
  /** As the line has it. */
  readonly text: string;
  /** The line says that the user said it. */
  readonly byUser: boolean;
}

const URL = /[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'`<>)\]}\\|]+/gi;
const CODE = /`([^`\n]{1,400})`/g;
const QUOTES = [
  /"([^"\n]{2,600})"/g,
  /“([^”\n]{2,600})”/g,
  /«([^»\n]{2,600})»/g,
  /„([^“”\n]{2,600})[“”]/g,
  /「([^」\n]{2,600})」/g,
  /(?<![\p{L}\p{N}])'([^'\n]{2,600})'(?![\p{L}\p{N}])/gu,
];
const BLOCK_QUOTE = /^\s{0,8}>\s?(.+)$/;
const PATH =
  /(?<![\w@<])(?:~|\.{1,2})?(?:\/?[\w@.+~%-]+)?(?:\/[\w@.+~%$[\]{}-]+)+\/?|\b[A-Za-z]:\\[\w\\.+ ~-]*[\w~]/g;
const PATH_ROOT =
  /^(?:src|lib|libs|test|tests|docs?|app|apps|packages?|bin|scripts?|config|internal|cmd|pkg|etc|usr|var|opt|home|tmp|node_modules|dist|build|server|client|api|public|assets|components|services|modules|crates|tools|examples?)$/i;
const NUMBER = /(?<![\p{L}\p{N}_.])v?(\d[\d,_]*(?:\.\d+)*)(?=[a-z%µ]{0,3}(?![\p{L}\p{N}_]))/gu;
const ORDINAL = /^\s{0,8}(?:[-*]\s+)?(?:\d{1,3}[.)]|\[\d{1,6}(?:\.\d+)?\])(?=\s)/;
const CITATION = /\[\d{1,6}(?:\.\d{1,6})?(?:\s?[,–-]\s?\d{1,6}(?:\.\d{1,6})?){0,12}\]/g;
const SAID_BY_USER =
  /\b(?:the |our )?(?:user|customer|human|client|operator)s?(?:['’]s)?\b[^.\n]{0,60}?\b(?:said|says|asked|asks|wants?|wanted|requested|requests|requires?|required|insists?|insisted|approved?|confirmed|told|instructed|prefers?|preferred|demand(?:s|ed)|stated|agreed|authori[sz]ed|allowed|forb(?:ade|ids?))\b|^\s{0,8}(?:[-*]\s+)?(?:user|human|nutzer|benutzer|utilisateur|usuario|пользователь|用户|ユーザー)\s?[:：]|\b(?:Nutzer|Benutzer)\b[^.\n]{0,40}\b(?:sagte|will|wollte|verlangt|bat)\b|用户(?:说|要求|希望)|ユーザーは/i;
const IDENTIFIERS: ReadonlySet<FactKind> = new Set<FactKind>([
  "email",
  "file",
  "uuid",
  "error",
  "flag",
  "ticket",
  "hash",
  "identifier",
]);
/** Names of products that a writer knows without having read them. */
const COMMON_NAMES: ReadonlySet<string> = new Set(
  "TypeScript JavaScript GitHub GitLab PostgreSQL MySQL MongoDB GraphQL OpenAI DevOps YouTube LinkedIn macOS WebSocket WebSockets WebAssembly LangChain LangGraph FastAPI NumPy PyTorch TensorFlow DynamoDB CloudFront CloudWatch OAuth2 UTF-8 Node.js Next.js Vue.js".split(
    " ",
  ),
);

/** Everything in one line that can be looked up, each once. */
function claimsIn(line: string): Claim[] {
  const byUser = SAID_BY_USER.test(line);
  const found = new Map<string, Claim>();
  const add = (kind: ClaimKind, text: string): void => {
    if (text !== "" && !found.has(text)) found.set(text, { kind, text, byUser });
  };
  let rest = line.replace(ORDINAL, " ").replace(CITATION, " ");
  const take = (pattern: RegExp, kind: ClaimKind | ((text: string) => ClaimKind)): void => {
    rest = rest.replace(pattern, (whole: string, inner: unknown) => {
      const text = trimmed(typeof inner === "string" ? inner : whole);
      add(typeof kind === "function" ? kind(text) : kind, text);
      return typeof inner === "string" ? ` ${urlFree(inner)} ` : " ";
    });
  };
  const quoted = BLOCK_QUOTE.exec(rest)?.[1];
  if (quoted !== undefined) add("quote", quoted);
  take(URL, "url");
  take(CODE, codeKind);
  for (const pattern of QUOTES) take(pattern, "quote");
  for (const path of pathsIn(rest)) {
    add("path", path);
    rest = rest.replace(path, " ");
  }
  for (const name of namesIn(rest)) add("identifier", name);
  for (const [, number = ""] of rest.matchAll(NUMBER)) if (tellsSomething(number)) add("number", number);
  if (byUser) add("attribution", line.trim());
  return [...found.values()];
}

/** A span of code is a path, one name, or words to be found in this order. */
function codeKind(text: string): ClaimKind {
  if (/\s/.test(text)) return "quote";
  return text.includes("/") || text.includes("\\") ? "path" : "identifier";
}

// What stands in quotes is read on for the names in it, but URLs there are looked up already.
function urlFree(text: string): string {
  return /\s/.test(text) ? text : "";
}

function pathsIn(text: string): string[] {
  return (text.match(PATH) ?? []).map(trimmed).filter(isPath);
}

// `read/write` and `client/server` are words, not places.
function isPath(text: string): boolean {
  if (/^[A-Za-z]:\\/.test(text)) return true;
  if (!/[A-Za-z]/.test(text)) return false;
  if (/^(?:\/|~|\.)/.test(text) || text.endsWith("/")) return true;
  const segments = text.split("/");
  if (segments.length >= 3 || /\.[A-Za-z]\w{0,9}$/.test(text)) return true;
  return /[\d_@]/.test(text) || PATH_ROOT.test(segments[0] ?? "");
}

function namesIn(text: string): string[] {
  return factsIn(text)
    .filter((fact) => IDENTIFIERS.has(fact.kind) && !COMMON_NAMES.has(fact.key))
    .map((fact) => fact.key);
}

// Single digits count things; they are no facts that could be looked up.
function tellsSomething(number: string): boolean {
  return number.replace(/\D/g, "").length >= 2;
}

function trimmed(text: string): string {
  return text.replace(/^[\s([{]+/, "").replace(/[\s.,;:!?'")\]}]+$/, "");
}

/** Texts that a summary may draw on, indexed once for many look-ups. */
export interface KnownText {
  /** True where the text stands somewhere, not as a part of a longer word. */
  has(text: string): boolean;
  /** True where the text stands and no path goes on before it. */
  startsPath(text: string): boolean;
  /** True where the number stands somewhere, with or without thousands separators. */
  hasNumber(digits: string): boolean;
  /** True where the words stand somewhere in this order, whatever blanks, case and quotes are between them. */
  hasWords(text: string): boolean;
  /** True where a word begins like this one, case aside. */
  hasStem(word: string): boolean;
}

const STEM = 5;
const QUANTITY = /\d[\d,_]*(?:\.\d+)*/g;

/** Indexes texts; linear in their length. */
function knownText(texts: readonly string[]): KnownText {
  const all = texts.join("\n");
  const lower = once(() => all.toLowerCase());
  const numbers = once(() => numbersIn(all));
  const words = once(() => ` ${wordsOf(all).join(" ")} `);
  const stems = once(
    () =>
      new Set(
        all
          .toLowerCase()
          .match(/[\p{L}\p{N}]{4,}/gu)
          ?.map(stemOf),
      ),
  );
  return {
    has: (text) => standsIn(all, text) || standsIn(lower(), text.toLowerCase()),
    startsPath: (text) => standsIn(all, text, startsThere),
    hasNumber: (digits) => numbers().has(normalizedNumber(digits)),
    hasWords(text) {
      const wanted = wordsOf(text).join(" ");
      return wanted === "" || words().includes(` ${wanted} `);
    },
    hasStem: (word) => stems().has(stemOf(word.toLowerCase())),
  };
}

/** Every number of a text, as `hasNumber` knows it. */
function numbersIn(text: string): Set<string> {
  const found = new Set<string>();
  for (const [number] of text.matchAll(QUANTITY)) {
    found.add(normalizedNumber(number));
    for (const digits of number.split(/[.,_]/)) found.add(normalizedNumber(digits));
  }
  return found;
}

function normalizedNumber(digits: string): string {
  return digits.replace(/[,_]/g, "").replace(/^0+(?=\d)/, "");
}

/** Words in lower case: letters, digits, and what holds names together. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function stemOf(word: string): string {
  return [...word].slice(0, STEM).join("");
}

function standsIn(all: string, text: string, startsHere: (before: string) => boolean = anywhere): boolean {
  if (text === "") return true;
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) {
    const before = all.charAt(at - 1);
    const behind = all.charAt(at + text.length);
    const whole = !joins(before, text.charAt(0)) && !joins(text.charAt(text.length - 1), behind);
    if (whole && startsHere(before)) return true;
  }
  return false;
}

const anywhere = (): boolean => true;
const startsThere = (before: string): boolean => !/[\w/\\~.-]/.test(before);

/** True where two characters belong to one word. */
function joins(left: string, right: string): boolean {
  return /[\p{L}\p{N}_]/u.test(left) && /[\p{L}\p{N}_]/u.test(right);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const PREFIX = /^(\s*(?:[-*>]\s+|\d{1,3}[.)]\s+)?(?:[^,;.`"]{1,40}:\s+)?)(.*)$/;
const SENTENCE_END = /(?<=[.!?。！？])\s+/;
const ITEM_END = /(?<=[,;])\s+/;
const FEWEST_ITEMS = 3;

/**
 * The text without the phrases that make unfound claims: the item of a list, else the sentence, else the line.
 * Headings with nothing left below them go too.
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
  // A claim that spans pieces cannot be cut out of them.
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
