import { escapeRuntimeTags, injectRuntimeContext, renderRuntimeContext } from "../memory/runtime-context.ts";
import type { AgentMessage } from "./agent-message.ts";
import type { AgentState } from "./agent-state.ts";
import { diagnosticOf } from "./diagnostic.ts";

/** The user's message as it is sent: before it what the memory says to it, what hooks said, skills that the user took up. */
export async function promptOf(state: AgentState, text: string, signal: AbortSignal): Promise<AgentMessage> {
  const said = await state.skills.run("before_prompt", text, signal);
  const recalled = await recall(state, text);
  const added = [...state.pending, said].filter((block) => block !== "").map(escapeRuntimeTags);
  state.pending = [];
  const blocks = [recalled, ...added.map(renderRuntimeContext)].filter((block) => block !== "");
  return { role: "user", content: [{ type: "text", text: injectRuntimeContext(text, blocks.join("\n")) }] };
}

async function recall(state: AgentState, text: string): Promise<string> {
  const { memory } = state.options;
  const scope = state.skills.memoryScope;
  state.recalled = [];
  if (memory === undefined || scope === "none") return "";
  try {
    const only = scope === "session" ? { sources: ["channel-session" as const] } : {};
    const { items, renderedText } = await memory.recall(text, only);
    state.recalled = items.map(({ title, source }) => title || source);
    if (renderedText !== "")
      state.emit({ type: "recalled", titles: state.recalled, characters: renderedText.length });
    return renderedText;
  } catch (error) {
    state.emit({ type: "warning", diagnostic: diagnosticOf(error, "recall-failed") });
    return "";
  }
}
