import type { Message } from "compact-context";
import { toolCalls, toolResults } from "compact-context/internal/core/message";
import { decideTrigger } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import { type LayerName, type LayerSizes, layersOf } from "compact-context/internal/core/report";
import { findMalformations } from "compact-context/internal/lint/generic";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";

// The figures that `compact inspect` shows.

/** Tokens and messages of one role or tool. */
export interface Share {
  readonly name: string;
  readonly tokens: number;
  readonly messages: number;
}

export type Inspection = ReturnType<typeof inspect>;

export function inspect(transcript: Transcript, settings: Settings) {
  const { messages } = transcript;
  const { config, counter, tokensBefore, fixedTokens, window } = settings;
  const pinnedTokens = messages
    .filter((message) => message.role === "system" || message.role === "developer")
    .reduce((total, message) => total + counter.countMessage(message), fixedTokens);
  const sized = messages.map((message, index) => ({ index, message, tokens: counter.countMessage(message) }));
  return {
    transcript,
    settings,
    decision: decideTrigger(
      { tokens: tokensBefore, messageTokens: tokensBefore - pinnedTokens, maxContextTokens: window },
      config.policy,
    ),
    layers: sizesOf(messages, layersOf(messages, config.policy), counter),
    roles: sharesBy(sized, ({ message }) => message.role),
    /** Tokens of calls and results by tool name, largest first. */
    tools: toolShares(messages, settings),
    largest: sized.toSorted((a, b) => b.tokens - a.tokens).slice(0, 5),
    callsWithoutResult: unanswered(messages),
    /** Assistant messages with more than one call. */
    parallelBatches: messages.filter((message) => toolCalls(message).length > 1).length,
    faults: findMalformations(messages),
  };
}

function sharesBy<T extends { readonly tokens: number }>(
  items: readonly T[],
  nameOf: (item: T) => string,
): Share[] {
  const shares = new Map<string, { name: string; tokens: number; messages: number }>();
  for (const item of items) {
    const name = nameOf(item);
    const share = shares.get(name) ?? { name, tokens: 0, messages: 0 };
    share.tokens += item.tokens;
    share.messages += 1;
    shares.set(name, share);
  }
  return [...shares.values()].toSorted((a, b) => b.tokens - a.tokens);
}

/** A part is counted as a message that holds only it, less the overhead of a message. */
function toolShares(messages: readonly Message[], { counter }: Settings): Share[] {
  const names = new Map<string, string>();
  const empty = counter.countMessage({ id: "empty", role: "tool", parts: [] });
  const pieces: { name: string; tokens: number }[] = [];
  for (const message of messages) {
    for (const part of [...toolCalls(message), ...toolResults(message)]) {
      const name = part.type === "toolCall" ? part.name : (names.get(part.id) ?? part.name ?? "unknown tool");
      if (part.type === "toolCall") names.set(part.id, part.name);
      const tokens = counter.countMessage({ id: "part", role: message.role, parts: [part] }) - empty;
      pieces.push({ name, tokens: Math.max(0, tokens) });
    }
  }
  return sharesBy(pieces, (piece) => piece.name);
}

/** Calls without a result behind them; each result answers one call, as some programs use an id again. */
export function unanswered(messages: readonly Message[]): number {
  const open = new Map<string, number>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.type === "toolCall" && part.providerExecuted !== true)
      open.set(part.id, (open.get(part.id) ?? 0) + 1);
    if (part.type === "toolResult") open.set(part.id, Math.max(0, (open.get(part.id) ?? 0) - 1));
  }
  return [...open.values()].reduce((total, count) => total + count, 0);
}

/** Display names of the layers, in prompt order. */
export const LAYER_LABELS: Readonly<Record<LayerName, string>> = {
  pinned: "pinned",
  summary: "summary",
  recent: "recent",
  toolPairs: "tool pairs",
  remainder: "remainder",
};

export const LAYER_NAMES: readonly LayerName[] = ["pinned", "summary", "recent", "toolPairs", "remainder"];

/** Messages and tokens of each layer. */
export function sizesOf(
  messages: readonly Message[],
  layers: readonly LayerName[],
  counter: TokenCounter,
): LayerSizes {
  const sizes = Object.fromEntries(LAYER_NAMES.map((name) => [name, { messages: 0, tokens: 0 }])) as Record<
    LayerName,
    { messages: number; tokens: number }
  >;
  messages.forEach((message, index) => {
    const size = sizes[layers[index] ?? "remainder"];
    size.messages += 1;
    size.tokens += counter.countMessage(message);
  });
  return sizes;
}
