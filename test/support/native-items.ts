import type { ToolCallPart, ToolResultPart } from "compact-context/internal/core/message";
import { defined } from "compact-context/internal/errors";
import type { ServedCall } from "./generated-lists.ts";
import { json, present, type Said, type Writer, writer } from "./native-writer.ts";

/** The two item formats differ only in a few names. */
function itemWriter(words: {
  readonly call: (call: ToolCallPart, index: number) => object;
  readonly result: (result: ToolResultPart, index: number) => object;
  readonly image: (url: string) => object;
  readonly reasoning: (text: string, id: string, seal: string | undefined) => object;
  readonly served: (call: ServedCall) => object;
  readonly approval: (said: Said<"approval">) => readonly unknown[];
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
    assistant: ({ text, reasoning, seal, served = [], compaction, calls }, index) =>
      present(
        compaction !== undefined && { type: "compaction", id: `cmp_${index}`, encrypted_content: compaction },
        reasoning !== undefined && words.reasoning(reasoning, `rs_${index}`, seal),
        ...served.map(words.served),
        text !== undefined && {
          type: "message",
          id: `msg_${index}`,
          role: "assistant",
          status: "completed",
          phase: calls.length > 0 ? "commentary" : "final_answer",
          content: [{ type: "output_text", text, ...words.annotations }],
        },
        ...calls.map(words.call),
      ),
    results: ({ results }) => results.map(words.result),
    approval: words.approval,
  });
}

export const responses: Writer = itemWriter({
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
  reasoning: (text, id, seal = "gAAAAAB") => ({
    type: "reasoning",
    id,
    summary: [{ type: "summary_text", text }],
    encrypted_content: seal,
  }),
  served: ({ id, query }) => {
    return {
      type: "web_search_call",
      id: `ws_${id}`,
      status: "completed",
      action: { type: "search", query },
    };
  },
  approval: ({ step, call, approved, output }) => {
    const asked = { name: call.name, arguments: json(call), server_label: "files" };
    const request = `mcpr_${call.id}`;
    if (step === "request") return [{ type: "mcp_approval_request", id: request, ...asked }];
    if (step === "response") {
      return [{ type: "mcp_approval_response", approval_request_id: request, approve: approved }];
    }
    const done = { type: "mcp_call", id: `mcp_${call.id}`, ...asked, approval_request_id: request, output };
    return approved ? [done] : [];
  },
  kept: { metadata: { protected: true } },
  annotations: { annotations: [] },
});

export const agents: Writer = itemWriter({
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
  reasoning: (text, id, seal) =>
    defined({
      type: "reasoning",
      id,
      content: [{ type: "input_text", text }],
      providerData: seal === undefined ? undefined : { encrypted_content: seal },
    }),
  served: ({ id, query }) => {
    const providerData = { type: "web_search_call", action: { type: "search", query } };
    return {
      type: "hosted_tool_call",
      id: `ws_${id}`,
      name: "web_search_call",
      status: "completed",
      providerData,
    };
  },
  approval: ({ step, call, approved, output }) => {
    const request = `mcpr_${call.id}`;
    const hosted = (name: string, providerData: object, more: object): object => {
      return { type: "hosted_tool_call", name, providerData, ...more };
    };
    const about = { server_label: "files", approval_request_id: request };
    if (step === "request") {
      const asked = {
        type: "mcp_approval_request",
        id: request,
        server_label: "files",
        arguments: json(call),
      };
      return [hosted(call.name, asked, { id: request, arguments: json(call), status: "in_progress" })];
    }
    if (step === "response") {
      const answer = { type: "mcp_approval_response", id: `mcpa_${call.id}`, approve: approved, ...about };
      return [hosted("mcp_approval_response", answer, { id: `mcpa_${call.id}`, status: "completed" })];
    }
    if (!approved) return [];
    const done = { id: `mcp_${call.id}`, arguments: json(call), status: "completed", output };
    return [hosted(call.name, { type: "mcp_call", ...about }, done)];
  },
  kept: { providerData: { meta: { protected: true } } },
  annotations: {},
});
