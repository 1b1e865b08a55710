import { memoryView } from "../../agents/index.ts";
import type { ChannelMemory } from "../../memory/index.ts";
import { decode } from "../../messages/codecs.ts";
import type { PiAgentEndEvent, PiBeforeAgentEvent, PiContext, PiExtensionApi, PiSwitchEvent } from "./sdk.ts";
import { memoryText } from "./words.ts";

export interface PiMemoryOptions {
  /** What outlives a session: recalled before each prompt, told of each answer, and brought up to date before `/new`. */
  readonly memory?: ChannelMemory;
  /** The folders of that memory, for `/memory`. */
  readonly channelDir?: string;
  readonly workspaceDir?: string;
}

/** The conversation as pi showed it last. */
export type NewestList = () =>
  | { readonly sessionId: string; readonly messages: readonly unknown[] }
  | undefined;

/** Gives pi a memory and the command `/memory [query]`. */
export function registerMemory(pi: PiExtensionApi, options: PiMemoryOptions, newest: NewestList): void {
  const { memory } = options;
  pi.registerCommand("memory", {
    description: "What the memory holds; words after it say what to look for",
    handler: async (args, context: PiContext) => {
      context.ui.notify(memoryText(await memoryView(options, args), args.trim()));
    },
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
  pi.on("session_shutdown", () => memory.close());
}

/** A handler that throws would end pi's turn: what goes wrong is a notice. */
async function shielded<T>(context: PiContext, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    context.ui.notify(`compact: memory: ${words}`, "warning");
    return undefined;
  }
}

/** What pi sent last, and what of its newest messages stands behind it. */
function joined(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  const known = new Set(before);
  return [...before, ...after.filter((message) => !known.has(message))];
}
