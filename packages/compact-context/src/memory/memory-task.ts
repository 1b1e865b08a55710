import { type Message, messageText, type Part, readSummary, toolCalls } from "../core/message.ts";
import { errorMessage, startsWith } from "../errors.ts";
import { EXPAND_TOOL, MEMORY_TOOL, SEARCH_TOOL, SESSIONS_TOOL } from "../recall/arguments.ts";
import { oneLine } from "../summarizers/extractive/text.ts";
import type { ForgottenIn } from "./changes/document.ts";
import { forgottenBy } from "./changes/forget.ts";
import type { MemoryWriter } from "./changes/writer.ts";
import { asksNotToKeep, forgetRequests, rawSentencesOf, withoutToldSecrets } from "./learning/own-words.ts";
import { forgetWishes } from "./learning/wishes.ts";
import { stripRuntimeContext } from "./pack.ts";
import type { Sidecar, SidecarTask } from "./sidecar.ts";

/** Outcome of one memory task. */
export interface MemoryTaskRecord {
  /** `session-update`, `consolidation`, `promotion`, `history-folding`, `cleanup` or `rerank`. */
  readonly name: string;
  /** `model` if a model's answer was used, `program` if the built-in heuristic's was. */
  readonly by: "model" | "program";
  /** `nothing`: nothing had to change. */
  readonly outcome: "done" | "nothing" | "failed";
  readonly milliseconds: number;
  /** Requests to the model, and tokens used. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The error, or why a model's answer was not used. */
  readonly detail?: string;
}

/** Shared, read-only context of the tasks of one channel's memory. */
export interface TaskContext {
  readonly writer: MemoryWriter;
  /** If omitted, every task uses the built-in heuristics. */
  readonly sidecar?: Sidecar;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a monotonic clock. */
  clock(): number;
  onTask(record: MemoryTaskRecord): void;
  /** Called with what was removed from which file on a user's forget request; empty if nothing was found. */
  onForgotten?(forgotten: readonly ForgottenIn[]): void;
  /** Called if a model failed and the heuristic was used instead. */
  onWarning?(message: string): void;
}

/** A task with a sufficient heuristic and, optionally, a better model version. */
export interface TwoForms<T> {
  readonly name: string;
  /** Called only if there is a model. */
  readonly byModel?: () => SidecarTask<T>;
  readonly byProgram: () => T;
}

/**
 * Runs a task: calls the model if there is one, falls back to the heuristic, and reports the outcome.
 * `settle` writes the result and resolves to false if nothing had to change. If a model's result cannot be
 * written, the heuristic's is written instead. Rejects only if that fails too.
 */
export async function runTask<T>(
  { name, byModel, byProgram }: TwoForms<T>,
  settle: (output: T, by: MemoryTaskRecord["by"]) => Promise<boolean>,
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const started = context.clock();
  const asked = byModel === undefined ? undefined : await context.sidecar?.run(byModel(), signal);
  const { requests = 0, inputTokens = 0, outputTokens = 0 } = asked?.record ?? {};
  let detail = asked?.record.detail;
  const tell = (by: MemoryTaskRecord["by"], outcome: MemoryTaskRecord["outcome"]): void => {
    const milliseconds = context.clock() - started;
    context.onTask({ name, by, outcome, milliseconds, requests, inputTokens, outputTokens, detail });
  };
  const done = async (output: T, by: MemoryTaskRecord["by"]): Promise<"written" | "unchanged"> => {
    const written = await settle(output, by);
    tell(by, written ? "done" : "nothing");
    return written ? "written" : "unchanged";
  };
  if (asked?.done === false) {
    const why = detail ?? asked.record.outcome;
    context.onWarning?.(`${name}: the model's answer was not taken, the program did it: ${why}`);
  }
  try {
    if (asked?.done === true) return await done(asked.output, "model");
  } catch (error) {
    detail = errorMessage(error);
  }
  try {
    return await done(byProgram(), "program");
  } catch (error) {
    detail = errorMessage(error);
    tell("program", "failed");
    throw error;
  }
}

/**
 * The parts of messages a memory may learn from: without summaries, which repeat what was learned, without
 * context recalled into a user's message, and without results of recall tools.
 */
export function lessonsOf(messages: readonly Message[]): readonly Message[] {
  const recalls = new Set<string>();
  return messages.flatMap((message) => {
    if (isSummary(message)) return [];
    // MCP clients prepend the server's name to a tool's name.
    for (const { id, name } of toolCalls(message))
      if (RECALL_TOOLS.some((tool) => name.endsWith(tool))) recalls.add(id);
    return edited(message, (part) => lessonOf(part, message, recalls));
  });
}

/** The message with edited parts; the same object if nothing changed; empty if no part is left. */
function edited(message: Message, edit: (part: Part) => readonly Part[]): Message[] {
  const parts = message.parts.flatMap(edit);
  if (parts.length === 0) return [];
  const isSame = parts.length === message.parts.length && startsWith(parts, message.parts);
  return isSame ? [message] : [{ ...message, parts }];
}

/**
 * Messages that may be stored or shown again: without forgotten text, forget requests, messages that ask not
 * to be stored, and secrets told in words.
 */
export function tellable(
  messages: readonly Message[],
  isForgotten: (text: string) => boolean,
  keep: "nothing" | "wishes" = "nothing",
): readonly Message[] {
  return messages.flatMap((message) =>
    edited(message, (part) => {
      if (part.type !== "text") return [part];
      const text = tellableText(part.text, message.role === "user" && keep === "nothing", isForgotten);
      if (text === part.text) return [part];
      return text === "" ? [] : [{ ...part, text }];
    }),
  );
}

/** The same, also without what the messages themselves ask to forget. */
export function tellableNow(
  messages: readonly Message[],
  isForgotten: (text: string) => boolean,
): readonly Message[] {
  const wished = forgetWishes(messages).flatMap(({ sure, topic }) => (sure ? [topic] : []));
  const isWished = forgottenBy([], wished);
  return tellable(messages, (text) => isForgotten(text) || isWished(text));
}

function tellableText(text: string, isUser: boolean, isForgotten: (text: string) => boolean): string {
  if (isUser && asksNotToKeep(text)) return "";
  const wishes = new Set(isUser ? forgetRequests(text) : []);
  const sentences = rawSentencesOf(text);
  const kept = sentences.filter((sentence) => !isForgotten(sentence) && !wishes.has(oneLine(sentence)));
  return withoutToldSecrets(kept.length === sentences.length ? text : kept.join(" "));
}

/** Prefix of the reply that marks a failed model call in an agent's session. */
export const NO_ANSWER = "[No answer";

/** False if no model answered: a model cannot add to such messages and may be unreachable. */
export function wasAnswered(messages: readonly Message[]): boolean {
  return messages.some(
    (message) => message.role === "assistant" && !messageText(message).startsWith(NO_ANSWER),
  );
}

const RECALL_TOOLS = [EXPAND_TOOL, SEARCH_TOOL, SESSIONS_TOOL, MEMORY_TOOL];

/** Our summaries have a mark; after a round trip through a host's format only the tag is left. */
function isSummary(message: Message): boolean {
  return message.meta?.summaryVersion !== undefined || readSummary(messageText(message)) !== undefined;
}

function lessonOf(part: Part, { role }: Message, recalls: ReadonlySet<string>): Part[] {
  if (part.type === "toolCall" || part.type === "toolResult") return recalls.has(part.id) ? [] : [part];
  if (part.type !== "text" || role !== "user") return [part];
  const text = stripRuntimeContext(part.text);
  return text === part.text ? [part] : [{ ...part, text }];
}
