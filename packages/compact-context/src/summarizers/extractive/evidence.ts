import type { Conversation } from "./conversation.ts";
import { eachRun, type Fact, type FactKind, factsIn, factsOfRun, pathKey } from "./facts.ts";
import type { Line } from "./lines.ts";

/** What is known about one fact after reading all lines. */
export interface Evidence {
  readonly key: string;
  readonly kind: FactKind;
  /** How many messages have it. */
  messages: number;
  readonly first: number;
  last: number;
  readonly saidFirstByAssistant: boolean;
  saidByUser: boolean;
  /** Calls that have it. */
  calls: number;
  /** Fewest different facts in one message that has it: few means that the message was about it. */
  company: number;
  /** Other facts on its lines, and how many of those the newest assistant messages write too. */
  beside: number;
  hotBeside: number;
  /** How many of its messages touch the files worked on last. */
  nearWork: number;
  /** True when only out-of-date reads show it. */
  superseded: boolean;
  inLastRequest: boolean;
  inLastError: boolean;
  edited: boolean;
  fromSummary: boolean;
  /** Chance to be needed again, 0 to 1; set by the scorer. */
  likely: number;
  /** Position of the last line that had it. */
  line: number;
}

export interface EvidenceIndex {
  readonly facts: readonly Evidence[];
  /** The facts of each line, by the line's position. */
  readonly ofLine: readonly (readonly Evidence[])[];
  readonly byKey: ReadonlyMap<string, Evidence>;
}

const NEWEST_MESSAGES = 8;
const WORK_MESSAGES = 10;
const COMMON_FROM = 6;
const COMMON_SHARE = 0.25;

/** Gathers the evidence; facts that stand in more than a quarter of the messages are left out. */
export function gatherEvidence(conversation: Conversation, lines: readonly Line[]): EvidenceIndex {
  const byKey = new Map<string, Evidence>();
  const ofMessage = new Map<number, Evidence[]>();
  const found = readEvidence(lines, byKey, ofMessage);
  const limit = conversation.messages.length * COMMON_SHARE;
  const common = (fact: Evidence): boolean => fact.messages >= COMMON_FROM && fact.messages > limit;
  for (const fact of byKey.values()) if (common(fact)) byKey.delete(fact.key);
  const ofLine = found.map((facts) => (facts.some(common) ? facts.filter((fact) => !common(fact)) : facts));
  noteMessages(ofMessage, workingSet(conversation));
  noteNeighbours(ofLine, newestSpoken(conversation, lines, ofLine));
  noteWork(conversation, byKey);
  return { facts: [...byKey.values()], ofLine, byKey };
}

function readEvidence(
  lines: readonly Line[],
  byKey: Map<string, Evidence>,
  ofMessage: Map<number, Evidence[]>,
): Evidence[][] {
  // Most runs of a conversation come again and again: each is taken apart once.
  const ofRun = new Map<string, Evidence[]>();
  const factsOf = (run: string, line: Line): Evidence[] => {
    const known = ofRun.get(run) ?? factsOfRun(run).map((fact) => knownFact(fact, line, byKey));
    ofRun.set(run, known);
    return known;
  };
  const found: Evidence[] = [];
  return lines.map((line, position) => {
    const ofThis = ofMessage.get(line.message) ?? [];
    ofMessage.set(line.message, ofThis);
    let count = 0;
    eachRun(line.text, (run) => {
      for (const fact of factsOf(run, line)) {
        if (!note(fact, line, position, ofThis)) continue;
        found[count] = fact;
        count += 1;
      }
    });
    return found.slice(0, count);
  });
}

function knownFact(fact: Fact, line: Line, byKey: Map<string, Evidence>): Evidence {
  const known = byKey.get(fact.key);
  if (known !== undefined) return known;
  const evidence = newEvidence(fact, line);
  byKey.set(fact.key, evidence);
  return evidence;
}

/** Before every message; the summary so far is message -1. Small integers take no room of their own in memory. */
const NOWHERE = -2;
const NOBODY_YET = 2 ** 30;

function newEvidence({ key, kind }: Fact, line: Line): Evidence {
  return {
    key,
    kind,
    messages: 0,
    first: line.message,
    last: NOWHERE,
    saidFirstByAssistant: line.source === "assistant" || line.source === "call",
    saidByUser: false,
    calls: 0,
    company: NOBODY_YET,
    beside: 0,
    hotBeside: 0,
    nearWork: 0,
    superseded: true,
    inLastRequest: false,
    inLastError: false,
    edited: false,
    fromSummary: false,
    likely: 0,
    line: -1,
  };
}

// Lines come in the order of their messages. False when the fact stood on this line before.
function note(fact: Evidence, line: Line, position: number, ofMessage: Evidence[]): boolean {
  if (fact.line === position) return false;
  fact.line = position;
  if (fact.last !== line.message) {
    ofMessage.push(fact);
    fact.messages += 1;
    fact.last = line.message;
    if (line.source === "call") fact.calls += 1;
  }
  if (line.source === "user") fact.saidByUser = true;
  if (line.source === "summary") fact.fromSummary = true;
  if (!line.superseded) fact.superseded = false;
  return true;
}

/** The facts that the newest assistant messages themselves write. */
function newestSpoken(
  conversation: Conversation,
  lines: readonly Line[],
  ofLine: readonly (readonly Evidence[])[],
): Set<Evidence> {
  const from = nthNewestAssistant(conversation, NEWEST_MESSAGES);
  const hot = new Set<Evidence>();
  lines.forEach((line, position) => {
    if (line.message < from || (line.source !== "assistant" && line.source !== "call")) return;
    for (const fact of ofLine[position] ?? []) hot.add(fact);
  });
  return hot;
}

function nthNewestAssistant(conversation: Conversation, nth: number): number {
  let left = nth;
  for (let index = conversation.messages.length - 1; index >= 0; index -= 1) {
    if (conversation.messages[index]?.role === "assistant") left -= 1;
    if (left === 0) return index;
  }
  return 0;
}

function workingSet(conversation: Conversation): Set<string> {
  const from = nthNewestAssistant(conversation, WORK_MESSAGES);
  const files = new Set<string>();
  for (const call of conversation.calls) {
    if (call.message < from) continue;
    for (const file of call.action.files) files.add(pathKey(file.path) ?? file.path);
  }
  return files;
}

function noteMessages(ofMessage: ReadonlyMap<number, Evidence[]>, working: ReadonlySet<string>): void {
  for (const facts of ofMessage.values()) {
    const touches = facts.some((fact) => working.has(fact.key)) ? 1 : 0;
    for (const fact of facts) {
      fact.company = Math.min(fact.company, facts.length);
      fact.nearWork += touches;
    }
  }
}

function noteNeighbours(ofLine: readonly (readonly Evidence[])[], hot: ReadonlySet<Evidence>): void {
  for (const facts of ofLine) {
    if (facts.length < 2) continue;
    const heat = facts.reduce((sum, fact) => sum + (hot.has(fact) ? 1 : 0), 0);
    for (const fact of facts) {
      fact.hotBeside += hot.has(fact) ? heat - 1 : heat;
      fact.beside += facts.length - 1;
    }
  }
}

function noteWork(conversation: Conversation, byKey: ReadonlyMap<string, Evidence>): void {
  const mark = (text: string, set: (fact: Evidence) => void): void => {
    for (const { key } of factsIn(text)) {
      const fact = byKey.get(key);
      if (fact !== undefined) set(fact);
    }
  };
  const request = conversation.requests.at(-1);
  if (request !== undefined)
    mark(request.text, (fact) => {
      fact.inLastRequest = true;
    });
  const failed = conversation.calls.findLast((call) => call.result?.isError === true);
  if (failed?.result !== undefined)
    mark(failed.result.text, (fact) => {
      fact.inLastError = true;
    });
  for (const call of conversation.calls) {
    for (const file of call.action.files) {
      if (file.effect !== "read")
        mark(file.path, (fact) => {
          fact.edited = true;
        });
    }
  }
}
