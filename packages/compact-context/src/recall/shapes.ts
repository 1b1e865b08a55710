import { CompactError } from "../errors.ts";
import { type ParametersSchema, type RecallTool, requireTools } from "./tools.ts";

/** A schema as the OpenAI and Anthropic SDKs type it: it allows extra fields, and its lists are mutable. */
type SdkSchema = Omit<ParametersSchema, "required"> & { required: string[]; [field: string]: unknown };

function sdkSchema({ required, ...schema }: ParametersSchema): SdkSchema {
  return { ...schema, required: [...required] };
}

// The symbol by which the AI SDK (5 and 6) recognizes a schema: `asSchema` in @ai-sdk/provider-utils.
const SCHEMA: unique symbol = Symbol.for("vercel.ai.schema") as never;

/** A type alias, because LangChain requires a record and an interface is not one. */
type Described = {
  readonly name: string;
  readonly description: string;
};
type Runs = (input: unknown) => Promise<string>;

/** The tools of each SDK and API, by format. For APIs, run a call with `execute` of the tool of that name. */
export interface ToolShapes {
  /** Chat Completions: `tools`. */
  readonly "openai-chat": {
    readonly type: "function";
    readonly function: Described & { readonly parameters: SdkSchema };
  }[];
  /** Responses: `tools`. Not strict, because strict schemas do not allow optional fields. */
  readonly "openai-responses": (Described & {
    readonly type: "function";
    readonly parameters: SdkSchema;
    readonly strict: false;
  })[];
  /** Messages: `tools`. */
  readonly anthropic: (Described & { readonly input_schema: SdkSchema })[];
  /** Tools of the AI SDK; spread the record into `tools`. */
  readonly "ai-sdk": Record<
    string,
    {
      readonly description: string;
      readonly inputSchema: {
        readonly [SCHEMA]: true;
        readonly _type: Readonly<Record<string, unknown>>;
        readonly jsonSchema: ParametersSchema;
        readonly validate: undefined;
      };
      execute: Runs;
    }
  >;
  /** Runnable tools for LangChain agents and `bindTools`; `invoke` takes a tool call or bare arguments. */
  readonly langchain: (Described & {
    readonly schema: ParametersSchema;
    readonly lc_runnable: true;
    readonly lc_namespace: readonly string[];
    invoke: Runs;
  })[];
  /** Function tools of the OpenAI Agents SDK. */
  readonly "openai-agents": (Described & {
    readonly type: "function";
    readonly parameters: SdkSchema;
    readonly strict: false;
    invoke(context: unknown, input: string): Promise<string>;
    needsApproval(): Promise<boolean>;
    isEnabled(): Promise<boolean>;
  })[];
  /** Tools of pi: `pi.registerTool`, or the `tools` of its agent. */
  readonly pi: (Described & {
    readonly label: string;
    readonly parameters: ParametersSchema;
    execute(
      callId: string,
      args: unknown,
    ): Promise<{ content: { type: "text"; text: string }[]; details: Record<string, never> }>;
  })[];
}

const SHAPES: { readonly [F in keyof ToolShapes]: (tools: readonly RecallTool[]) => ToolShapes[F] } = {
  "openai-chat": (tools) =>
    tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters: sdkSchema(parameters) },
    })),
  "openai-responses": (tools) =>
    tools.map(({ name, description, parameters }) => {
      return { type: "function", name, description, parameters: sdkSchema(parameters), strict: false };
    }),
  anthropic: (tools) =>
    tools.map(({ name, description, parameters }) => {
      return { name, description, input_schema: sdkSchema(parameters) };
    }),
  "ai-sdk": (tools) =>
    Object.fromEntries(
      tools.map(({ name, description, parameters, execute }) => {
        const inputSchema = {
          [SCHEMA]: true,
          _type: {},
          jsonSchema: parameters,
          validate: undefined,
        } as const;
        return [name, { description, inputSchema, execute: (input) => execute(input) }];
      }),
    ),
  langchain: (tools) =>
    tools.map(({ name, description, parameters, execute }) => ({
      name,
      description,
      schema: parameters,
      lc_runnable: true,
      lc_namespace: ["langchain", "tools"],
      invoke: (input) => execute(isToolCall(input) ? input.args : input),
    })),
  "openai-agents": (tools) =>
    tools.map(({ name, description, parameters, execute }) => ({
      type: "function",
      name,
      description,
      parameters: sdkSchema(parameters),
      strict: false,
      invoke: (_, input) => execute(input),
      needsApproval: async () => false,
      isEnabled: async () => true,
    })),
  pi: (tools) =>
    tools.map(({ name, description, parameters, execute }) => ({
      name,
      label: name,
      description,
      parameters,
      execute: async (_, args) => ({ content: [{ type: "text", text: await execute(args) }], details: {} }),
    })),
};

function isToolCall(input: unknown): input is { readonly args: unknown } {
  return typeof input === "object" && input !== null && "args" in input && "type" in input;
}

/**
 * Converts the tools of `recallTools` for an SDK or API: a list, or for `ai-sdk` a record to spread. Throws
 * `UnknownFormat`.
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
