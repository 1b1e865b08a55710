import { type Json, objectOf, objectsIn, textOf } from "../providers/request.ts";

/** Maximum length in characters up to which a non-streamed answer is read. */
const MOST_TEXT = 16_000_000;

/** Pieces that do not match report neither usage nor dropped blocks. */
const TELLING = /sage|input_transformations/;

/**
 * The same answer, byte for byte; `seen` is called with each usage record as it passes. Never reads ahead of
 * the reader.
 */
export function watchUsage(
  response: Response,
  usageOf: (piece: Json) => unknown,
  seen: (usage: Json) => void,
): ReadableStream<Uint8Array> | null {
  const type = response.headers.get("content-type") ?? "";
  const streamed = type.includes("event-stream");
  if (response.body === null || !response.ok || !(streamed || type.includes("json"))) return response.body;
  const decoder = new TextDecoder();
  let text = "";

  const look = (line: string): void => {
    const json = streamed ? /^data:\s*(\{.*)/.exec(line)?.[1] : line;
    if (json === undefined || !TELLING.test(json)) return;
    try {
      const value: unknown = JSON.parse(json);
      // Gemini streams a JSON list unless an event stream is requested.
      const usage = usageOf(objectOf(Array.isArray(value) ? value.at(-1) : value));
      if (typeof usage === "object" && usage !== null) seen(usage as Json);
    } catch {
      // A line that is not JSON has no usage.
    }
  };

  return response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        controller.enqueue(bytes);
        if (text.length > MOST_TEXT) return;
        const piece = decoder.decode(bytes, { stream: true });
        text += piece;
        // Without a newline, no further line is complete.
        if (!streamed || !piece.includes("\n")) return;
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) look(line);
      },
      flush() {
        if (text.length <= MOST_TEXT) look(text + decoder.decode());
      },
    }),
  );
}

// Reasoning that a provider does not take back: bound to a prefix that has changed, to another model, to another key.

const REFUSED =
  /thinking\b[^.\n]{0,120}(?:cannot be modified|signature|bound to a different)|invalid `?signature`?|(?:expected|must start with) [^.\n]{0,40}thinking|invalid_encrypted_content|encrypted content\b[^.\n]{0,80}could not be|type 'reasoning' was provided without|without its required '?reasoning|thought.?signature[^.\n]{0,40}(?:invalid|not valid|corrupt)/i;

/** Whether a provider's answer refuses the reasoning in a list. */
export function refusesReasoning(words: string): boolean {
  return REFUSED.test(words);
}

/** The entry without reasoning: a copy, the same object if it had none, undefined if nothing remains. */
export function withoutReasoning(entry: unknown): unknown {
  const { type, id: _, ...item } = objectOf(entry);
  if (type === "reasoning") return undefined;
  // Items of a response refer to its reasoning by their own ids.
  if (type === "function_call" || type === "message" || type === "custom_tool_call") return { type, ...item };
  const { content, parts } = objectOf(entry);
  if (Array.isArray(content)) return rest(entry, "content", content, isThinking);
  if (Array.isArray(parts)) return rest(entry, "parts", parts, (part) => part.thought === true);
  return entry;
}

function rest(
  entry: unknown,
  field: string,
  blocks: readonly unknown[],
  leaves: (block: Json) => boolean,
): unknown {
  const kept = blocks.filter((block) => !leaves(objectOf(block)));
  if (kept.length === blocks.length) return entry;
  return kept.length === 0 ? undefined : { ...objectOf(entry), [field]: kept };
}

/**
 * The body for a list without reasoning. During tool use, Anthropic requires that the newest answer begins
 * with its thinking: without it, the call is made with thinking disabled and without edits of it.
 */
export function withoutThinking(body: Json, list: readonly unknown[]): Json {
  const { thinking, context_management, ...others } = body;
  const newest = list.map(objectOf).findLast(({ role }) => role === "assistant");
  const blocks = objectsIn(newest?.content);
  const bare = blocks.some(({ type }) => type === "tool_use") && !isThinking(blocks[0]);
  return thinking !== undefined && bare ? others : body;
}

function isThinking(block: Json | undefined): boolean {
  return /^(?:redacted_)?thinking$/.test(textOf(block?.type));
}
