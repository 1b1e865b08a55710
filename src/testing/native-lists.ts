import type { Format, ToolCallPart, ToolResultPart } from "../messages/message.ts";
import { type ConversationOptions, generateUtterances, type Utterance } from "./generated-lists.ts";

/** A generated conversation as a provider's own list, written without the codecs that read it. */
export function generateNativeList(
  format: Format,
  seed: number,
  options: ConversationOptions = {},
): unknown[] {
  return writeNativeList(format, generateUtterances(seed, options));
}

/** The utterances as a provider's own list. */
export function writeNativeList(format: Format, utterances: readonly Utterance[]): unknown[] {
  return WRITERS[format](utterances);
}

type Writer = (utterances: readonly Utterance[]) => unknown[];
type Said<T extends Utterance["type"]> = Utterance & { readonly type: T };

interface Entries {
  readonly system: (said: Said<"system">, index: number) => unknown;
  readonly user: (said: Said<"user">, index: number) => unknown;
  readonly assistant: (said: Said<"assistant">, index: number) => readonly unknown[];
  readonly results: (said: Said<"results">, index: number) => readonly unknown[];
}

function writer(entries: Entries): Writer {
  return (utterances) =>
    utterances.flatMap((said, index) => {
      if (said.type === "system") return [entries.system(said, index)];
      if (said.type === "user") return [entries.user(said, index)];
      return said.type === "assistant" ? entries.assistant(said, index) : entries.results(said, index);
    });
}

function protectedMeta(said: Said<"user">): object {
  return said.protected === true ? { metadata: { protected: true } } : {};
}

function json(call: ToolCallPart): string {
  return JSON.stringify(call.arguments);
}

/** A list of what is there. */
function present(...items: readonly unknown[]): unknown[] {
  return items.filter((item) => item !== undefined && item !== false);
}

const chat = writer({
  system: ({ text }) => ({ role: "system", content: text }),
  user: (said) => {
    const url = `data:image/png;base64,${said.image?.data}`;
    const content = said.image && [
      { type: "text", text: said.text },
      { type: "image_url", image_url: { url, detail: "low" } },
    ];
    return { role: "user", content: content ?? said.text, ...protectedMeta(said) };
  },
  assistant: ({ text, reasoning, calls }) => [
    {
      role: "assistant",
      content: text ?? null,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map((call) => {
              return { id: call.id, type: "function", function: { name: call.name, arguments: json(call) } };
            }),
          }),
    },
  ],
  results: ({ results }) => results.map(({ id, content }) => ({ role: "tool", tool_call_id: id, content })),
});

/** Both item formats differ in a few words only. */
function itemWriter(words: {
  readonly call: (call: ToolCallPart, index: number) => object;
  readonly result: (result: ToolResultPart, index: number) => object;
  readonly image: (url: string) => object;
  readonly reasoning: (text: string, id: string) => object;
  readonly kept: object;
  readonly annotations: object;
}): Writer {
  return writer({
    system: ({ text }) => ({ type: "message", role: "system", content: text }),
    user: (said) => ({
      type: "message",
      role: "user",
      content: present(
        { type: "input_text", text: said.text },
        said.image && words.image(`data:image/png;base64,${said.image.data}`),
      ),
      ...(said.protected === true ? words.kept : {}),
    }),
    assistant: ({ text, reasoning, calls }, index) =>
      present(
        reasoning !== undefined && words.reasoning(reasoning, `rs_${index}`),
        text !== undefined && {
          type: "message",
          id: `msg_${index}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text, ...words.annotations }],
        },
        ...calls.map(words.call),
      ),
    results: ({ results }) => results.map(words.result),
  });
}

const responses = itemWriter({
  call: (call) => ({
    type: "function_call",
    id: `fc_${call.id}`,
    call_id: call.id,
    name: call.name,
    arguments: json(call),
    status: "completed",
  }),
  result: ({ id, content }) => ({ type: "function_call_output", call_id: id, output: content }),
  image: (url) => ({ type: "input_image", image_url: url, detail: "auto" }),
  reasoning: (text, id) => ({
    type: "reasoning",
    id,
    summary: [{ type: "summary_text", text }],
    encrypted_content: "gAAAAAB",
  }),
  kept: { metadata: { protected: true } },
  annotations: { annotations: [] },
});

const agents = itemWriter({
  call: (call) => ({
    type: "function_call",
    callId: call.id,
    name: call.name,
    arguments: json(call),
    status: "completed",
  }),
  result: ({ id, name, content }) => ({
    type: "function_call_result",
    callId: id,
    name,
    status: "completed",
    output: { type: "text", text: content },
  }),
  image: (url) => ({ type: "input_image", image: url }),
  reasoning: (text, id) => ({ type: "reasoning", id, content: [{ type: "input_text", text }] }),
  kept: { providerData: { meta: { protected: true } } },
  annotations: {},
});

const anthropic = writer({
  system: ({ text }) => ({ role: "system", content: text }),
  user: (said) => {
    const source = { type: "base64", media_type: "image/png", data: said.image?.data };
    const content = said.image && [
      { type: "text", text: said.text },
      { type: "image", source },
    ];
    return { role: "user", content: content ?? said.text, ...protectedMeta(said) };
  },
  assistant: ({ text, reasoning, calls }) => [
    {
      role: "assistant",
      content: present(
        reasoning !== undefined && { type: "thinking", thinking: reasoning, signature: "EqQB" },
        text !== undefined && { type: "text", text },
        ...calls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id, name, input })),
      ),
    },
  ],
  results: ({ results }) => [
    {
      role: "user",
      content: results.map(({ id, content, isError }, index) => ({
        type: "tool_result",
        tool_use_id: id,
        content: index % 2 === 0 ? content : [{ type: "text", text: content }],
        ...(isError === true ? { is_error: true } : {}),
        ...(index === 0 ? { cache_control: { type: "ephemeral" } } : {}),
      })),
    },
  ],
});

const gemini = writer({
  system: ({ text }) => ({ role: "system", parts: [{ text }] }),
  user: (said) => ({
    role: "user",
    parts: present(
      { text: said.text },
      said.image && { inlineData: { mimeType: "image/png", data: said.image.data } },
    ),
    ...protectedMeta(said),
  }),
  assistant: ({ text, reasoning, calls }) => [
    {
      role: "model",
      parts: present(
        reasoning !== undefined && { text: reasoning, thought: true },
        text !== undefined && { text },
        ...calls.map(({ name, arguments: args }, index) => ({
          functionCall: { name, args },
          ...(index === 0 ? { thoughtSignature: "CsQB" } : {}),
        })),
      ),
    },
  ],
  results: ({ results }) => [
    {
      role: "user",
      parts: results.map(({ name, content, isError }) => ({
        functionResponse: { name, response: isError === true ? { error: content } : { output: content } },
      })),
    },
  ],
});

const aiSdk = writer({
  system: ({ text }) => ({ role: "system", content: text }),
  user: (said) => ({
    role: "user",
    content: present(
      { type: "text", text: said.text },
      said.image && { type: "file", mediaType: "image/png", data: said.image.data },
    ),
    ...(said.protected === true ? { providerOptions: { compact: { protected: true } } } : {}),
  }),
  assistant: ({ text, reasoning, calls }) => [
    {
      role: "assistant",
      content: present(
        reasoning !== undefined && { type: "reasoning", text: reasoning },
        text !== undefined && { type: "text", text },
        ...calls.map(({ id, name, arguments: input }) => {
          return { type: "tool-call", toolCallId: id, toolName: name, input };
        }),
      ),
    },
  ],
  results: ({ results }) => [
    {
      role: "tool",
      content: results.map(({ id, name, content, isError }) => ({
        type: "tool-result",
        toolCallId: id,
        toolName: name,
        output: { type: isError === true ? "error-text" : "text", value: content },
      })),
    },
  ],
});

function serialised(kind: string, kwargs: object): object {
  return { lc: 1, type: "constructor", id: ["langchain_core", "messages", kind], kwargs };
}

const langchain = writer({
  system: ({ text }, index) => serialised("SystemMessage", { id: `lc-${index}`, content: text }),
  user: (said, index) => {
    const url = `data:image/png;base64,${said.image?.data}`;
    const content = said.image && [
      { type: "text", text: said.text },
      { type: "image_url", image_url: { url } },
    ];
    const kwargs = said.protected === true ? { meta: { protected: true } } : {};
    return serialised("HumanMessage", {
      id: `lc-${index}`,
      content: content ?? said.text,
      additional_kwargs: kwargs,
    });
  },
  assistant: ({ text, reasoning, calls }, index) => [
    serialised("AIMessage", {
      id: `lc-${index}`,
      content: text ?? "",
      additional_kwargs: reasoning === undefined ? {} : { reasoning_content: reasoning },
      tool_calls: calls.map(({ id, name, arguments: args }) => ({ type: "tool_call", id, name, args })),
    }),
  ],
  results: ({ results }) =>
    results.map(({ id, name, content, isError }) =>
      serialised("ToolMessage", {
        tool_call_id: id,
        name,
        content,
        status: isError === true ? "error" : "success",
        artifact: { raw: content.length },
      }),
    ),
});

const pi = writer({
  system: ({ text }) => ({ role: "system", content: text, timestamp: 1 }),
  user: (said, index) => ({
    role: "user",
    content: present(
      { type: "text", text: said.text },
      said.image && { type: "image", data: said.image.data, mimeType: "image/png" },
    ),
    timestamp: 1_700_000_000_000 + index,
    ...protectedMeta(said),
  }),
  assistant: ({ text, reasoning, calls }, index) => [
    {
      role: "assistant",
      content: present(
        reasoning !== undefined && { type: "thinking", thinking: reasoning, thinkingSignature: "EqQB" },
        text !== undefined && { type: "text", text },
        ...calls.map(({ id, name, arguments: args }) => ({ type: "toolCall", id, name, arguments: args })),
      ),
      stopReason: calls.length > 0 ? "toolUse" : "stop",
      timestamp: 1_700_000_000_000 + index,
    },
  ],
  results: ({ results }, index) =>
    results.map(({ id, name, content, isError }) => ({
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text: content }],
      isError: isError === true,
      timestamp: 1_700_000_000_000 + index,
    })),
});

const WRITERS: Readonly<Record<Format, Writer>> = {
  "openai-chat": chat,
  "openai-responses": responses,
  "openai-agents": agents,
  anthropic,
  gemini,
  "ai-sdk": aiSdk,
  langchain,
  pi,
};
