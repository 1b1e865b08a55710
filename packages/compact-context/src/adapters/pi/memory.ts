import { memoryView } from "../../agent/index.ts";
import { decode } from "../../codecs/formats.ts";
import type { ChannelMemory } from "../../memory/index.ts";
import { objectOf } from "../../providers/request.ts";
import { shielded } from "./notices.ts";
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

/** What pi sent last up to where the turn began, and the turn: pi hands over copies, told apart by role and time. */
function joined(before: readonly unknown[], turn: readonly unknown[]): readonly unknown[] {
  const [first] = turn;
  const began = before.findLastIndex((message) => keyOf(message) === keyOf(first));
  return [...before.slice(0, began < 0 ? before.length : began), ...turn];
}

function keyOf(message: unknown): string {
  const { role, timestamp } = objectOf(message);
  return timestamp === undefined ? JSON.stringify(message) : `${String(role)} ${String(timestamp)}`;
}
