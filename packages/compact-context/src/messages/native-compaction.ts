import { type Message, toolCalls } from "./message.ts";
import { isObject } from "./native.ts";

/**
 * True for a message that begins with the provider's own compaction: sealed, readable by nobody else, and all that the
 * provider reads of what stands before it.
 */
export function carriesCompaction({ parts, native }: Message): boolean {
  if (parts[0]?.type !== "reasoning" || !isObject(native)) return false;
  const first = Array.isArray(native.content) ? native.content[0] : undefined;
  return isCompactionType(native.type) || (isObject(first) && isCompactionType(first.type));
}

/** True for a compaction behind which a message can stand: none that also calls tools. */
export function endsWithCompaction(message: Message): boolean {
  return carriesCompaction(message) && toolCalls(message).length === 0;
}

/** True for what the providers call their own compactions. */
export function isCompactionType(type: unknown): boolean {
  return type === "compaction" || type === "compaction_summary";
}
