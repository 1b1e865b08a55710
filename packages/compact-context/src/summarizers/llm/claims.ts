import type { ClaimKind } from "../../core/ports.ts";
import type { Family } from "../extractive/steps.ts";
import { factsIn, runOfWords } from "../extractive/text.ts";

// The claims of a text, and the texts they are checked against.

/** A claim in a summary line that can be checked against its source. */
export interface Claim {
  readonly kind: ClaimKind;
  /** As written in the line. */
  readonly text: string;
  /** The line attributes this to the user. */
  readonly byUser: boolean;
  /** What it says of a check, for an `outcome`. */
  readonly outcome?: OutcomeClaim;
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
/** Product names that a writer knows without having read them. */
const COMMON_NAMES: ReadonlySet<string> = new Set(
  "TypeScript JavaScript GitHub GitLab PostgreSQL MySQL MongoDB GraphQL OpenAI DevOps YouTube LinkedIn macOS WebSocket WebSockets WebAssembly LangChain LangGraph FastAPI NumPy PyTorch TensorFlow DynamoDB CloudFront CloudWatch OAuth2 UTF-8 Node.js Next.js Vue.js".split(
    " ",
  ),
);

export function claimsIn(line: string): Claim[] {
  const byUser = SAID_BY_USER.test(line);
  const found = new Map<string, Claim>();
  const add = (kind: ClaimKind, text: string, outcome?: OutcomeClaim): void => {
    if (text !== "" && !found.has(text)) found.set(text, { kind, text, byUser, outcome });
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
  else if (quoted === undefined)
    for (const [text, outcome] of outcomesIn(line)) add("outcome", text, outcome);
  return [...found.values()];
}

/** A code span is a path, a name, or words to be found in this order. */
function codeKind(text: string): ClaimKind {
  if (/\s/.test(text)) return "quote";
  return text.includes("/") || text.includes("\\") ? "path" : "identifier";
}

// Quoted text is scanned further for names, but its URLs are already checked.
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
    .filter((fact) => fact.kind === "name" && !COMMON_NAMES.has(fact.key))
    .map((fact) => fact.key);
}

// Single digits are counts, not facts to check.
function tellsSomething(number: string): boolean {
  return number.replace(/\D/g, "").length >= 2;
}

function trimmed(text: string): string {
  return text.replace(/^[\s([{]+/, "").replace(/[\s.,;:!?'")\]}]+$/, "");
}

// ---- check outcomes

/** What a clause says about tests, build, types or lint. */
export interface OutcomeClaim {
  readonly state: "passed" | "failed";
  /** Describes the present, not the past. */
  readonly now: boolean;
  /** A command, file or test in it; "" if none is named. */
  readonly name: string;
  readonly subjects: readonly Family[];
}

/** How prose names checks. */
const SUBJECTS: Readonly<Partial<Record<Family, RegExp>>> = {
  test: /\b(?:tests?|specs?|suite|vitest|jest|pytest)\b|测试|測試|テスト|тест/i,
  build: /\b(?:builds?|compiles?|compilation)\b/i,
  types: /\b(?:types|type[- ]?check(?:s|ing|er)?|tsc|mypy|pyright)\b/i,
  lint: /\b(?:lint(?:s|er|ing)?|eslint|biome|ruff|clippy)\b/i,
};
const PASSES =
  /\b(?:pass|passes|passing|succeeds?|compiles|green|clean|without (?:errors?|failures?)|bestehen|grün|laufen durch|passent|pasan)\b|通过|通過|проходят/i;
const PASSED = /(?<!\d )\b(?:passed|succeeded|bestanden)\b/i;
const FAILS = /\b(?:fails?|failing|broken|red|(?:do|does)(?: not|n['’]t) pass)\b/i;
const FAILURE = /\b(?:fail|error|broken|red\b)/i;
const NEGATED = /\b(?:not|never|no longer|cannot|none)\b|n['’]t\b/i;
/** Wishes, conditions and the past: no claim about the present. */
const UNDECIDED =
  /\b(?:if|when|whether|let me|let['’]s|i['’]ll|verify|confirm|until|unless|once|before|should|must|would|could|may|might|will|to (?:pass|be)|mak(?:e|es|ing)|keep|stay|remain|ensure|sure|goal|success|criteri\w*|need\w*|want\w*|requir\w*|expect\w*|earlier|previously|initially|had|was|were|said|says|reports?)\b/i;
const CLAUSE_END = /[,;]\s|(?<=[.!?])\s|\s(?:but|while|whereas|although|and then)\s/;
const NAMED = /`([^`\n]{1,400})`|(?<![\w/.-])([\w./-]*[\w-]\.[a-z]{1,4}(?:\.[a-z]{1,4})?)(?![\w/])/i;

/** The clauses of a line that state the outcome of checks. */
function outcomesIn(line: string): [clause: string, outcome: OutcomeClaim][] {
  const mixed = FAILURE.test(line);
  const clauses = line.replace(/^\s{0,8}(?:[-*]\s+)?/, "").split(CLAUSE_END);
  return clauses.map(trimmed).flatMap((clause) => {
    const outcome = outcomeOf(clause);
    return outcome === undefined || (mixed && !outcome.now) ? [] : [[clause, outcome]];
  });
}

/** What a clause says about a check; undefined if it makes no plain statement. */
function outcomeOf(clause: string): OutcomeClaim | undefined {
  if (/["“«„「]/.test(clause) || UNDECIDED.test(clause)) return undefined;
  const [, code, file] = NAMED.exec(clause) ?? [];
  const name = code ?? file ?? "";
  const subjects = (Object.keys(SUBJECTS) as Family[]).filter((family) => SUBJECTS[family]?.test(clause));
  if (subjects.length === 0) return undefined;
  const rest = clause.replace(name, " ");
  if (FAILS.test(rest)) return { state: "failed", now: true, name, subjects };
  if (NEGATED.test(rest) || FAILURE.test(rest)) return undefined;
  if (PASSES.test(rest)) return { state: "passed", now: true, name, subjects };
  return PASSED.test(rest) ? { state: "passed", now: false, name, subjects } : undefined;
}

// ---- lookup

const STEM = 5;
const QUANTITY = /\d[\d,_]*(?:\.\d+)*/g;

/** The source texts of a summary, each index built once, when it is first needed. */
export class KnownText {
  readonly #all: string;
  #lower: string | undefined;
  #numbers: ReadonlySet<string> | undefined;
  #words: string | undefined;
  #stems: ReadonlySet<string> | undefined;

  constructor(texts: readonly string[]) {
    this.#all = texts.join("\n");
  }

  /** True if the text occurs, not as part of a longer word. */
  has(text: string): boolean {
    this.#lower ??= this.#all.toLowerCase();
    return standsIn(this.#all, text) || standsIn(this.#lower, text.toLowerCase());
  }

  /** True if the text occurs without a path continuing in front of it. */
  startsPath(text: string): boolean {
    return standsIn(this.#all, text, /[^\w/\\~.-]|^$/);
  }

  /** True if the number occurs, with or without thousands separators. */
  hasNumber(digits: string): boolean {
    this.#numbers ??= new Set(
      (this.#all.match(QUANTITY) ?? []).flatMap((number) =>
        [number, ...number.split(/[.,_]/)].map(normalizedNumber),
      ),
    );
    return this.#numbers.has(normalizedNumber(digits));
  }

  /** True if the words occur in this order, ignoring whitespace, case and quotes. */
  hasWords(text: string): boolean {
    this.#words ??= runOfWords(this.#all);
    return !/[\p{L}\p{N}_]/u.test(text) || this.#words.includes(runOfWords(text));
  }

  /** True if any word starts with this one, ignoring case. */
  hasStem(word: string): boolean {
    this.#stems ??= new Set((this.#all.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []).map(stemOf));
    return this.#stems.has(stemOf(word.toLowerCase()));
  }
}

function normalizedNumber(digits: string): string {
  return digits.replace(/[,_]/g, "").replace(/^0+(?=\d)/, "");
}

function stemOf(word: string): string {
  return [...word].slice(0, STEM).join("");
}

/** True if the text occurs as whole words, behind a character that `behind` matches. */
function standsIn(all: string, text: string, behind?: RegExp): boolean {
  if (text === "") return true;
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) {
    const [before, after] = [all.charAt(at - 1), all.charAt(at + text.length)];
    const whole = !joins(before, text.charAt(0)) && !joins(text.charAt(text.length - 1), after);
    if (whole && behind?.test(before) !== false) return true;
  }
  return false;
}

function joins(left: string, right: string): boolean {
  return /[\p{L}\p{N}_]/u.test(left) && /[\p{L}\p{N}_]/u.test(right);
}
