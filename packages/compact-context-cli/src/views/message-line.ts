import type { Message, Part } from "compact-context";
import { argumentsText, messageText, resultText } from "compact-context/internal/core/message";
import { firstWords } from "../render/safe.ts";

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** What a message says, as one short line: its text, else its calls, results or media. `names`: tools by call id. */
export function messageGist(message: Message, names: ReadonlyMap<string, string> = NO_NAMES): string {
  const text = firstWords(messageText(message));
  if (text !== "") return text;
  return message.parts
    .map((part) => partGist(part, names))
    .filter((gist) => gist !== "")
    .join("  ");
}

function partGist(part: Part, names: ReadonlyMap<string, string>): string {
  switch (part.type) {
    case "text":
      return "";
    case "toolCall":
      return `${firstWords(part.name)} ${firstWords(argumentsText(part), 200)}`;
    case "toolResult": {
      const name = firstWords(part.name ?? names.get(part.id) ?? "");
      const words = [part.isError === true ? "error" : "→", name, firstWords(resultText(part), 200)];
      return words.filter((word) => word !== "").join(" ");
    }
    case "reasoning":
      return firstWords(part.text) || "(hidden reasoning)";
    case "media":
      return `(${firstWords(part.mediaType)})`;
  }
}

/** The tool's name by call id. */
export function callNames(messages: readonly Message[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const message of messages) {
    for (const part of message.parts) if (part.type === "toolCall") names.set(part.id, part.name);
  }
  return names;
}
