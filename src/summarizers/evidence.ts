import type { Conversation } from "./conversation.ts";
import { type FactKind, factsIn, pathKey } from "./facts.ts";
import type { Line } from "./lines.ts";

/** What is known about one fact after reading all lines. */
export interface Evidence {
  readonly key: string;
  readonly kind: FactKind;
  /** How many messages have it. */
  messages: number;
  first: number;
  last: number;
  saidFirstByAssistant: boolean;
  saidByUser: boolean;
  /** Calls that have it. */
  calls: number;
  /** Fewest different facts in one message that has it: few means that the message was about it. */
  company: number;
  /** Share, 0 to 1, of the facts on its lines that the newest assistant messages have too. */
  hotBeside: number;
  /** Share, 0 to 1, of its messages that touch the files worked on last. */
  nearWork: number;
  /** True when only out-of-date reads show it. */
  superseded: boolean;
  inLastRequest: boolean;
  inLastError: boolean;
  edited: boolean;
  fromSummary: boolean;
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
  const ofMessage = new Map<number, Set<Evidence>>();
  const found = lines.map((line) => {
    const facts: Evidence[] = [];
    for (const { key, kind } of factsIn(line.text)) {
      let evidence = byKey.get(key);
      if (evidence === undefined) {
        evidence = newEvidence(key, kind, line);
        byKey.set(key, evidence);
      }
      note(evidence, line, ofMessage);
      facts.push(evidence);
    }
    return facts;
  });
  const limit = conversation.messages.length * COMMON_SHARE;
  const common = (fact: Evidence): boolean => fact.messages >= COMMON_FROM && fact.messages > limit;
  for (const [key, fact] of byKey) if (common(fact)) byKey.delete(key);
  const ofLine = found.map((facts) => (facts.some(common) ? facts.filter((fact) => !common(fact)) : facts));
  noteMessages(ofMessage, workingSet(conversation));
  noteNeighbours(ofLine, newestSpoken(conversation, lines, ofLine));
  noteWork(conversation, byKey);
  return { facts: [...byKey.values()], ofLine, byKey };
}

function newEvidence(key: string, kind: FactKind, line: Line): Evidence {
  return {
    key,
    kind,
    messages: 0,
    first: line.message,
    last: line.message,
    saidFirstByAssistant: line.source === "assistant" || line.source === "call",
    saidByUser: false,
    calls: 0,
    company: Number.POSITIVE_INFINITY,
    hotBeside: 0,
    nearWork: 0,
    superseded: true,
    inLastRequest: false,
    inLastError: false,
    edited: false,
    fromSummary: false,
  };
}

function note(fact: Evidence, line: Line, ofMessage: Map<number, Set<Evidence>>): void {
  let facts = ofMessage.get(line.message);
  if (facts === undefined) {
    facts = new Set();
    ofMessage.set(line.message, facts);
  }
  if (!facts.has(fact)) {
    facts.add(fact);
    fact.messages += 1;
    fact.last = line.message;
    if (line.source === "call") fact.calls += 1;
  }
  if (line.source === "user") fact.saidByUser = true;
  if (line.source === "summary") fact.fromSummary = true;
  if (!line.superseded) fact.superseded = false;
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

function noteMessages(ofMessage: ReadonlyMap<number, Set<Evidence>>, working: ReadonlySet<string>): void {
  for (const facts of ofMessage.values()) {
    const touches = [...facts].some((fact) => working.has(fact.key)) ? 1 : 0;
    for (const fact of facts) {
      fact.company = Math.min(fact.company, facts.size);
      fact.nearWork += touches / fact.messages;
    }
  }
}

function noteNeighbours(ofLine: readonly (readonly Evidence[])[], hot: ReadonlySet<Evidence>): void {
  const beside = new Map<Evidence, number>();
  for (const facts of ofLine) {
    const heat = facts.filter((fact) => hot.has(fact)).length;
    for (const fact of facts) {
      fact.hotBeside += heat - (hot.has(fact) ? 1 : 0);
      beside.set(fact, (beside.get(fact) ?? 0) + facts.length - 1);
    }
  }
  for (const [fact, others] of beside) if (others > 0) fact.hotBeside /= others;
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
