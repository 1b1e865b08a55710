import { hostPreflight, type ManagedOptions } from "../../host.ts";
import { createUsageOnce } from "../../providers/bodies.ts";
import { type Json, objectOf, objectsIn, textOf, wordsOf } from "../../providers/request.ts";

export type OpencodePluginOptions = ManagedOptions;

interface OpencodeMessage {
  info: object;
  parts: object[];
}

/** The plugin hooks that are used. */
export interface OpencodeHooks {
  "experimental.chat.messages.transform"(
    input: unknown,
    output: { messages: OpencodeMessage[] },
  ): Promise<void>;
  "experimental.chat.system.transform"(
    input: { readonly sessionID?: string },
    output: { readonly system: string[] },
  ): Promise<void>;
  "experimental.session.compacting"(
    input: { readonly sessionID: string },
    output: { readonly context: string[] },
  ): Promise<void>;
  "tool.definition"(
    input: { readonly toolID: string },
    output: { readonly description: string; readonly parameters: unknown },
  ): Promise<void>;
}

/**
 * A plugin for opencode that compacts the list sent to the model, before every call; opencode's stored
 * messages stay unchanged. When opencode compacts by itself, its model is given our summary to keep. Rejects
 * with `InsufficientBudget` if what must stay does not fit.
 */
export function compactPlugin(options: OpencodePluginOptions): () => Promise<OpencodeHooks> {
  const preflight = hostPreflight(options, {});
  return async () => {
    const once = createUsageOnce();
    const systems = new Map<string, string>();
    const summaries = new Map<string, string>();
    const tools = new Map<string, object>();
    return {
      async "experimental.chat.messages.transform"(_input, { messages }) {
        const sessionId = textOf(objectOf(messages[0]?.info).sessionID);
        if (sessionId === "") return;
        const entries = messages.map(asUiMessage);
        const answer = messages.findLast(({ info }) => objectOf(info).role === "assistant");
        const usage = once(objectOf(answer?.info).tokens);
        const system = systems.get(sessionId);
        const request = { format: "ai-sdk", system, tools: [...tools.values()], usage } as const;
        const sent = await preflight<Entry>({ sessionId, messages: entries, request });
        if (sent === entries) return;
        const asked = messages.find(({ info }) => objectOf(info).role === "user");
        const ours = sent.map((entry) => fromUiMessage(entry, asked?.info));
        // opencode continues with the array that it passed.
        messages.splice(0, messages.length, ...ours);
        const summary = sent.find(({ native }) => native === undefined);
        if (summary !== undefined) summaries.set(sessionId, wordsOf(summary.parts));
      },
      async "experimental.chat.system.transform"({ sessionID }, { system }) {
        if (sessionID !== undefined) systems.set(sessionID, system.join("\n"));
      },
      async "experimental.session.compacting"({ sessionID }, { context }) {
        const summary = summaries.get(sessionID);
        if (summary !== undefined)
          context.push(`Keep what this summary of earlier messages says:\n${summary}`);
      },
      async "tool.definition"({ toolID }, { description, parameters }) {
        tools.set(toolID, { name: toolID, description, parameters });
      },
    };
  };
}

/** A message in the shape of the AI SDK's UI messages, with opencode's own objects attached. */
interface Entry {
  readonly id?: unknown;
  readonly role: string;
  readonly parts: readonly object[];
  /** Undefined for a summary. */
  readonly native?: OpencodeMessage;
}

function asUiMessage(native: OpencodeMessage): Entry {
  const { id, role } = objectOf(native.info);
  const parts = native.parts.map((part) => ({ ...asUiPart(objectOf(part)), native: part }));
  return { id, role: textOf(role), parts, native };
}

/** Parts that are not sent to the model become data parts, which no model sees either. */
function asUiPart(part: Json): Json {
  const { type, text, ignored } = part;
  if (type === "text" && ignored !== true) return { type, text };
  if (type === "reasoning") return { type, text, providerMetadata: part.metadata };
  if (type === "file") return { type, mediaType: part.mime, url: part.url, filename: part.filename };
  if (type !== "tool") return { type: `data-${textOf(type)}` };
  const { status, input, output, error } = objectOf(part.state);
  const state = STATES[textOf(status)] ?? "input-available";
  const call = { type: "dynamic-tool", toolName: part.tool, toolCallId: part.callID, state, input };
  return { ...call, output, errorText: error };
}

const STATES: Readonly<Record<string, string>> = { completed: "output-available", error: "output-error" };

/**
 * opencode's own object if nothing was changed; `asked` provides the fields that every user message has, for
 * a summary.
 */
function fromUiMessage(entry: Entry, asked: object | undefined): OpencodeMessage {
  const { native, parts } = entry;
  if (native === undefined) return summaryMessage(wordsOf(parts), objectOf(asked));
  const ours = objectsIn(parts).map(fromUiPart);
  const same =
    ours.length === native.parts.length && ours.every((part, index) => part === native.parts[index]);
  return same ? native : { ...native, parts: ours };
}

function fromUiPart({ native, text, input, output, errorText }: Json): object {
  const part = objectOf(native);
  if (part.type === "text" || part.type === "reasoning") return part.text === text ? part : { ...part, text };
  if (part.type !== "tool") return part;
  const state = objectOf(part.state);
  if (state.input === input && state.output === output && state.error === errorText) return part;
  const changes = errorText === undefined ? { input, output } : { input, error: errorText };
  return { ...part, state: { ...state, ...changes } };
}

function summaryMessage(text: string, asked: Json): OpencodeMessage {
  const messageID = `${textOf(asked.id)}-compact`;
  const { sessionID } = asked;
  const part = { id: `${messageID}-text`, sessionID, messageID, type: "text", text, synthetic: true };
  return { info: { ...asked, id: messageID, role: "user" }, parts: [part] };
}
