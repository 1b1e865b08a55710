import type { Message } from "../../core/message.ts";
import type { UnfoundClaim } from "../../core/ports.ts";
import { readEarlier } from "../extractive/earlier.ts";
import { type Claim, claimsIn } from "./claims.ts";
import { type KnownText, knownText } from "./known-text.ts";
import { userTexts } from "./records.ts";
import { UNFOUND_HEADING } from "./unfound-section.ts";

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
