import { join } from "node:path";
import { decode } from "../codecs/formats.ts";
import { type Format, type Message, messageText } from "../core/message.ts";
import { availableOf } from "../core/policy.ts";
import { type LayerName, type LayerSize, layersOf } from "../core/report.ts";
import type { CompactManager } from "../create-manager.ts";
import { CHANNEL_FILES, checkUser, WORKSPACE_FILES } from "../memory/files/folders.ts";
import { readMemoryFile } from "../memory/files/write-file.ts";
import type { RecalledMemory } from "../memory/recall.ts";
import { createTokenCounter } from "../tokens/token-counter.ts";
import type { AgentOptions } from "./agent-options.ts";

/** Data of `/context`: how full the window is, with what, and how far away the next compaction is. */
export interface ContextView {
  /** Tokens of the next request; the layers add up to it, within the accuracy of the counter. */
  readonly tokens: number;
  readonly window: number;
  /** Tokens at which a compaction starts; `untilTrigger` is the remainder, 0 when it is due. */
  readonly trigger: number;
  readonly untilTrigger: number;
  readonly layers: readonly ContextLayer[];
  /** The first words of each pinned item. */
  readonly pinned: readonly string[];
  readonly compactions: number;
  /** ISO 8601. */
  readonly lastCompaction: string | undefined;
  readonly archiveSteps: number;
  /** Memory items in the newest prompt. */
  readonly recalled: readonly string[];
}

export interface ContextLayer extends LayerSize {
  readonly name: "system" | "tools" | LayerName;
}

export interface ContextInput {
  readonly manager: CompactManager;
  readonly sessionId: string;
  readonly messages: readonly unknown[];
  readonly format: Format;
  readonly system: string;
  readonly tools: readonly unknown[];
  readonly recalled: readonly string[];
}

const GIST = 100;

/** Counts the live list by layer. */
export function contextView(input: ContextInput): ContextView {
  const { manager, sessionId, messages, format, system, tools, recalled } = input;
  const { model, models, policy } = manager.config;
  const counter = createTokenCounter({ models, format, model });
  const list = decode(messages, format);
  const names: LayerName[] = ["pinned", "summary", "recent", "toolPairs", "remainder"];
  const sizes = new Map(names.map((name) => [name, { name, messages: 0, tokens: 0 }]));
  const pinned: string[] = [];
  for (const [index, layer] of layersOf(list, policy).entries()) {
    const message = list[index] as Message;
    const size = sizes.get(layer);
    if (size === undefined) continue;
    size.messages += 1;
    size.tokens += counter.countMessage(message);
    if (layer === "pinned") pinned.push(messageText(message).slice(0, GIST));
  }
  const layers: ContextLayer[] = [
    { name: "system", messages: system === "" ? 0 : 1, tokens: counter.countSystem(system) },
    { name: "tools", messages: tools.length, tokens: counter.countTools(tools) },
    ...sizes.values(),
  ];
  const tokens = layers.reduce((sum, layer) => sum + layer.tokens, counter.perRequest);
  const window = manager.maxContextTokens;
  const beside = tokens - [...sizes.values()].reduce((sum, size) => sum + size.tokens, 0);
  const ofMessages = beside + (policy.maxTokensBeforeSummary ?? window);
  const trigger = Math.floor(Math.min(window * policy.triggerPct, availableOf(window, policy), ofMessages));
  const { summaryCount, lastSummaryAt, archiveSteps } = manager.getState(sessionId);
  return {
    tokens,
    window,
    trigger,
    untilTrigger: Math.max(0, trigger - tokens),
    layers,
    pinned,
    compactions: summaryCount,
    lastCompaction: lastSummaryAt,
    archiveSteps,
    recalled,
  };
}

/** Data of `/memory`: the files, and their results for a query. */
export interface MemoryView {
  /** False if the agent has no memory. */
  readonly enabled: boolean;
  readonly files: readonly { readonly path: string; readonly characters: number }[];
  /** SESSION.md: the state of the work. */
  readonly session: string;
  readonly found: readonly RecalledMemory[];
}

/** Throws `NotFound` if the channel does not belong to the memory's user. */
export async function memoryView(
  options: Pick<AgentOptions, "memory" | "channelDir" | "workspaceDir">,
  query: string | undefined,
): Promise<MemoryView> {
  const { memory, channelDir, workspaceDir } = options;
  if (channelDir !== undefined) await checkUser(channelDir, memory?.user);
  const channel = [CHANNEL_FILES.session, CHANNEL_FILES.memory, CHANNEL_FILES.history];
  const paths = [
    ...(channelDir === undefined ? [] : channel.map((name) => join(channelDir, name))),
    ...(workspaceDir === undefined ? [] : [join(workspaceDir, WORKSPACE_FILES.memory)]),
  ];
  const read = await Promise.all(paths.map(async (path) => ({ path, file: await readMemoryFile(path) })));
  const asked = query === undefined || query.trim() === "" ? undefined : query;
  return {
    enabled: memory !== undefined,
    files: read.flatMap(({ path, file }) =>
      file === undefined ? [] : [{ path, characters: file.text.length }],
    ),
    session: channelDir === undefined ? "" : (read[0]?.file?.text ?? ""),
    found: asked === undefined ? [] : ((await memory?.recall(asked, { live: [] }))?.items ?? []),
  };
}
