import { type Message, messageText } from "../../core/message.ts";
import type { Conversation, Request } from "./conversation.ts";
import { type Decision, statedDecisions } from "./decisions.ts";
import { type Directive, standingDirectives } from "./directives.ts";
import { type Earlier, readEarlier } from "./earlier.ts";
import {
  type CommandEntry,
  commandLedger,
  type ErrorEntry,
  errorLedger,
  type FileEntry,
  fileLedger,
  mergedEffect,
} from "./ledger.ts";
import type { Scene } from "./surroundings.ts";
import { oneLine } from "./text.ts";
import { openTodos, type Todo } from "./todos.ts";

/** What the conversation and the summary so far establish, before anything is weighed against a budget. */
export interface TaskState {
  readonly conversation: Conversation;
  /** The newest request, with the one before it when the newest is a bare go-ahead. */
  readonly request: readonly string[];
  readonly answered: boolean;
  /** The first request, when it is not the newest. */
  readonly firstRequest: string | undefined;
  /** The user's own sentences, newest first. */
  readonly constraints: readonly string[];
  /** Rules that an earlier summary of another kind states without saying whose they are. */
  readonly inheritedRules: readonly string[];
  readonly todos: readonly Todo[];
  /** In order of time. */
  readonly decisions: readonly Decision[];
  /** Lines of decisions from the summary so far. */
  readonly earlierDecisions: readonly string[];
  readonly files: readonly FileEntry[];
  readonly commands: readonly CommandEntry[];
  readonly errors: readonly ErrorEntry[];
  readonly identifiers: readonly string[];
  readonly directives: readonly Directive[];
  readonly earlier: Earlier;
}

const GO_AHEAD = 40;

/** Folds the summary so far into a conversation: newer facts win, finished todos and passed errors leave. */
export function readState({ conversation, cut }: Scene, previous: string | undefined): TaskState {
  const earlier = readEarlier(previous ?? "");
  const shown = textShown(cut);
  const directives = standingDirectives(conversation.requests).filter(({ text }) => !shown.includes(text));
  const requests = conversation.requests.filter(({ stays }) => stays === "no");
  const request = currentRequest(requests, earlier);
  return {
    conversation,
    request,
    answered: conversation.messages.length > 0 ? conversation.answered : earlier.answered,
    firstRequest: firstRequest(requests, earlier, request),
    constraints: unique([...directives.map((directive) => directive.text), ...earlier.constraints]),
    inheritedRules: earlier.inheritedRules,
    todos: openTodos(conversation) ?? earlier.todos,
    decisions: statedDecisions(conversation),
    earlierDecisions: earlier.decisions,
    files: mergeFiles(fileLedger(conversation), earlier.files),
    commands: mergeBy(commandLedger(conversation), earlier.commands, (entry) => entry.command),
    errors: mergeErrors(conversation, earlier),
    identifiers: earlier.identifiers,
    directives,
    earlier,
  };
}

function textShown(messages: readonly Message[]): string {
  return messages.map((message) => oneLine(messageText(message))).join("\n");
}

function currentRequest(requests: readonly Request[], earlier: Earlier): string[] {
  const newest = requests.at(-1);
  if (newest === undefined) return [...earlier.request];
  if (newest.text.length > GO_AHEAD) return [newest.text];
  const task = requests.findLast((request) => request.text.length > GO_AHEAD);
  if (task !== undefined) return [task.text, newest.text];
  return [...earlier.request, newest.text].slice(-2);
}

function firstRequest(
  requests: readonly Request[],
  earlier: Earlier,
  current: readonly string[],
): string | undefined {
  const first = earlier.firstRequest ?? earlier.request[0] ?? requests[0]?.text;
  return first === undefined || current.includes(first) ? undefined : first;
}

function mergeFiles(newer: readonly FileEntry[], older: readonly FileEntry[]): FileEntry[] {
  const before = new Map(older.map((entry) => [entry.path, entry.effect]));
  const merged = newer.map(({ path, effect }) => ({ path, effect: mergedEffect(before.get(path), effect) }));
  return mergeBy(merged, older, (entry) => entry.path);
}

function mergeErrors(conversation: Conversation, earlier: Earlier): ErrorEntry[] {
  const passed = new Set(
    commandLedger(conversation)
      .filter((entry) => entry.outcome === "ok")
      .map((entry) => entry.command),
  );
  const older = earlier.errors.filter((error) => !error.resolved && !passed.has(error.from));
  return mergeBy(errorLedger(conversation), older, (error) => error.text);
}

function mergeBy<Entry>(
  newer: readonly Entry[],
  older: readonly Entry[],
  key: (entry: Entry) => string,
): Entry[] {
  const seen = new Set(newer.map(key));
  return [...newer, ...older.filter((entry) => !seen.has(key(entry)))];
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
