import type { ClaimKind } from "../../core/ports.ts";
import { type FactKind, factsIn } from "../extractive/facts.ts";

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
export function claimsIn(line: string): Claim[] {
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
