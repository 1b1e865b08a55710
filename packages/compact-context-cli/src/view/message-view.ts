import {
  argumentsValue,
  type Message,
  messageText,
  type ToolCallPart,
  type ToolResultPart,
} from "compact-context/internal/core/message";
import type { PlannedAction } from "compact-context/internal/core/plan";
import { isUserSpeech, typedText } from "compact-context/internal/core/units";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { Fate, MessageKind } from "./session-view.ts";
import { textIn } from "./untrusted.ts";

/** Most characters of a preview. */
const PREVIEW = 240;
/** Secrets are looked for in more than is shown: one that is cut in two would not be found. */
const SEARCHED = 2000;

/** What a message mostly is. */
export function kindOf(message: Message): MessageKind {
  if (message.meta?.summaryVersion !== undefined) return "summary";
  const types = new Set(message.parts.map((part) => part.type));
  for (const kind of ["toolCall", "toolResult", "media"] as const) if (types.has(kind)) return kind;
  return types.has("text") || !types.has("reasoning") ? "text" : "reasoning";
}

/** The tool that a message is about, and the file or folder that was named to it. */
export interface ToolFacts {
  readonly tool?: string;
  readonly path?: string;
}

const PATHS = ["file_path", "path", "filePath", "notebook_path", "file", "filename", "dir", "directory"];

/** Finds tool and path of each message of a session: a result has those of its call. */
export function createToolFacts(history: () => readonly Message[]): (message: Message) => ToolFacts {
  const calls = new Map<string, ToolFacts>();
  let read = 0;
  const factsOf = (call: ToolCallPart): ToolFacts => {
    const value = argumentsValue(call);
    const path = PATHS.map((field) => textIn(value, field)).find((text) => text !== undefined);
    return { tool: call.name, path: path?.slice(0, 240) };
  };
  return (message) => {
    const all = history();
    for (; read < all.length; read += 1)
      for (const part of all[read]?.parts ?? [])
        if (part.type === "toolCall") calls.set(part.id, factsOf(part));
    const part = message.parts.find(
      (one): one is ToolCallPart | ToolResultPart => one.type === "toolCall" || one.type === "toolResult",
    );
    if (part === undefined) return {};
    return part.type === "toolCall" ? factsOf(part) : (calls.get(part.id) ?? { tool: part.name });
  };
}

/** The beginning of a message on one line, secrets taken out. */
export function previewOf(message: Message, redactText: (text: string) => string): string {
  return shortPreview(redactText(readableMessage(message).slice(0, SEARCHED)));
}

/** The beginning of a text on one line. */
export function shortPreview(text: string): string {
  const line = text
    .slice(0, PREVIEW * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= PREVIEW ? line : `${line.slice(0, PREVIEW - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** What a person typed in the message; undefined where an agent's host put all of it there, or nobody speaks. */
export function typedAsk(message: Message): string | undefined {
  if (!isUserSpeech(message)) return undefined;
  const text = typedText(messageText(message));
  return /^(?!# AGENTS\.md )\S/.test(text) ? text : undefined;
}

const FATES: ReadonlyMap<string | undefined, Fate> = new Map<PlannedAction, Fate>([
  ["keep", "kept"],
  ["clear", "cleared"],
  ["elide", "cut"],
  ["summarize", "summarized"],
]);

/** What the plan's word for it is called on the page; `unknown` for a word that is none of a plan. */
export function fateOf({ action }: { readonly action: string | undefined }): Fate {
  return FATES.get(action) ?? "unknown";
}
