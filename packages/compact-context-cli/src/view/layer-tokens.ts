import type { Role } from "compact-context/internal/core/message";
import type { LayerName } from "compact-context/internal/core/report";
import type { LayerKey } from "./session-view.ts";

/** The layers of a session whose messages are known, in stacking order. */
export const MESSAGE_LAYERS: readonly LayerKey[] = [
  "tools",
  "system",
  "developer",
  "pinned",
  "summary",
  "remainder",
  "toolPairs",
  "recent",
];

/** The layers of a session that is told by events alone. */
export const EVENT_LAYERS: readonly LayerKey[] = [
  "tools",
  "system",
  "developer",
  "pinned",
  "summary",
  "remainder",
  "toolPairs",
  "recent",
  "messages",
];

/** Tokens that stand beside the messages. */
export interface FixedTokens {
  readonly system: number;
  readonly tools: number;
}

/** One message's share. */
export interface LayerShare {
  readonly layer: LayerKey;
  readonly tokens: number;
}

/** Instructions are told apart from what else is pinned. */
export function layerKeyOf(layer: LayerName, role: Role): LayerKey {
  return layer === "pinned" && (role === "system" || role === "developer") ? role : layer;
}

/** Tokens by layer, in the order of `MESSAGE_LAYERS`. */
export function stacked(shares: Iterable<LayerShare>, fixed: FixedTokens): number[] {
  const sums = new Map<LayerKey, number>([
    ["system", fixed.system],
    ["tools", fixed.tools],
  ]);
  for (const { layer, tokens } of shares) sums.set(layer, (sums.get(layer) ?? 0) + tokens);
  return MESSAGE_LAYERS.map((layer) => sums.get(layer) ?? 0);
}

/** Tokens of messages by layer, as far as a compaction told them. */
export type ToldLayers = Readonly<Partial<Record<LayerKey, number>>>;

/**
 * Tokens in the order of `EVENT_LAYERS`: the fixed parts, then what is told of the messages. What no part accounts for,
 * such as what came since a compaction and the pending input, is of the conversation.
 */
export function eventLayers(fixed: readonly number[], told: ToldLayers, total: number): number[] {
  const [tools = 0, system = 0, developer = 0] = fixed;
  const known: Partial<Record<LayerKey, number>> = { ...told, tools, system, developer };
  let rest = total;
  const tokens = EVENT_LAYERS.map((layer) => {
    const part = layer === "messages" ? rest : Math.min(rest, known[layer] ?? 0);
    rest -= part;
    return part;
  });
  return tokens;
}
