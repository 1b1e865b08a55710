import { type ParametersSchema, type RecallTool, requireTools } from "./tools.ts";

/** A schema as the SDKs of OpenAI and Anthropic type it: any further field may stand in it, and lists are their own to change. */
export type SdkSchema = Omit<ParametersSchema, "required"> & { required: string[]; [field: string]: unknown };

function sdkSchema({ required, ...schema }: ParametersSchema): SdkSchema {
  return { ...schema, required: [...required] };
}

/** Chat Completions: `tools`; calls are run with `runRecallTool`. */
export interface OpenAiChatTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: SdkSchema;
  };
}

export function asOpenAiChatTools(tools: readonly RecallTool[]): OpenAiChatTool[] {
  requireTools(tools);
  return tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters: sdkSchema(parameters) },
  }));
}

/** Responses: `tools`; calls are run with `runRecallTool`. */
export interface OpenAiResponsesTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: SdkSchema;
  /** Strict schemas may have no optional fields. */
  readonly strict: false;
}

export function asOpenAiResponsesTools(tools: readonly RecallTool[]): OpenAiResponsesTool[] {
  requireTools(tools);
  return tools.map(({ name, description, parameters }) => {
    return { type: "function", name, description, parameters: sdkSchema(parameters), strict: false };
  });
}

/** Messages: `tools`; calls are run with `runRecallTool`. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: SdkSchema;
}

export function asAnthropicTools(tools: readonly RecallTool[]): AnthropicTool[] {
  requireTools(tools);
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: sdkSchema(parameters),
  }));
}

// The mark by which the AI SDK (5 and 6) knows a schema that is already one: `asSchema` in @ai-sdk/provider-utils.
const SCHEMA: unique symbol = Symbol.for("vercel.ai.schema") as never;

/** A tool of the AI SDK; spread the record into `tools`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: {
    readonly [SCHEMA]: true;
    readonly _type: Readonly<Record<string, unknown>>;
    readonly jsonSchema: ParametersSchema;
    readonly validate: undefined;
  };
  execute(input: unknown): Promise<string>;
}

export function asAiSdkTools(tools: readonly RecallTool[]): Record<string, AiSdkTool> {
  requireTools(tools);
  return Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => {
      const inputSchema = { [SCHEMA]: true, _type: {}, jsonSchema: parameters, validate: undefined } as const;
      return [name, { description, inputSchema, execute: (input) => execute(input) }];
    }),
  );
}

/** A runnable tool as LangChain's agents and `bindTools` take it. */
export interface LangChainTool {
  readonly name: string;
  readonly description: string;
  readonly schema: ParametersSchema;
  readonly lc_runnable: true;
  readonly lc_namespace: readonly string[];
  /** Takes a tool call or its bare arguments. */
  invoke(input: unknown): Promise<string>;
}

export function asLangChainTools(tools: readonly RecallTool[]): LangChainTool[] {
  requireTools(tools);
  return tools.map(({ name, description, parameters, execute }) => ({
    name,
    description,
    schema: parameters,
    lc_runnable: true,
    lc_namespace: ["langchain", "tools"],
    invoke: (input) => execute(isToolCall(input) ? input.args : input),
  }));
}

function isToolCall(input: unknown): input is { readonly args: unknown } {
  return typeof input === "object" && input !== null && "args" in input && "type" in input;
}

/** A function tool of the OpenAI Agents SDK. */
export interface OpenAiAgentsTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: ParametersSchema;
  readonly strict: false;
  invoke(context: unknown, input: string): Promise<string>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

export function asOpenAiAgentsTools(tools: readonly RecallTool[]): OpenAiAgentsTool[] {
  requireTools(tools);
  return tools.map(({ name, description, parameters, execute }) => ({
    type: "function",
    name,
    description,
    parameters,
    strict: false,
    invoke: (_, input) => execute(input),
    needsApproval: async () => false,
    isEnabled: async () => true,
  }));
}

/** A tool of pi: `pi.registerTool`, or `tools` of its agent. */
export interface PiTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: ParametersSchema;
  execute(
    callId: string,
    args: unknown,
  ): Promise<{ content: { type: "text"; text: string }[]; details: Record<string, never> }>;
}

export function asPiTools(tools: readonly RecallTool[]): PiTool[] {
  requireTools(tools);
  return tools.map(({ name, description, parameters, execute }) => ({
    name,
    label: name,
    description,
    parameters,
    execute: async (_, args) => ({ content: [{ type: "text", text: await execute(args) }], details: {} }),
  }));
}
