import { CompactError } from "../errors.ts";
import { type ParametersSchema, type RecallTool, requireTools } from "./tools.ts";

/** A schema as the SDKs of OpenAI and Anthropic type it: any further field may stand in it, and lists are their own to change. */
type SdkSchema = Omit<ParametersSchema, "required"> & { required: string[]; [field: string]: unknown };

function sdkSchema({ required, ...schema }: ParametersSchema): SdkSchema {
  return { ...schema, required: [...required] };
}

/** Chat Completions: `tools`; a call is run by `execute` of the tool with its name. */
interface OpenAiChatTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: SdkSchema;
  };
}

function asOpenAiChatTools(tools: readonly RecallTool[]): OpenAiChatTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters: sdkSchema(parameters) },
  }));
}

/** Responses: `tools`; a call is run by `execute` of the tool with its name. */
interface OpenAiResponsesTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: SdkSchema;
  /** Strict schemas may have no optional fields. */
  readonly strict: false;
}

function asOpenAiResponsesTools(tools: readonly RecallTool[]): OpenAiResponsesTool[] {
  return tools.map(({ name, description, parameters }) => {
    return { type: "function", name, description, parameters: sdkSchema(parameters), strict: false };
  });
}

/** Messages: `tools`; a call is run by `execute` of the tool with its name. */
interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: SdkSchema;
}

function asAnthropicTools(tools: readonly RecallTool[]): AnthropicTool[] {
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: sdkSchema(parameters),
  }));
}

// The mark by which the AI SDK (5 and 6) knows a schema that is already one: `asSchema` in @ai-sdk/provider-utils.
const SCHEMA: unique symbol = Symbol.for("vercel.ai.schema") as never;

/** A tool of the AI SDK; spread the record into `tools`. */
interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: {
    readonly [SCHEMA]: true;
    readonly _type: Readonly<Record<string, unknown>>;
    readonly jsonSchema: ParametersSchema;
    readonly validate: undefined;
  };
  execute(input: unknown): Promise<string>;
}

function asAiSdkTools(tools: readonly RecallTool[]): Record<string, AiSdkTool> {
  return Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => {
      const inputSchema = { [SCHEMA]: true, _type: {}, jsonSchema: parameters, validate: undefined } as const;
      return [name, { description, inputSchema, execute: (input) => execute(input) }];
    }),
  );
}

/** A runnable tool as LangChain's agents and `bindTools` take it: by its type a record, which an interface is not. */
type LangChainTool = {
  readonly name: string;
  readonly description: string;
  readonly schema: ParametersSchema;
  readonly lc_runnable: true;
  readonly lc_namespace: readonly string[];
  /** Takes a tool call or its bare arguments. */
  invoke(input: unknown): Promise<string>;
};

function asLangChainTools(tools: readonly RecallTool[]): LangChainTool[] {
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
interface OpenAiAgentsTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: SdkSchema;
  readonly strict: false;
  invoke(context: unknown, input: string): Promise<string>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

function asOpenAiAgentsTools(tools: readonly RecallTool[]): OpenAiAgentsTool[] {
  return tools.map(({ name, description, parameters, execute }) => ({
    type: "function",
    name,
    description,
    parameters: sdkSchema(parameters),
    strict: false,
    invoke: (_, input) => execute(input),
    needsApproval: async () => false,
    isEnabled: async () => true,
  }));
}

/** A tool of pi: `pi.registerTool`, or `tools` of its agent. */
interface PiTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: ParametersSchema;
  execute(
    callId: string,
    args: unknown,
  ): Promise<{ content: { type: "text"; text: string }[]; details: Record<string, never> }>;
}

function asPiTools(tools: readonly RecallTool[]): PiTool[] {
  return tools.map(({ name, description, parameters, execute }) => ({
    name,
    label: name,
    description,
    parameters,
    execute: async (_, args) => ({ content: [{ type: "text", text: await execute(args) }], details: {} }),
  }));
}

/** The tools of each SDK and API, by its format. */
export interface ToolShapes {
  readonly "openai-chat": OpenAiChatTool[];
  readonly "openai-responses": OpenAiResponsesTool[];
  readonly anthropic: AnthropicTool[];
  readonly "ai-sdk": Record<string, AiSdkTool>;
  readonly langchain: LangChainTool[];
  readonly "openai-agents": OpenAiAgentsTool[];
  readonly pi: PiTool[];
}

const SHAPES: { readonly [F in keyof ToolShapes]: (tools: readonly RecallTool[]) => ToolShapes[F] } = {
  "openai-chat": asOpenAiChatTools,
  "openai-responses": asOpenAiResponsesTools,
  anthropic: asAnthropicTools,
  "ai-sdk": asAiSdkTools,
  langchain: asLangChainTools,
  "openai-agents": asOpenAiAgentsTools,
  pi: asPiTools,
};

/**
 * Tools of `recallTools` as an SDK or API takes them: a list, and for `ai-sdk` a record to spread.
 * Throws `UnknownFormat`.
 */
export function formatTools<F extends keyof ToolShapes>(
  tools: readonly RecallTool[],
  format: F,
): ToolShapes[F] {
  requireTools(tools);
  if (Object.hasOwn(SHAPES, format)) return SHAPES[format](tools);
  throw new CompactError("UnknownFormat", `there are no tools in the format ${JSON.stringify(format)}`, {
    place: "format",
    hint: `Use one of ${Object.keys(SHAPES).join(", ")}.`,
  });
}
