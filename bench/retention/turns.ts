import {
  argumentsValue,
  type Message,
  type Part,
  resultText,
} from "../../packages/compact-context/src/core/message.ts";
import { countText } from "../../packages/compact-context/src/tokens/count-tokens.ts";

/** One message as the benchmark sees it. */
export interface Turn {
  readonly role: "user" | "assistant" | "tool";
  /** The text of each part: what was said, a call with its arguments, a result. */
  readonly parts: readonly TurnPart[];
}

export interface TurnPart {
  readonly kind: "text" | "call" | "result" | "reasoning";
  readonly text: string;
  /** The tool of a call, and the names of its arguments at every depth: interface, not memory. */
  readonly names?: readonly string[];
}

const TAGS = { user: "[user]", assistant: "[assistant]", tool: "[tool result]" } as const;

/** Messages without system prompts; a message that holds only results is a tool's. */
export function turnsOf(messages: readonly Message[]): Turn[] {
  return messages.flatMap((message): Turn[] => {
    if (message.role === "system" || message.role === "developer") return [];
    const parts = message.parts.flatMap(partOf);
    const onlyResults = parts.length > 0 && parts.every(({ kind }) => kind === "result");
    return [{ role: onlyResults ? "tool" : message.role, parts }];
  });
}

function partOf(part: Part): TurnPart[] {
  switch (part.type) {
    case "text":
      return [{ kind: "text", text: part.text }];
    case "reasoning":
      return [{ kind: "reasoning", text: part.text }];
    case "toolResult":
      return [{ kind: "result", text: resultText(part) }];
    case "toolCall": {
      const value = argumentsValue(part);
      return [
        {
          kind: "call",
          text: `${part.name}(${readable(value)})`,
          names: [part.name, ...keysOf(value, 0)],
        },
      ];
    }
    default:
      return [{ kind: "text", text: "[image]" }];
  }
}

/** Arguments as a person reads them: no JSON escapes, so that `\n` before a name does not become part of it. */
function readable(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(readable).join("\n");
  if (typeof value !== "object" || value === null) return String(value ?? "");
  return Object.entries(value)
    .map(([key, inner]) => `${key}: ${readable(inner)}`)
    .join("\n");
}

function keysOf(value: unknown, depth: number): string[] {
  if (depth > 4 || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.slice(0, 50).flatMap((inner) => keysOf(inner, depth + 1));
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner, depth + 1)]);
}

/** What a model would read of a turn; reasoning is not sent again. */
export function visibleText({ parts }: Turn): string {
  return parts.flatMap(({ kind, text }) => (kind === "reasoning" || text === "" ? [] : [text])).join("\n");
}

export function renderTurn(turn: Turn): string {
  return `${TAGS[turn.role]}\n${visibleText(turn)}`;
}

export function render(turns: readonly Turn[]): string {
  return turns.map(renderTurn).join("\n\n");
}

export function tagOf(turn: Turn): string {
  return TAGS[turn.role];
}

const counted = new WeakMap<Turn, number>();

/** Tokens of a rendered turn, o200k. */
export function turnTokens(turn: Turn): number {
  const known = counted.get(turn);
  if (known !== undefined) return known;
  const tokens = tokensOf(renderTurn(turn)) + 1;
  counted.set(turn, tokens);
  return tokens;
}

export function tokensOf(text: string): number {
  return countText(text, { encoding: "o200k_base" });
}

/** The text cut to at most so many tokens, from its end unless `tail` asks for its beginning to go. */
export function fitted(text: string, tokens: number, tail = false): string {
  if (tokens <= 0) return "";
  let [low, high] = [0, text.length];
  if (tokensOf(text) <= tokens) return text;
  while (high - low > 8) {
    const middle = (low + high) >> 1;
    const part = tail ? text.slice(-middle) : text.slice(0, middle);
    if (tokensOf(part) <= tokens) low = middle;
    else high = middle;
  }
  if (low === 0) return "";
  return tail ? text.slice(-low) : text.slice(0, low);
}
