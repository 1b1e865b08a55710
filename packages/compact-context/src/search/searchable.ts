import { argumentsText, type Message, resultText } from "../core/message.ts";

/** What of a message can be searched: its texts, readable reasoning, calls with their arguments, results, names of media. */
export function searchableText(message: Message): string {
  const texts: string[] = [];
  for (const part of message.parts) {
    if (part.type === "text" || part.type === "reasoning") texts.push(part.text);
    else if (part.type === "toolCall") texts.push(`${part.name} ${readable(argumentsText(part))}`);
    else if (part.type === "toolResult") texts.push(resultText(part));
    else texts.push(part.name ?? part.url ?? "");
  }
  return texts.filter((text) => text !== "").join("\n");
}

/** Escaped line breaks in JSON text would stick to the word behind them. */
function readable(json: string): string {
  return json.replace(/\\[nrt]/g, " ").replaceAll('\\"', '"');
}
