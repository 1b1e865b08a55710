import { type Message, messageText } from "../../core/message.ts";
import { turnStarts } from "../../core/units.ts";
import { commandKey, isLookingCommand } from "../../summarizers/extractive/commands.ts";
import { type Outcome, tookEffect } from "../../summarizers/extractive/outcomes.ts";
import type { Reading } from "../../summarizers/extractive/reading.ts";
import type { Step } from "../../summarizers/extractive/steps.ts";
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

/** The turns of a conversation that have an outcome or are the newest, in order. */
export function worklogOf(reading: Reading): readonly WorklogLine[] {
  const { messages, requests, steps } = reading;
  const starts = turnStarts(messages);
  const lines = starts.flatMap((start, turn) => {
    const end = starts[turn + 1] ?? messages.length;
    const request = requests.find(({ message }) => message >= start && message < end);
    if (request === undefined) return [];
    const calls = steps.filter(({ message }) => message >= start && message < end);
    const outcome = outcomeIn(messages.slice(start, end), calls);
    const asked = clipEnd(firstSentence(request.text), ASKED);
    const weighty = calls.some((call) => changes(call).length > 0 || call.outcome.state === "failed");
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

/** The first sentence that says something and those behind it, which often say why, while they fit. */
function firstSentences(text: string): string {
  const first = firstSentence(text);
  const said = sentences(text).map((sentence) => oneLine(sentence));
  const at = said.findIndex((sentence) => first.endsWith(sentence));
  let all = first;
  for (const sentence of at < 0 ? [] : said.slice(at + 1)) {
    if (all.length + sentence.length >= SAID || /[:：?？]$|^[-*#>\d]/.test(sentence)) break;
    all = `${all} ${sentence}`;
  }
  return clipEnd(all, SAID);
}

function outcomeIn(messages: readonly Message[], calls: readonly Step[]): string {
  const files = [...new Set(calls.flatMap(changes))];
  const ran = lastRun(calls);
  const parts = [
    ...(files.length === 0 ? [] : [`changed ${named(files)}`]),
    ...(ran === undefined ? [] : [`ran \`${clipEnd(oneLine(ran.command), 60)}\` (${ran.outcome})`]),
  ];
  const reply = messages.findLast(
    ({ role, parts: said }) => role === "assistant" && said.some(({ type }) => type === "text"),
  );
  const answer = reply === undefined ? "" : firstSentences(messageText(reply));
  return [...parts, ...(answer === "" ? [] : [answer])].join("; ");
}

function changes({ action, outcome }: Step): string[] {
  if (!tookEffect(outcome)) return [];
  return action.files.filter(({ effect }) => effect !== "read").map(({ path }) => path);
}

/** The last command that does more than look around. */
export function lastRun(
  steps: readonly Step[],
): { readonly command: string; readonly outcome: string } | undefined {
  const run = steps.findLast(
    ({ action }) => action.command !== undefined && !isLookingCommand(action.command),
  );
  const command = commandKey(run?.action.command ?? "");
  return run === undefined || command === "" ? undefined : { command, outcome: ended(run.outcome) };
}

/** How a command ended, as far as anything shows it; words of its output stay out of notes that are read later. */
function ended({ state, detail }: Outcome): string {
  if (state === "unknown") return detail === "" ? "outcome not recorded" : detail;
  return state === "passed" ? state : (/^exit \d+/.exec(detail)?.[0] ?? state);
}

function named(files: readonly string[]): string {
  const shown = files.slice(0, NAMED).map((path) => path.split("/").slice(-2).join("/"));
  return files.length > NAMED ? `${shown.join(", ")} and ${files.length - NAMED} more` : shown.join(", ");
}
