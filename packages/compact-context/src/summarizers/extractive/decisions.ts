import { messageText } from "../../core/message.ts";
import type { Call, Conversation } from "./conversation.ts";
import { clipEnd, oneLine, sentences, withoutMarks } from "./text.ts";

/** A choice that the assistant stated, as `decision_log` prints it. */
export interface Decision {
  /** Id of the message that states it. */
  readonly id: string;
  readonly text: string;
  /** What follows "because" or its like; empty when no reason is given. */
  readonly rationale: string;
  /** What was looked at in the step before: files or commands. */
  readonly inputs: readonly string[];
  /** Files changed or commands run in the same step. */
  readonly outputs: readonly string[];
}

const CHOICE =
  /\b(?:decided|decision|let['’]?s (?:use|go|keep|add|make|move)|going with|will use|i['’]ll use|instead of|rather than|chose|choose|opt(?:ed|ing)? for|switch(?:ed|ing)? to|stick(?:ing)? with|agreed|the (?:right|best|better|simplest) (?:approach|fix|way))\b/i;
const REASON = /\b(?:because|since|so that|in order to|as this|due to)\b/i;
const SHORTEST = 20;
const LONGEST = 320;
const NAMED = 3;

/** Sentences of the assistant that state a choice, in order of time, a repeated one once. */
export function statedDecisions(conversation: Conversation): Decision[] {
  const decisions: Decision[] = [];
  const seen = new Set<string>();
  const callsOf = groupByMessage(conversation.calls);
  let before: readonly Call[] = [];
  conversation.messages.forEach((message, index) => {
    if (message.role !== "assistant" || conversation.staying.has(index)) return;
    const calls = callsOf.get(index) ?? [];
    for (const sentence of sentences(messageText(message))) {
      if (!isChoice(sentence) || seen.has(sentence)) continue;
      seen.add(sentence);
      decisions.push({ id: message.id, ...split(sentence), inputs: names(before), outputs: names(calls) });
    }
    if (calls.length > 0) before = calls;
  });
  return decisions;
}

function isChoice(sentence: string): boolean {
  const fits = sentence.length >= SHORTEST && sentence.length <= LONGEST * 2;
  return fits && !sentence.endsWith("?") && CHOICE.test(sentence);
}

/** Calls by the index of their message. */
export function groupByMessage(calls: readonly Call[]): Map<number, Call[]> {
  const groups = new Map<number, Call[]>();
  for (const call of calls) {
    const group = groups.get(call.message);
    if (group === undefined) groups.set(call.message, [call]);
    else group.push(call);
  }
  return groups;
}

function split(sentence: string): { text: string; rationale: string } {
  const line = clipEnd(oneLine(withoutMarks(sentence)), LONGEST);
  const reason = REASON.exec(line);
  if (reason === null || reason.index < SHORTEST) return { text: line, rationale: "" };
  return { text: line.slice(0, reason.index).trim(), rationale: line.slice(reason.index) };
}

function names(calls: readonly Call[]): string[] {
  const found = new Set<string>();
  for (const call of calls) found.add(callName(call));
  return [...found].slice(0, NAMED);
}

/** The command of a call, or its tool and files, on one line. */
export function callName(call: Call): string {
  const { command, files } = call.action;
  if (command !== undefined) return clipEnd(oneLine(command), 120);
  const paths = files.slice(0, NAMED).map((file) => file.path);
  return [call.part.name, ...paths].join(" ");
}
