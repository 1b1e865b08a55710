/** Generated for the tests; GitHub's format without a valid checksum. */
export const SECRET: string = `ghp_${"aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fR".repeat(2).slice(0, 36)}`;

const filler = "An ordinary sentence about the work that is being done here. ".repeat(12);
const ARGUMENTS = { token: SECRET, command: `echo ${SECRET}`, list: [SECRET] };

/** A conversation in each format, with the secret in every kind of part that the format has. */
export const LISTS: Readonly<Record<string, () => unknown[]>> = {
  "openai-chat": () => [
    { role: "system", content: `Rules. ${SECRET}` },
    ...turns((n) => [
      { role: "user", content: [{ type: "text", text: `ask ${n} ${SECRET} ${filler}` }] },
      {
        role: "assistant",
        content: `on it ${SECRET}`,
        tool_calls: [
          { id: `c${n}`, type: "function", function: { name: "run", arguments: JSON.stringify(ARGUMENTS) } },
        ],
      },
      { role: "tool", tool_call_id: `c${n}`, content: `out ${SECRET} ${filler}` },
      { role: "assistant", content: `done ${n} ${SECRET}` },
    ]),
  ],
  anthropic: () =>
    turns((n) => [
      { role: "user", content: `ask ${n} ${SECRET} ${filler}` },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: `hm ${SECRET}`, signature: "c2ln" },
          { type: "text", text: `on it ${SECRET}` },
          { type: "tool_use", id: `t${n}`, name: "run", input: { ...ARGUMENTS, password: SECRET } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: `t${n}`,
            content: [{ type: "text", text: `out ${SECRET} ${filler}` }],
          },
        ],
      },
      { role: "assistant", content: `done ${n} ${SECRET}` },
    ]),
  gemini: () =>
    turns((n) => [
      { role: "user", parts: [{ text: `ask ${n} ${SECRET} ${filler}` }] },
      {
        role: "model",
        parts: [{ text: `on it ${SECRET}` }, { functionCall: { name: "run", args: ARGUMENTS } }],
      },
      {
        role: "user",
        parts: [{ functionResponse: { name: "run", response: { output: `${SECRET} ${filler}` } } }],
      },
      { role: "model", parts: [{ text: `done ${n} ${SECRET}` }] },
    ]),
  "openai-responses": () =>
    turns((n) => [
      {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: `ask ${n} ${SECRET} ${filler}` }],
      },
      {
        type: "reasoning",
        id: `r${n}`,
        summary: [{ type: "summary_text", text: `hm ${SECRET}` }],
      },
      { type: "function_call", call_id: `f${n}`, name: "run", arguments: JSON.stringify(ARGUMENTS) },
      { type: "function_call_output", call_id: `f${n}`, output: `out ${SECRET} ${filler}` },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: `done ${n} ${SECRET}`, annotations: [] }],
      },
    ]),
  "openai-agents": () =>
    turns((n) => [
      {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: `ask ${n} ${SECRET} ${filler}` }],
      },
      {
        type: "reasoning",
        content: [{ type: "input_text", text: `hm ${SECRET}` }],
        providerData: { note: SECRET },
      },
      {
        type: "function_call",
        callId: `f${n}`,
        name: "run",
        status: "completed",
        arguments: JSON.stringify(ARGUMENTS),
      },
      {
        type: "function_call_result",
        callId: `f${n}`,
        name: "run",
        status: "completed",
        output: { type: "text", text: `out ${SECRET} ${filler}` },
      },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: `done ${n} ${SECRET}` }],
      },
    ]),
  "ai-sdk": () =>
    turns((n) => [
      { role: "user", content: [{ type: "text", text: `ask ${n} ${SECRET} ${filler}` }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: `hm ${SECRET}`, providerOptions: { x: { signature: "c2ln" } } },
          { type: "text", text: `on it ${SECRET}` },
          { type: "tool-call", toolCallId: `c${n}`, toolName: "run", input: ARGUMENTS },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: `c${n}`,
            toolName: "run",
            output: { type: "json", value: { key: SECRET, text: `${SECRET} ${filler}` } },
          },
        ],
      },
      { role: "assistant", content: `done ${n} ${SECRET}` },
    ]),
  "ai-sdk, messages of the screen": () =>
    turns((n) => [
      {
        id: `u${n}`,
        role: "user",
        parts: [{ type: "text", text: `ask ${n} ${SECRET} ${filler}` }],
        metadata: { note: SECRET },
      },
      {
        id: `a${n}`,
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: `hm ${SECRET}` },
          {
            type: "tool-run",
            toolCallId: `c${n}`,
            state: "output-available",
            input: ARGUMENTS,
            output: { text: `${SECRET} ${filler}` },
          },
          { type: "text", text: `done ${n} ${SECRET}` },
        ],
      },
    ]),
  langchain: () =>
    turns((n) => [
      { type: "human", id: `h${n}`, content: `ask ${n} ${SECRET} ${filler}` },
      {
        type: "ai",
        id: `a${n}`,
        content: [{ type: "text", text: `on it ${SECRET}` }],
        tool_calls: [{ id: `c${n}`, name: "run", args: ARGUMENTS, type: "tool_call" }],
        additional_kwargs: { note: SECRET },
      },
      {
        type: "tool",
        id: `t${n}`,
        tool_call_id: `c${n}`,
        content: `out ${SECRET} ${filler}`,
        artifact: { key: SECRET },
      },
      { type: "ai", id: `d${n}`, content: `done ${n} ${SECRET}` },
    ]),
  pi: () =>
    turns((n) => [
      { role: "user", content: `ask ${n} ${SECRET} ${filler}`, timestamp: n },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: `hm ${SECRET}` },
          { type: "text", text: `on it ${SECRET}` },
          { type: "toolCall", id: `c${n}`, name: "run", arguments: ARGUMENTS },
        ],
        stopReason: "toolUse",
        timestamp: n,
      },
      {
        role: "toolResult",
        toolCallId: `c${n}`,
        toolName: "run",
        content: [{ type: "text", text: `out ${SECRET} ${filler}` }],
        details: { key: SECRET },
        isError: false,
        timestamp: n,
      },
      { role: "bashExecution", command: `echo ${SECRET}`, output: SECRET, exitCode: 0, timestamp: n },
      {
        role: "assistant",
        content: [{ type: "text", text: `done ${n} ${SECRET}` }],
        stopReason: "stop",
        timestamp: n,
      },
    ]),
};

function turns(make: (n: number) => unknown[]): unknown[] {
  return [1, 2, 3, 4, 5, 6, 7, 8].flatMap(make);
}
