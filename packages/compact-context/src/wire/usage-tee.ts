import { type Json, objectOf } from "../providers/request.ts";

/** An answer that is not a stream is read up to this length, in characters. */
const MOST_TEXT = 16_000_000;

/**
 * The same answer, byte for byte; `seen` gets each usage record as it passes. Nothing is read ahead of the reader.
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
    if (json === undefined || !json.includes("sage")) return;
    try {
      const value: unknown = JSON.parse(json);
      // Gemini streams a list where no event stream is asked for.
      const usage = usageOf(objectOf(Array.isArray(value) ? value.at(-1) : value));
      if (typeof usage === "object" && usage !== null) seen(usage as Json);
    } catch {
      // A line that is no JSON says nothing of usage.
    }
  };

  const readLines = (): void => {
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) look(line);
  };

  return response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        controller.enqueue(bytes);
        if (text.length > MOST_TEXT) return;
        text += decoder.decode(bytes, { stream: true });
        if (streamed) readLines();
      },
      flush() {
        if (text.length <= MOST_TEXT) look(text + decoder.decode());
      },
    }),
  );
}
