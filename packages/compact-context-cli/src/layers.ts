import type { Message } from "compact-context";
import type { TokenCounter } from "compact-context/internal/core/ports";
import type { LayerName, LayerSizes } from "compact-context/internal/core/report";

/** The layers as people call them, in the order of a prompt. */
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

/** Layer sizes under the names that machine output uses. */
export function snakeLayers(sizes: LayerSizes): Record<string, LayerSizes[LayerName]> {
  const { toolPairs, ...rest } = sizes;
  return { ...rest, tool_pairs: toolPairs };
}
