import type { Call, Conversation } from "./conversation.ts";
import type { FileEffect } from "./file-effect.ts";
import { commandKey } from "./shell.ts";
import { clipEnd, oneLine } from "./text.ts";

/** The lasting effect on one file. */
export interface FileEntry {
  readonly path: string;
  readonly effect: FileEffect["effect"];
}

export interface CommandEntry {
  readonly command: string;
  /** `ok`, `exit 1`, `failed` or `no result`. */
  readonly outcome: string;
}

export interface ErrorEntry {
  readonly text: string;
  /** The command or tool that gave it. */
  readonly from: string;
  /** True when the same command passed later. */
  readonly resolved: boolean;
}

const EXIT =
  /\b(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|returncode|exit_code|exitCode)["']?\s?[:=>]?\s?(\d{1,3})\b/i;
const ERROR_LINE =
  /\b(?:[A-Z]\w{0,60}(?:Error|Exception)|error|fatal|panic|failed|FAIL|Traceback|denied|not found|cannot|unable to|No such file)\b/;
const LOUD_LINE = /^\s{0,20}(?:[\w.]{0,80}(?:Error|Exception)|error|fatal|panic)(?:\[\w{1,20}\])?:\s/;
const WINDOW = 4000;
const MOST_KINDS = 100;
const LONGEST = 240;
const STRENGTH: Readonly<Record<FileEffect["effect"], number>> = {
  read: 0,
  edited: 1,
  created: 2,
  deleted: 3,
};

/** Every file that a call touched, the one touched last first; a created file stays `created` when edited later. */
export function fileLedger(conversation: Conversation): FileEntry[] {
  const files = new Map<string, FileEffect["effect"]>();
  const told = new Set<string>();
  for (const call of conversation.calls) {
    if (call.result?.isError === true) continue;
    for (const { path, effect } of call.action.files) {
      if (!call.stays) told.add(path);
      const before = files.get(path);
      files.delete(path);
      files.set(path, mergedEffect(before, effect));
    }
  }
  return [...files]
    .filter(([path]) => told.has(path))
    .map(([path, effect]) => ({ path, effect }))
    .reverse();
}

/** What is known of a file after one more effect. */
export function mergedEffect(
  before: FileEffect["effect"] | undefined,
  effect: FileEffect["effect"],
): FileEffect["effect"] {
  if (before === undefined) return effect;
  if (effect === "created" && before !== "deleted") return before === "created" ? "created" : "edited";
  if (before === "deleted") return effect;
  return STRENGTH[effect] > STRENGTH[before] ? effect : before;
}

/** Commands with their last outcome, the one run last first; plain looking around (`ls`, `cat`, `grep` …) is left out. */
export function commandLedger(conversation: Conversation): CommandEntry[] {
  const commands = new Map<string, CommandEntry>();
  for (const call of conversation.calls) {
    const { command, reads } = call.action;
    if (command === undefined || reads) continue;
    const key = commandKey(command);
    if (key === "" || LOOKING.test(key)) continue;
    commands.delete(key);
    if (call.stays && call.result?.stays !== false) continue;
    commands.set(key, { command: clipEnd(oneLine(key), 160), outcome: outcomeOf(call) });
  }
  return [...commands.values()].reverse();
}

const LOOKING =
  /^(?:ls|cat|grep|rg|find|head|tail|pwd|echo|which|wc|tree|sed -n|cd|sleep|git (?:status|log|diff|show))\b/;

/** `ok`, `exit N`, `failed`, or `no result` for a call that was never answered. */
export function outcomeOf(call: Call): string {
  const { result } = call;
  if (result === undefined) return "no result";
  const code = exitCode(result.text);
  if (code !== undefined && code !== "0") return `exit ${code}`;
  return result.isError ? "failed" : "ok";
}

function exitCode(text: string): string | undefined {
  return (EXIT.exec(text.slice(0, 400)) ?? EXIT.exec(text.slice(-400)))?.[1];
}

interface KnownError extends ErrorEntry {
  readonly key: string;
  /** The reader sees it beside the summary. */
  readonly stays: boolean;
}

/** The last error of each kind, newest first, open ones before those whose command passed later. */
export function errorLedger(conversation: Conversation): ErrorEntry[] {
  const errors = new Map<string, KnownError>();
  for (const call of conversation.calls) {
    const { command } = call.action;
    const key = command === undefined ? call.part.name : commandKey(command);
    const text = errorText(call);
    const stays = call.result?.stays === true;
    if (text !== undefined) {
      const kind = text.toLowerCase().replace(/\d+/g, "0").slice(0, 60);
      errors.delete(kind);
      if (errors.size >= MOST_KINDS) errors.delete(errors.keys().next().value ?? "");
      errors.set(kind, { key, text, from: clipEnd(oneLine(key), 100), resolved: false, stays });
    } else if (command !== undefined && call.result !== undefined) markResolved(errors, key);
  }
  const newest = [...errors.values()]
    .filter((error) => !error.stays)
    .reverse()
    .map(({ text, from, resolved }) => ({ text, from, resolved }));
  return [...newest.filter((error) => !error.resolved), ...newest.filter((error) => error.resolved)];
}

function markResolved(errors: Map<string, KnownError>, key: string): void {
  for (const [kind, error] of errors) if (error.key === key) errors.set(kind, { ...error, resolved: true });
}

function errorText(call: Call): string | undefined {
  const { result } = call;
  if (result === undefined) return undefined;
  const failed = outcomeOf(call) !== "ok";
  if (call.action.reads && !failed) return undefined;
  const read =
    result.text.length > 2 * WINDOW
      ? `${result.text.slice(0, WINDOW)}\n${result.text.slice(-WINDOW)}`
      : result.text;
  const lines = read.split("\n").map((line) => line.slice(0, 1000));
  const loud = lines.findLast((line) => LOUD_LINE.test(line));
  const telling = loud ?? (failed ? lines.findLast((line) => ERROR_LINE.test(line)) : undefined);
  if (telling !== undefined) return clipEnd(oneLine(telling), LONGEST);
  const first = failed ? lines.find((line) => /\w/.test(line)) : undefined;
  return first === undefined ? undefined : clipEnd(oneLine(first), LONGEST);
}
