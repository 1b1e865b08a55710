import type { Message } from "../../core/message.ts";
import { readConversation } from "../../summarizers/extractive/reading.ts";
import { openTasks } from "../../summarizers/extractive/steps.ts";
import { clipEnd, oneLine } from "../../summarizers/extractive/text.ts";
import { isFirmRule, isTellingDecision } from "../session-update/wording.ts";
import { firstSentence, type WorklogLine, worklogOf, worklogText } from "../session-update/worklog.ts";

/** A dated section of HISTORY.md. */
export interface HistoryEntry {
  readonly heading: string;
  /** Bullets, one a line. */
  readonly text: string;
}

const MOST_TURNS = 8;
const MOST_OF_A_KIND = 3;
const LONGEST = 260;
const TITLE = 90;

/** What happened in these messages, a line for each turn that mattered; undefined where nothing did. */
export function historyEntry(messages: readonly Message[], at: number): HistoryEntry | undefined {
  const task = readConversation(messages);
  const log = worklogOf(task);
  const decided = task.decisions.map(({ text }) => text).filter(isTellingDecision);
  const lines = [
    ...tellingTurns(log),
    ...labelled("Decided", decided.slice(-MOST_OF_A_KIND)),
    ...labelled(
      "Asked for",
      task.rules
        .map(({ text }) => text)
        .filter(isFirmRule)
        .slice(0, MOST_OF_A_KIND)
        .toReversed(),
    ),
    ...labelled(
      "Left open",
      openTasks(task.plan)
        .slice(0, MOST_OF_A_KIND)
        .map(({ text }) => text),
    ),
  ];
  const [first] = log;
  if (first === undefined || lines.length === 0) return undefined;
  const telling = task.requests.find(({ text }) => text.length >= TITLE / 5) ?? task.requests[0];
  return entryOf(clipEnd(firstSentence(telling?.text ?? first.asked), TITLE), lines, at);
}

/** An entry with its date, which recall reads as its age. */
export function entryOf(title: string, lines: readonly string[], at: number): HistoryEntry {
  const time = `${new Date(at).toISOString().slice(0, 16)}Z`;
  const bullets = lines.map((line) => `- ${clipEnd(oneLine(line), LONGEST)}`);
  return { heading: `${time} ${oneLine(title)}`, text: bullets.join("\n") };
}

/** The turns that changed or broke something first, then the newest, all in their order. */
function tellingTurns(log: readonly WorklogLine[]): string[] {
  const weighty = log.filter((line) => line.weighty).slice(-MOST_TURNS);
  const others = log.filter((line) => !line.weighty);
  const room = MOST_TURNS - weighty.length;
  const kept = new Set([...weighty, ...(room > 0 ? others.slice(-room) : [])]);
  const left = log.length - kept.size;
  const lines = log.filter((line) => kept.has(line)).map(worklogText);
  return left > 0 ? [...lines, `${left} smaller ${left === 1 ? "turn" : "turns"} between them`] : lines;
}

function labelled(label: string, items: readonly string[]): string[] {
  return [...new Set(items)].map((item) => `${label}: ${item}`);
}
