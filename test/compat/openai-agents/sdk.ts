// The installed SDK, and a scripted model for any of its versions.
import type { Provider, Reply } from "../scripted-agent.ts";

/** The part of the SDK that the tests use; loosely typed, because several versions are loaded at run time. */
// biome-ignore lint/suspicious/noExplicitAny: covers two major versions of the SDK
export type Sdk = any;

export async function loadSdk(name: string): Promise<Sdk | undefined> {
  try {
    return await import(name);
  } catch {
    return undefined;
  }
}

export const VERSIONS = [
  { version: "0.20", name: "@openai/agents" },
  { version: "0.4", name: "agents-oldest" },
];

export function outputOf({ text, calls }: Reply): unknown[] {
  const said = {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text }],
  };
  return [
    ...(text === "" ? [] : [said]),
    ...calls.map(({ id, name, args }) => ({
      type: "function_call",
      callId: id,
      name,
      status: "completed",
      arguments: JSON.stringify(args),
    })),
  ];
}

export interface ModelRequest {
  readonly input: unknown[] | string;
  readonly systemInstructions?: string;
}

/** A model that calls `answer` for the output of every call; `requests` records its inputs. */
export function scriptedModel(
  sdk: Sdk,
  answer: (request: ModelRequest) => unknown[],
): { readonly requests: ModelRequest[]; readonly provider: { getModel(): unknown } } {
  const requests: ModelRequest[] = [];
  const respond = (request: ModelRequest): { usage: unknown; output: unknown[]; responseId: string } => {
    requests.push(request);
    return {
      usage: new sdk.Usage({ inputTokens: 1, outputTokens: 1, totalTokens: 2 }),
      output: answer(request),
      responseId: `resp_${requests.length}`,
    };
  };
  const model = {
    getResponse: async (request: ModelRequest) => respond(request),
    async *getStreamedResponse(request: ModelRequest) {
      const { output, responseId } = respond(request);
      yield { type: "response_started" };
      yield {
        type: "response_done",
        response: {
          id: responseId,
          usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
          output,
        },
      };
    },
  };
  return { requests, provider: { getModel: () => model } };
}

export function playedBy(provider: Provider): (request: ModelRequest) => unknown[] {
  return ({ input, systemInstructions }) =>
    outputOf(provider.answer(Array.isArray(input) ? input : [], systemInstructions));
}
