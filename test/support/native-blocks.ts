import { defined } from "compact-context/internal/errors";
import type { ServedCall } from "./generated-lists.ts";
import { present, protectedMeta, type Writer, writer } from "./native-writer.ts";

/** A search run by the provider, and its result, encrypted by the provider. */
export function searched({ id, query, found }: ServedCall): object[] {
  const place = { type: "web_search_result", url: "https://example.com/", title: found, page_age: null };
  return [
    { type: "server_tool_use", id: `srvtoolu_${id}`, name: "web_search", input: { query } },
    {
      type: "web_search_tool_result",
      tool_use_id: `srvtoolu_${id}`,
      content: [{ ...place, encrypted_content: "EqgfCioIARgB" }],
    },
  ];
}

export const anthropic: Writer = writer({
  system: ({ text }) => ({ role: "system", content: text }),
  user: (said) => {
    const source = { type: "base64", media_type: "image/png", data: said.image?.data };
    const content = said.image && [
      { type: "text", text: said.text },
      { type: "image", source },
    ];
    return { role: "user", content: content ?? said.text, ...protectedMeta(said) };
  },
  assistant: ({ text, reasoning, seal = "EqQB", served = [], compaction, calls }) => [
    {
      role: "assistant",
      content: present(
        compaction !== undefined && { type: "compaction", content: compaction },
        reasoning !== undefined && { type: "thinking", thinking: reasoning, signature: seal },
        ...served.flatMap(searched),
        text !== undefined && { type: "text", text },
        ...calls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id, name, input })),
      ),
    },
  ],
  results: ({ results }) => [
    {
      role: "user",
      content: results.map(({ id, content, isError }, index) =>
        defined({
          type: "tool_result",
          tool_use_id: id,
          content: index % 2 === 0 ? content : [{ type: "text", text: content }],
          is_error: isError === true || undefined,
          cache_control: index === 0 ? { type: "ephemeral" } : undefined,
        }),
      ),
    },
  ],
});

export const gemini: Writer = writer({
  system: ({ text }) => ({ role: "system", parts: [{ text }] }),
  user: (said) => ({
    role: "user",
    parts: present(
      { text: said.text },
      said.image && { inlineData: { mimeType: "image/png", data: said.image.data } },
    ),
    ...protectedMeta(said),
  }),
  assistant: ({ text, reasoning, seal, served = [], calls }) => [
    {
      role: "model",
      parts: present(
        reasoning !== undefined && defined({ text: reasoning, thought: true, thoughtSignature: seal }),
        ...served.flatMap(({ query, found }) => [
          { executableCode: { language: "PYTHON", code: query } },
          { codeExecutionResult: { outcome: "OUTCOME_OK", output: found } },
        ]),
        text !== undefined && { text },
        ...calls.map(({ name, arguments: args }, index) =>
          defined({ functionCall: { name, args }, thoughtSignature: index === 0 ? "CsQB" : undefined }),
        ),
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

export const aiSdk: Writer = writer({
  system: ({ text }) => ({ role: "system", content: text }),
  user: (said) =>
    defined({
      role: "user",
      content: present(
        { type: "text", text: said.text },
        said.image && { type: "file", mediaType: "image/png", data: said.image.data },
      ),
      providerOptions: said.protected === true ? { compact: { protected: true } } : undefined,
    }),
  assistant: ({ text, reasoning, seal, served = [], calls }) => [
    {
      role: "assistant",
      content: present(
        reasoning !== undefined &&
          defined({
            type: "reasoning",
            text: reasoning,
            providerOptions: seal === undefined ? undefined : { anthropic: { signature: seal } },
          }),
        ...served.flatMap(({ id, query, found }) => {
          const about = { toolCallId: id, toolName: "web_search" };
          return [
            { type: "tool-call", ...about, input: { query }, providerExecuted: true },
            { type: "tool-result", ...about, output: { type: "json", value: [{ title: found }] } },
          ];
        }),
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
  approval: ({ step, call, approved, output }) => {
    const about = { toolCallId: call.id, toolName: call.name };
    const approvalId = `ap_${call.id}`;
    if (step === "request") {
      const content = [
        { type: "tool-call", ...about, input: call.arguments },
        { type: "tool-approval-request", approvalId, toolCallId: call.id },
      ];
      return [{ role: "assistant", content }];
    }
    if (step === "response") {
      return [{ role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] }];
    }
    const result = approved ? { type: "text", value: output } : { type: "execution-denied", reason: output };
    return [{ role: "tool", content: [{ type: "tool-result", ...about, output: result }] }];
  },
});

export const pi: Writer = writer({
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
  assistant: ({ text, reasoning, seal = "EqQB", calls }, index) => [
    {
      role: "assistant",
      content: present(
        reasoning !== undefined && { type: "thinking", thinking: reasoning, thinkingSignature: seal },
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
