import type { Message, ToolCallPart, ToolResultPart } from "compact-context/internal/core/message";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { MessageKind } from "./session-view.ts";

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

/** The name of the first tool that is called or answers. */
export function toolOf(message: Message): string | undefined {
  const part = message.parts.find(
    (one): one is ToolCallPart | ToolResultPart => one.type === "toolCall" || one.type === "toolResult",
  );
  return part?.name;
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
