import type { AgentModel, AgentModelPart, AgentModelRequest } from "./agent-message.ts";

/** A scripted model's answer to one request. */
export interface ScriptedAnswer {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments?: unknown }[];
  /** Thrown after `text`: an answer that fails midway. */
  readonly error?: unknown;
  readonly usage?: unknown;
  readonly stop?: "end" | "length" | "refusal" | "other";
}

export interface ScriptedModelOptions {
  readonly name?: string;
  readonly window?: number;
  /** Characters per piece of text. Default: 24. */
  readonly pieceLength?: number;
  /** Makes call ids unique across processes. Default: `call`. */
  readonly idPrefix?: string;
  /** Waits before the first piece and between pieces, to simulate a real model's latency. */
  readonly pause?: (signal: AbortSignal, firstPiece: boolean) => Promise<void>;
}

/** A model without a provider: `answer` computes each answer from the request and its number, starting at 1. */
export function createScriptedModel(
  answer: (request: AgentModelRequest, turn: number) => ScriptedAnswer | Promise<ScriptedAnswer>,
  options: ScriptedModelOptions = {},
): AgentModel {
  const { name = "scripted:demo", window, pieceLength = 24, idPrefix = "call", pause } = options;
  let requests = 0;
  return {
    name,
    window,
    async *stream(request): AsyncGenerator<AgentModelPart> {
      requests += 1;
      const mine = requests;
      await pause?.(request.signal, true);
      const said = await answer(request, mine);
      for (const part of partsOf(said, `${idPrefix}_${mine}`, pieceLength)) {
        request.signal.throwIfAborted();
        yield part;
        await pause?.(request.signal, false);
      }
      if (said.error !== undefined) throw said.error;
      const stop = said.stop ?? ((said.calls?.length ?? 0) > 0 ? "tools" : "end");
      yield { type: "end", stop, usage: said.usage };
    },
  };
}

function* partsOf(
  { text = "", calls = [], error }: ScriptedAnswer,
  idPrefix: string,
  pieceLength: number,
): Generator<AgentModelPart> {
  for (let start = 0; start < text.length; start += pieceLength) {
    yield { type: "text", text: text.slice(start, start + pieceLength) };
  }
  if (error !== undefined) return;
  for (const [index, call] of calls.entries()) {
    yield {
      type: "toolCall",
      id: `${idPrefix}_${index + 1}`,
      name: call.name,
      arguments: call.arguments ?? {},
    };
  }
}
