import { type Message, messageText, toolCalls } from "../../core/message.ts";
import type { TextModel } from "../../core/ports.ts";
import { turnStarts, typedText } from "../../core/units.ts";
import { CompactError, requireOptions, requireText } from "../../errors.ts";
import { readAction } from "../../summarizers/extractive/actions.ts";
import { readDocument } from "../changes/document.ts";
import { createMemoryWriter, replaceSession } from "../changes/writer.ts";
import { linesOf } from "../markdown.ts";
import { lessonsOf, runTask, type TaskContext, tellableNow, wasAnswered } from "../memory-task.ts";
import {
  fieldOf,
  parseSessionMemory,
  renderSessionMemory,
  type SessionMemoryState,
} from "../session-memory.ts";
import { createSidecar } from "../sidecar.ts";
import { sessionStateOf } from "./heuristic.ts";
import { type SessionAnswer, sessionUpdateTask, withAnswer } from "./llm.ts";
import { isCorrection } from "./wording.ts";

export interface SessionMemoryUpdateOptions {
  readonly channelDir: string;
  readonly messages: readonly Message[];
  /** Used for better wording. If omitted or failing, the built-in heuristic is used. */
  readonly model?: TextModel;
  readonly signal?: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Updates a channel's SESSION.md from a conversation, resolves to its state; a failure changes nothing. */
export async function updateChannelSessionMemory(
  options: SessionMemoryUpdateOptions,
): Promise<SessionMemoryState> {
  requireOptions(options, "options", "Pass { channelDir, messages }.");
  const { channelDir, model, now = Date.now } = options;
  requireText(channelDir, "options.channelDir", "Pass the path of the channel's folder.");
  const context: TaskContext = {
    writer: createMemoryWriter({ channelDir, now }),
    sidecar: model === undefined ? undefined : createSidecar({ model }),
    now,
    clock: () => performance.now(),
    onTask: () => undefined,
  };
  await refreshSession(options.messages, context, options.signal);
  return parseSessionMemory((await context.writer.read("SESSION.md")).text);
}

/** One update of SESSION.md, with or without a model. */
export async function refreshSession(
  messages: readonly Message[],
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const forgotten = await context.writer.forgotten();
  const lessons = tellableNow(lessonsOf(messages), forgotten);
  const last = parseSessionMemory((await context.writer.read("SESSION.md")).text);
  const settle = (answer: SessionAnswer | undefined, by: "model" | "program"): Promise<boolean> =>
    writeState({ lessons, answer, by }, context);
  return runTask<SessionAnswer | undefined>(
    {
      name: "session-update",
      byModel: wasAnswered(lessons) ? () => sessionUpdateTask(lessons, last) : undefined,
      byProgram: () => undefined,
    },
    settle,
    context,
    signal,
  );
}

interface Decided {
  readonly lessons: readonly Message[];
  readonly answer: SessionAnswer | undefined;
  readonly by: "model" | "program";
}

async function writeState(decided: Decided, { writer }: TaskContext): Promise<boolean> {
  const done = await replaceSession(writer, (text) => textOf(decided, text), {
    reason: `SESSION.md follows the conversation (${decided.by})`,
    mayShrink: decided.by === "program",
  });
  const [no] = done?.refused ?? [];
  if (no !== undefined)
    throw new CompactError("Conflict", `SESSION.md was not written: ${no.message}`, {
      place: "SESSION.md",
      hint: "It is tried again later; the last file stays.",
    });
  return done?.changeId !== undefined;
}

/** Undefined if the state is unchanged, so that people's formatting of the file is kept. */
function textOf({ lessons, answer }: Decided, before: string): string | undefined {
  const last = parseSessionMemory(before);
  const program = sessionStateOf(lessons, last);
  const state = answer === undefined ? program : withAnswer(program, answer, lessons);
  const text = renderSessionMemory(state);
  return text === renderSessionMemory(last) ? undefined : `${text}${foreignSections(before)}`;
}

/** Sections that people added; kept unchanged below ours. */
function foreignSections(text: string): string {
  const lines = linesOf(text);
  const foreign = readDocument("SESSION.md", text).sections.filter(
    ({ level, heading, items }) => level > 0 && items.length > 0 && fieldOf(heading) === undefined,
  );
  return foreign
    .map(
      ({ line, lastLine }) =>
        `\n${lines
          .slice(line - 1, lastLine)
          .join("\n")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Progress since the last update of SESSION.md. */
interface Progress {
  /** Number of answered turns. */
  readonly turns: number;
  readonly toolCalls: number;
  /** A file was changed, and a final reply followed. */
  readonly changedFile: boolean;
  /** The user spoke while the agent was working, or corrected it. */
  readonly steered: boolean;
}

export interface UpdateThresholds {
  readonly minTurnsBetweenUpdate: number;
  readonly minToolCallsBetweenUpdate: number;
}

/** Progress in the messages since the last update. */
export function progressIn(messages: readonly Message[]): Progress {
  const starts = turnStarts(messages);
  const isAnswered = (start: number, turn: number): boolean => {
    const end = starts[turn + 1] ?? messages.length;
    return messages.slice(start, end).some(isFinalReply);
  };
  const calls = messages.flatMap(toolCalls);
  const changed = messages.findLastIndex((message) => toolCalls(message).some(changesFile));
  return {
    turns: starts.filter(isAnswered).length,
    toolCalls: calls.length,
    changedFile: changed >= 0 && messages.slice(changed + 1).some(isFinalReply),
    steered: messages.some((message, index) => isSteering(messages, message, index)),
  };
}

/** MEM-6: enough turns, enough tool calls, a changed file with a final reply, or a change of direction. */
export function isUpdateDue(progress: Progress, thresholds: UpdateThresholds): boolean {
  return (
    progress.turns >= thresholds.minTurnsBetweenUpdate ||
    progress.toolCalls >= thresholds.minToolCallsBetweenUpdate ||
    progress.changedFile ||
    progress.steered
  );
}

function isFinalReply(message: Message): boolean {
  return (
    message.role === "assistant" && messageText(message).trim() !== "" && toolCalls(message).length === 0
  );
}

function changesFile(call: Parameters<typeof readAction>[0]): boolean {
  return readAction(call).files.some(({ effect }) => effect !== "read");
}

/** Said between a call and the final reply, or a correction. */
function isSteering(messages: readonly Message[], message: Message, index: number): boolean {
  if (message.role !== "user" || message.meta?.synthetic === true) return false;
  const text = typedText(messageText(message));
  if (text === "") return false;
  const before = messages[index - 1];
  const atWork = before?.role === "tool" || (before !== undefined && toolCalls(before).length > 0);
  const carriesResults = message.parts.some(({ type }) => type === "toolResult");
  return atWork || carriesResults || (before !== undefined && isCorrection(text));
}
