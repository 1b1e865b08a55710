import type { ContextView, MemoryView } from "../../agent/context-view.ts";
import type { ManagerState } from "../../core/report.ts";

// What the extension shows in pi.

const number = (value: number): string => value.toLocaleString("en-US");
const CELLS = 20;
const LAYER_CELLS = 10;
const LAYERS: Readonly<Record<string, string>> = { toolPairs: "tool pairs" };

/** The output of `/context`. */
export function contextText(view: ContextView): string {
  const { tokens, window, untilTrigger, compactions, lastCompaction, archiveSteps, layers, pinned } = view;
  const used = tokens / window;
  const messages = layers.reduce((sum, layer) => (layer.name === "tools" ? sum : sum + layer.messages), 0);
  return [
    `${bar(used, CELLS)} ${number(tokens)} of ${number(window)} tokens (${Math.round(used * 100)} %)`,
    ...layers.filter((layer) => layer.tokens > 0).map((layer) => layerLine(layer, tokens)),
    `${number(messages)} messages are sent; ${number(untilTrigger)} tokens to the next compaction`,
    ...pinned.map((text) => `pinned: ${text}`),
    compactions === 0
      ? "nothing has been summarized"
      : `${compactions} compactions, the newest at ${lastCompaction}; originals in ${archiveSteps} archive steps`,
  ].join("\n");
}

function layerLine({ name, tokens }: ContextView["layers"][number], all: number): string {
  return `${bar(tokens / all, LAYER_CELLS)} ${LAYERS[name] ?? name}: ${number(tokens)}`;
}

function bar(share: number, cells: number): string {
  const filled = Math.min(cells, Math.round(share * cells));
  return `${"█".repeat(filled)}${"░".repeat(cells - filled)}`;
}

/** The output of `/memory`: the state of the work, or the answer to a query. */
export function memoryText({ enabled, files, session, found }: MemoryView, query: string): string {
  if (!enabled) return "This session has no memory.";
  if (query !== "") {
    const items = found.map(({ source, title, content }) => `[${source} / ${title}]\n${content}`);
    return items.length === 0 ? `The memory says nothing to "${query}".` : items.join("\n\n");
  }
  const sizes = files.map(({ path, characters }) => `${path}: ${number(characters)} characters`);
  return [
    session
      .replace(/<!--[\s\S]*?-->/g, "")
      .replace(/\n{3,}/g, "\n\n")
      .trim(),
    ...sizes,
  ].join("\n");
}

export function statusText({ totalTokens, maxContextTokens, summaryVersion }: ManagerState): string {
  const percent = Math.round((totalTokens / maxContextTokens) * 100);
  return `context ${percent} %${summaryVersion === undefined ? "" : `, summary v${summaryVersion}`}`;
}
