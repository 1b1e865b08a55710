import type { ContextView } from "../../agent/context-view.ts";
import { type MemoryView, memoryView } from "../../agent/context-view.ts";
import { decode } from "../../codecs/formats.ts";
import type { ManagerState } from "../../core/report.ts";
import { errorMessage } from "../../errors.ts";
import type { ChannelMemory } from "../../memory/index.ts";
import { objectOf } from "../../providers/request.ts";
import type { PiAgentEndEvent, PiBeforeAgentEvent, PiContext, PiExtensionApi, PiSwitchEvent } from "./sdk.ts";

export interface PiMemoryOptions {
  /**
   * Memory beyond a session: recalled before each prompt, updated with each answer, and flushed before
   * `/new`.
   */
  readonly memory?: ChannelMemory;
  /** The folders of that memory, for `/memory`. */
  readonly channelDir?: string;
  readonly workspaceDir?: string;
}

/** The conversation that pi passed most recently. */
export type NewestList = () =>
  | { readonly sessionId: string; readonly messages: readonly unknown[] }
  | undefined;

/** Adds a memory and the command `/memory [query]` to pi. */
export function registerMemory(pi: PiExtensionApi, options: PiMemoryOptions, newest: NewestList): void {
  const { memory } = options;
  pi.registerCommand("memory", {
    description: "What the memory holds; words after it say what to look for",
    handler: (args, context: PiContext) =>
      shielded(context, async () => {
        context.ui.notify(memoryText(await memoryView(options, args), args.trim()));
      }),
  });
  if (memory === undefined) return;
  pi.on("before_agent_start", ({ prompt }: PiBeforeAgentEvent, context: PiContext) =>
    shielded(context, async () => {
      const { renderedText } = await memory.recall(prompt);
      if (renderedText === "") return undefined;
      return { message: { customType: "compact-memory", content: renderedText, display: false } };
    }),
  );
  pi.on("agent_end", ({ messages }: PiAgentEndEvent, context: PiContext) =>
    shielded(context, async () => {
      const { sessionId, messages: before = [] } = newest() ?? {};
      memory.afterTurn(decode(joined(before, messages), "pi"), { sessionId });
    }),
  );
  pi.on("session_before_switch", ({ reason }: PiSwitchEvent, context: PiContext) =>
    shielded(context, async () => {
      const list = newest();
      if (reason !== "new" || list === undefined) return;
      await memory.beforeNewSession(decode(list.messages, "pi"), { sessionId: list.sessionId });
    }),
  );
  pi.on("session_shutdown", (_event: unknown, context: PiContext) => shielded(context, () => memory.close()));
}

/**
 * The messages that pi last sent up to the start of the turn, and the turn: pi passes copies, identified by
 * role and time. Its newer line begins the first turn with the system prompt, which it does not send as a
 * message.
 */
function joined(before: readonly unknown[], ended: readonly unknown[]): readonly unknown[] {
  const turn = ended.filter((message) => objectOf(message).role !== "system");
  const [first] = turn;
  const began = before.findLastIndex((message) => keyOf(message) === keyOf(first));
  return [...before.slice(0, began < 0 ? before.length : began), ...turn];
}

function keyOf(message: unknown): string {
  const { role, timestamp } = objectOf(message);
  return timestamp === undefined ? JSON.stringify(message) : `${String(role)} ${String(timestamp)}`;
}

/** Shows an error to the user. */
export function tell(context: PiContext, error: unknown): void {
  context.ui.notify(`compact: ${errorMessage(error)}`, "warning");
}

/**
 * The result of a handler; an error is shown as a notice, because a handler that throws would end pi's turn.
 */
export async function shielded<T>(context: PiContext, work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    tell(context, error);
    return undefined;
  }
}

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
function memoryText({ enabled, files, session, found }: MemoryView, query: string): string {
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
