import { argumentsValue, messageText } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import type { Call } from "./conversation.ts";
import { callName, type Decision, groupByMessage } from "./decisions.ts";
import type { FileEffect } from "./file-effect.ts";
import { outcomeOf } from "./ledger.ts";
import { callText } from "./lines.ts";
import type { TaskState } from "./state.ts";
import { clipEnd, oneLine, sentences, withoutMarks } from "./text.ts";

const NOTHING = "-";
const DEFINITION =
  /^\s{0,40}(?:(?:export|default|public|private|protected|static|async|pub|abstract|override)\s+){0,4}(?:function|def|class|func(?:\s?\([^)\n]{0,80}\))?|fn|interface|type|struct|enum|const|trait|impl)\s+([A-Za-z_]\w{1,80})/gm;
const MOST_NAMES = 6;
const CODE_ROOM = 20_000;

/** `[step_id] decision :: rationale :: inputs :: outputs`, newest first; `-` where nothing is known. */
export function decisionRows(state: TaskState): string[] {
  return [...state.decisions].reverse().map(decisionRow);
}

function decisionRow(decision: Decision): string {
  const fields = [
    decision.text,
    decision.rationale || NOTHING,
    decision.inputs.join(", ") || NOTHING,
    decision.outputs.join(", ") || NOTHING,
  ];
  return `[${decision.id}] ${fields.map((field) => field.replaceAll(" :: ", " : ")).join(" :: ")}`;
}

interface Change {
  readonly effects: Set<string>;
  readonly names: Set<string>;
  why: string;
}

/** `path: what changed (names defined in the new text); why: …; follow-up: …`, the file changed last first. */
export function codeRows(state: TaskState): string[] {
  const changes = new Map<string, Change>();
  for (const call of state.conversation.calls) {
    if (call.result?.isError === true || call.stays) continue;
    for (const file of call.action.files) if (file.effect !== "read") noteChange(changes, file, call, state);
  }
  return [...changes].reverse().map(([path, change]) => codeRow(path, change, state));
}

function noteChange(changes: Map<string, Change>, file: FileEffect, call: Call, state: TaskState): void {
  const change = changes.get(file.path) ?? { effects: new Set(), names: new Set(), why: "" };
  changes.delete(file.path);
  changes.set(file.path, change);
  change.effects.add(file.effect);
  for (const name of definedNames(call)) if (change.names.size < MOST_NAMES) change.names.add(name);
  change.why = stated(state, call) || change.why;
}

function codeRow(path: string, change: Change, state: TaskState): string {
  const names = change.names.size === 0 ? "" : ` (${[...change.names].join(", ")})`;
  const why = change.why === "" ? "" : `; why: ${change.why}`;
  const file = path.split("/").at(-1) ?? path;
  const open = [...state.todos, ...state.errors.filter((error) => !error.resolved)];
  const follow = open.find((item) => item.text.includes(file));
  return `${path}: ${[...change.effects].join(", ")}${names}${why}${follow === undefined ? "" : `; follow-up: ${follow.text}`}`;
}

function definedNames(call: Call): string[] {
  const value = argumentsValue(call.part);
  const texts = isObject(value) ? Object.entries(value) : [["", value]];
  const added = texts.filter(([key, text]) => typeof text === "string" && !/^old/i.test(String(key)));
  return added.flatMap(([, text]) =>
    [...newText(String(text)).matchAll(DEFINITION)]
      .map((match) => match[1] ?? "")
      .filter((name) => name !== ""),
  );
}

// Of a patch, only what it adds.
function newText(text: string): string {
  const read = text.slice(0, CODE_ROOM);
  if (!read.includes("*** Begin Patch")) return read;
  return read
    .split("\n")
    .filter((line) => line.startsWith("+"))
    .map((line) => line.slice(1))
    .join("\n");
}

// What the assistant said in the message of the call, or in the message right before it.
function stated(state: TaskState, call: Call): string {
  for (const index of [call.message, call.message - 1]) {
    const message = state.conversation.messages[index];
    if (message?.role !== "assistant") continue;
    const said = sentences(messageText(message)).at(-1);
    if (said !== undefined) return clipEnd(oneLine(withoutMarks(said)), 160);
  }
  return "";
}

/** `[step_id] what was done -> outcome`, one row for each message of the assistant, newest first. */
export function stepRows(state: TaskState): string[] {
  const callsOf = groupByMessage(state.conversation.calls);
  const rows: string[] = [];
  state.conversation.messages.forEach((message, index) => {
    if (message.role !== "assistant" || state.conversation.staying.has(index)) return;
    const calls = (callsOf.get(index) ?? []).map((call) => `${stepName(call)} -> ${outcomeOf(call)}`);
    const said = sentences(messageText(message)).at(0);
    const parts = [...(said === undefined ? [] : [clipEnd(oneLine(withoutMarks(said)), 160)]), ...calls];
    if (parts.length > 0) rows.push(`[${message.id}] ${parts.join("; ")}`);
  });
  return rows.reverse();
}

// A tool's name alone does not say what was done.
function stepName(call: Call): string {
  const { command, files } = call.action;
  return command === undefined && files.length === 0
    ? clipEnd(oneLine(callText(call.part)), 100)
    : callName(call);
}

/** A shorter sentence at the beginning of a request is a greeting or thanks; scripts that write more with fewer letters have none. */
const GREETING = 15;
const DENSE = /[\u1100-\u11ff\u2e80-\uffff]/;

function wanted(text: string): string | undefined {
  const said = sentences(text);
  return said.find((sentence) => sentence.length >= GREETING || DENSE.test(sentence)) ?? said[0];
}

/** `[step_id] sentence`: the first sentence of every request that says something, and every standing wish, newest first. */
export function requirementRows(state: TaskState): string[] {
  const told = state.conversation.requests.filter(({ stays }) => stays !== "whole");
  const rows = told.flatMap((request) => {
    const said = wanted(request.text);
    const wishes = state.directives.filter((wish) => wish.id === request.id).map((wish) => wish.text);
    const all = said === undefined ? wishes : [clipEnd(oneLine(said), 300), ...wishes.reverse()];
    return [...new Set(all)].map((text) => `[${request.id}] ${text}`);
  });
  return rows.reverse();
}
