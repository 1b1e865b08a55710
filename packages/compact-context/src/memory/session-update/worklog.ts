import { type Message, messageText } from "../../core/message.ts";
import { turnStarts } from "../../core/units.ts";
import type { Call, Conversation } from "../../summarizers/extractive/conversation.ts";
import { outcomeOf } from "../../summarizers/extractive/ledger.ts";
import { commandKey } from "../../summarizers/extractive/shell.ts";
import { clipEnd, oneLine, sentences } from "../../summarizers/extractive/text.ts";

/** One turn in a line: what was asked, and what came of it. */
export interface WorklogLine {
  /** Of the turn's first message. */
  readonly id: string;
  readonly asked: string;
  readonly outcome: string;
  /** True when files were changed, or a command failed. */
  readonly weighty: boolean;
}

const ASKED = 110;
const SAID = 130;
const NAMED = 3;
const LOOKING = /^(?:ls|cat|grep|rg|find|head|tail|pwd|echo|which|wc|tree|sed -n|cd|sleep)\b/;

/** The turns of a conversation that have an outcome or are the newest, in order. */
export function worklogOf(conversation: Conversation): readonly WorklogLine[] {
  const { messages, requests } = conversation;
  const starts = turnStarts(messages);
  const lines = starts.flatMap((start, turn) => {
    const end = starts[turn + 1] ?? messages.length;
    const request = requests.find(({ message }) => message >= start && message < end);
    if (request === undefined) return [];
    const calls = conversation.calls.filter(({ message }) => message >= start && message < end);
    const outcome = outcomeIn(messages.slice(start, end), calls);
    const asked = clipEnd(firstSentence(request.text), ASKED);
    const weighty = calls.some((call) => changes(call).length > 0 || failed(call));
    return [{ id: request.id, asked, outcome, weighty }];
  });
  // Words to which nothing answered belong to what follows them; the newest wait for their answer.
  const newest = lines.at(-1);
  return lines.flatMap((line) => {
    if (line.outcome !== "") return [line];
    return line === newest ? [{ ...line, outcome: "under way" }] : [];
  });
}

/** As it stands in SESSION.md and HISTORY.md. */
export function worklogText({ asked, outcome }: WorklogLine): string {
  return `${asked} → ${outcome}`;
}

/** The first sentence that says something; one that only announces the next goes with it. */
export function firstSentence(text: string): string {
  const said = sentences(text).map((sentence) => oneLine(sentence.replace(/^[-*>#\s]+/, "")));
  const at = said.findIndex((sentence) => sentence.length >= 12);
  const first = said[at] ?? said[0] ?? oneLine(text);
  const following = said[at + 1];
  return /[:：]$/.test(first) && at >= 0 && following !== undefined ? `${first} ${following}` : first;
}

function outcomeIn(messages: readonly Message[], calls: readonly Call[]): string {
  const files = [...new Set(calls.flatMap(changes))];
  const ran = lastRun(calls);
  const parts = [
    ...(files.length === 0 ? [] : [`changed ${named(files)}`]),
    ...(ran === undefined ? [] : [`ran \`${clipEnd(oneLine(ran.command), 60)}\` (${ran.outcome})`]),
  ];
  const reply = messages.findLast(
    ({ role, parts: said }) => role === "assistant" && said.some(({ type }) => type === "text"),
  );
  const answer = reply === undefined ? "" : clipEnd(firstSentence(messageText(reply)), SAID);
  return [...parts, ...(answer === "" ? [] : [answer])].join("; ");
}

function changes(call: Call): string[] {
  if (call.result?.isError === true) return [];
  return call.action.files.filter(({ effect }) => effect !== "read").map(({ path }) => path);
}

function failed(call: Call): boolean {
  return call.result !== undefined && call.action.command !== undefined && outcomeOf(call) !== "ok";
}

function lastRun(calls: readonly Call[]): { readonly command: string; readonly outcome: string } | undefined {
  const run = calls.findLast(({ action }) => {
    const key = action.command === undefined ? "" : commandKey(action.command);
    return key !== "" && !action.reads && !LOOKING.test(key);
  });
  return run === undefined
    ? undefined
    : { command: commandKey(run.action.command ?? ""), outcome: outcomeOf(run) };
}

function named(files: readonly string[]): string {
  const shown = files.slice(0, NAMED).map((path) => path.split("/").slice(-2).join("/"));
  return files.length > NAMED ? `${shown.join(", ")} and ${files.length - NAMED} more` : shown.join(", ");
}
