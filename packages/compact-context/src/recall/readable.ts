import { argumentsText, type Message, type Part, resultText } from "../core/message.ts";

/** A message as text for a reader: what was said, calls with their arguments, results. */
export function readableMessage(message: Message): string {
  return message.parts
    .map(readablePart)
    .filter((text) => text !== "")
    .join("\n");
}

function readablePart(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return part.text === "" ? "" : `[reasoning] ${part.text}`;
    case "toolCall":
      return `[call ${part.name}] ${argumentsText(part)}`;
    case "toolResult": {
      const media =
        typeof part.content === "string" ? [] : part.content.filter((one) => one.type === "media");
      return [resultText(part), ...media.map((one) => `[${one.mediaType}]`)].filter(Boolean).join("\n");
    }
    case "media":
      return `[${part.mediaType}${part.name === undefined ? "" : ` ${part.name}`}]`;
  }
}
