import type { Format } from "compact-context/internal/core/message";
import { defined } from "compact-context/internal/errors";
import { type ConversationOptions, generateUtterances, type Utterance } from "./generated-lists.ts";
import { aiSdk, anthropic, gemini, pi, searched } from "./native-blocks.ts";
import { agents, responses } from "./native-items.ts";
import { json, present, protectedMeta, type Said, type Writer, writer } from "./native-writer.ts";

/** A generated conversation as a provider's own list, written without the codecs under test. */
export function generateNativeList(
  format: Format,
  seed: number,
  options: ConversationOptions = {},
): unknown[] {
  return writeNativeList(format, generateUtterances(seed, options));
}

/** The utterances in the provider's format. */
export function writeNativeList(format: Format, utterances: readonly Utterance[]): unknown[] {
  return writeNativeEntries(format, utterances).flat();
}

/** The entries of each utterance, in order; empty if the format has no equivalent. */
export function writeNativeEntries(format: Format, utterances: readonly Utterance[]): (readonly unknown[])[] {
  return WRITERS[format](utterances);
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
  assistant: ({ text, reasoning, seal, calls }) => [
    defined({
      role: "assistant",
      content: text ?? null,
      reasoning_content: reasoning,
      reasoning_details: seal === undefined ? undefined : [{ type: "reasoning.encrypted", data: seal }],
      tool_calls:
        calls.length === 0
          ? undefined
          : calls.map((call) => {
              return { id: call.id, type: "function", function: { name: call.name, arguments: json(call) } };
            }),
    }),
  ],
  results: ({ results }) => results.map(({ id, content }) => ({ role: "tool", tool_call_id: id, content })),
});

function serialised(kind: string, kwargs: object): object {
  return { lc: 1, type: "constructor", id: ["langchain_core", "messages", kind], kwargs };
}

/** Content blocks of an Anthropic model's answer; undefined if plain text is sufficient. */
function blocksOf({ text, reasoning, seal, served = [] }: Said<"assistant">): unknown[] | undefined {
  if (seal === undefined && served.length === 0) return undefined;
  return present(
    seal !== undefined && { type: "thinking", thinking: reasoning, signature: seal },
    ...served.flatMap(searched),
    text !== undefined && text !== "" && { type: "text", text },
  );
}

/** Unsealed reasoning is in a field next to the content. */
function thoughtOf({ reasoning, seal }: Said<"assistant">): object {
  return reasoning === undefined || seal !== undefined ? {} : { reasoning_content: reasoning };
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
  assistant: (said, index) => [
    serialised("AIMessage", {
      id: `lc-${index}`,
      content: blocksOf(said) ?? said.text ?? "",
      additional_kwargs: thoughtOf(said),
      tool_calls: said.calls.map(({ id, name, arguments: args }) => ({ type: "tool_call", id, name, args })),
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
