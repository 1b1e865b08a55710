import { type Message, messageText, type Part, readSummary, toolCalls } from "../core/message.ts";
import { errorMessage } from "../errors.ts";
import { EXPAND_TOOL, MEMORY_TOOL, SEARCH_TOOL, SESSIONS_TOOL } from "../recall/arguments.ts";
import type { ForgottenIn } from "./changes/document.ts";
import { forgottenBy } from "./changes/forget.ts";
import type { MemoryWriter } from "./changes/writer.ts";
import { asksNotToKeep, forgetRequests, rawSentencesOf, withoutToldSecrets } from "./learning/own-words.ts";
import { forgetWishes } from "./learning/wishes.ts";
import { stripRuntimeContext } from "./pack.ts";
import type { Sidecar, SidecarTask } from "./sidecar/sidecar.ts";

/** Outcome of one memory task. */
export interface MemoryTaskRecord {
  /** `session-update`, `consolidation`, `promotion`, `history-folding`, `cleanup` or `rerank`. */
  readonly name: string;
  /** `model` where a model's answer was taken, `program` where the program's own was. */
  readonly by: "model" | "program";
  /** `nothing`: there was nothing to change. */
  readonly outcome: "done" | "nothing" | "failed";
  readonly milliseconds: number;
  /** Requests to the model, and its tokens. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Why it failed, or why a model's answer was not taken. */
  readonly detail?: string;
}

/** What the tasks of one channel's memory share; none of it is theirs to change. */
export interface TaskContext {
  readonly writer: MemoryWriter;
  /** Without it every task is done by program. */
  readonly sidecar?: Sidecar;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a steady clock. */
  clock(): number;
  onTask(record: MemoryTaskRecord): void;
  /** Told what was taken out of which file because the user wanted it forgotten; of nothing where none of it was found. */
  onForgotten?(forgotten: readonly ForgottenIn[]): void;
  /** Told of a model's failure that the program made good. */
  onWarning?(message: string): void;
}

/** Work that a program does well enough, and a model may do better. */
export interface TwoForms<T> {
  readonly name: string;
  /** Made only when there is a model to ask. */
  readonly byModel?: () => SidecarTask<T>;
  readonly byProgram: () => T;
}

/**
 * Does a task: asks the model where there is one, falls back to the program, and tells of it. `settle` writes down what was
 * decided; false where nothing had to change. What a model decided and could not be written is decided again by program.
 * Rejects only when that failed too.
 */
export async function runTask<T>(
  { name, byModel, byProgram }: TwoForms<T>,
  settle: (output: T, by: MemoryTaskRecord["by"]) => Promise<boolean>,
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const started = context.clock();
  let spent = { requests: 0, inputTokens: 0, outputTokens: 0 };
  let detail: string | undefined;
  const done = async (output: T, by: MemoryTaskRecord["by"]): Promise<"written" | "unchanged"> => {
    const written = await settle(output, by);
    tell(by, written ? "done" : "nothing");
    return written ? "written" : "unchanged";
  };
  const tell = (by: MemoryTaskRecord["by"], outcome: MemoryTaskRecord["outcome"]): void =>
    context.onTask({ name, by, outcome, milliseconds: context.clock() - started, ...spent, detail });
  const asked = byModel === undefined ? undefined : await context.sidecar?.run(byModel(), signal);
  if (asked !== undefined) {
    const { requests, inputTokens, outputTokens, outcome } = asked.record;
    spent = { requests, inputTokens, outputTokens };
    detail = asked.record.detail;
    if (!asked.done)
      context.onWarning?.(
        `${name}: the model's answer was not taken, the program did it: ${detail ?? outcome}`,
      );
    else
      try {
        return await done(asked.output, "model");
      } catch (error) {
        detail = errorMessage(error);
      }
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
 * The messages as far as a memory may learn from them: without summaries, which tell again what was learned, without
 * what was recalled into a user's message, and without what a recall tool brought back.
 */
export function lessonsOf(messages: readonly Message[]): readonly Message[] {
  const recalls = new Set<string>();
  return messages.flatMap((message) => {
    if (isSummary(message)) return [];
    for (const { id, name } of toolCalls(message)) if (bringsBack(name)) recalls.add(id);
    return edited(message, (part) => lessonOf(part, message, recalls));
  });
}

/** The message with other parts, itself where they are the same; none without any. */
function edited(message: Message, edit: (part: Part) => readonly Part[]): Message[] {
  const parts = message.parts.flatMap(edit);
  if (parts.length === 0) return [];
  const isSame =
    parts.length === message.parts.length && parts.every((part, index) => part === message.parts[index]);
  return isSame ? [message] : [{ ...message, parts }];
}

/**
 * Messages as they may be told again: without what was forgotten, wishes to forget, what was asked not to be kept, and
 * secrets told in words.
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

/** The same without what the messages themselves ask to have forgotten. */
export function tellableNow(
  messages: readonly Message[],
  isForgotten: (text: string) => boolean,
): readonly Message[] {
  const wished = forgetWishes(messages).filter(({ sure }) => sure);
  const isWished = forgottenBy(
    [],
    wished.map(({ topic }) => topic),
  );
  return tellable(messages, (text) => isForgotten(text) || isWished(text));
}

function tellableText(text: string, isUser: boolean, isForgotten: (text: string) => boolean): string {
  if (isUser && asksNotToKeep(text)) return "";
  const wishes = new Set(isUser ? forgetRequests(text) : []);
  const sentences = rawSentencesOf(text);
  const kept = sentences.filter(
    (sentence) => !isForgotten(sentence) && !wishes.has(sentence.replace(/\s+/g, " ").trim()),
  );
  return withoutToldSecrets(kept.length === sentences.length ? text : kept.join(" "));
}

/** How an agent's session tells that its model did not answer. */
export const NO_ANSWER = "[No answer";

/** Where no model answered there is nothing that one sees better, and it may be out of reach. */
export function wasAnswered(messages: readonly Message[]): boolean {
  return messages.some(
    (message) => message.role === "assistant" && !messageText(message).startsWith(NO_ANSWER),
  );
}

const RECALL_TOOLS = [EXPAND_TOOL, SEARCH_TOOL, SESSIONS_TOOL, MEMORY_TOOL];

/** Clients of MCP write the server's name before a tool's. */
function bringsBack(tool: string): boolean {
  return RECALL_TOOLS.some((name) => tool.endsWith(name));
}

/** Ours is marked where it was made; after a round through a host's own format only its tag is left. */
function isSummary(message: Message): boolean {
  return message.meta?.summaryVersion !== undefined || readSummary(messageText(message)) !== undefined;
}

function lessonOf(part: Part, { role }: Message, recalls: ReadonlySet<string>): Part[] {
  if (part.type === "toolCall" || part.type === "toolResult") return recalls.has(part.id) ? [] : [part];
  if (part.type !== "text" || role !== "user") return [part];
  const text = stripRuntimeContext(part.text);
  return text === part.text ? [part] : [{ ...part, text }];
}
