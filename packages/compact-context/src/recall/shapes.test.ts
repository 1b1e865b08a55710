import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { formatTools } from "./shapes.ts";
import type { RecallTool } from "./tools.ts";

const tool: RecallTool = {
  name: "compact_expand",
  description: "Reads.",
  parameters: {
    type: "object",
    properties: { id: { type: "string", description: "an id" } },
    required: ["id"],
    additionalProperties: false,
  },
  execute: async (args) => JSON.stringify(args),
};
const { name, description, parameters } = tool;

it("INT-3 Chat Completions, Responses and Messages get the schema where they look for it", () => {
  expect(formatTools([tool], "openai-chat")).toEqual([
    { type: "function", function: { name, description, parameters } },
  ]);
  expect(formatTools([tool], "openai-responses")).toEqual([
    { type: "function", name, description, parameters, strict: false },
  ]);
  expect(formatTools([tool], "anthropic")).toEqual([{ name, description, input_schema: parameters }]);
});

it("INT-3 hosts that run tools themselves hand the arguments over and get the text", async () => {
  const [langchain] = formatTools([tool], "langchain");
  const call = { name, id: "1", type: "tool_call", args: { id: "x" } };
  expect(await langchain?.invoke(call)).toBe('{"id":"x"}');
  expect(await langchain?.invoke({ id: "x" })).toBe('{"id":"x"}');
  const [agents] = formatTools([tool], "openai-agents");
  expect(await agents?.invoke(undefined, '{"id":"x"}')).toBe('"{\\"id\\":\\"x\\"}"');
  expect([await agents?.needsApproval(), await agents?.isEnabled()]).toEqual([false, true]);
  const [pi] = formatTools([tool], "pi");
  const answer = { content: [{ type: "text", text: '{"id":"x"}' }], details: {} };
  expect(await pi?.execute("1", { id: "x" })).toEqual(answer);
  expect(pi).toMatchObject({ name, label: name, description, parameters });
  expect(await formatTools([tool], "ai-sdk")[name]?.execute({ id: "x" })).toBe('{"id":"x"}');
});

const sdk = new URL("../../../../test/compat/ai-sdk/node_modules/ai/dist/index.mjs", import.meta.url);

it.skipIf(!existsSync(sdk))("INT-3 the AI SDK takes the schema as one of its own", async () => {
  const { asSchema } = (await import(sdk.href)) as { asSchema(schema: unknown): { jsonSchema: unknown } };
  const { inputSchema } = formatTools([tool], "ai-sdk")[name] ?? {};
  expect(asSchema(inputSchema)).toBe(inputSchema);
  expect(asSchema(inputSchema).jsonSchema).toEqual(parameters);
});

const langchain = new URL(
  "../../../../test/compat/langchain/node_modules/@langchain/core/dist/utils/function_calling.js",
  import.meta.url,
);

it.skipIf(!existsSync(langchain))("INT-3 LangChain tells models of them", async () => {
  const { convertToOpenAITool } = (await import(langchain.href)) as {
    convertToOpenAITool(tool: unknown): unknown;
  };
  const [made] = formatTools([tool], "langchain");
  expect(convertToOpenAITool(made)).toEqual({
    type: "function",
    function: { name, description, parameters },
  });
});
