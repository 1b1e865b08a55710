import { defined } from "../errors.ts";
import type { AgentMessage, AgentReasoningPart, AgentTextPart, AgentToolCallPart } from "./agent-message.ts";
import type { AgentModel, AgentModelPart, AgentModelRequest } from "./agent-model.ts";
import { orAborted, startDeadline } from "./deadline.ts";
import type { AgentEvent } from "./event.ts";
import { argumentsOf } from "./tool-arguments.ts";

/** How a request to the model ended. */
export interface ModelAnswer {
  readonly text: string;
  /** What goes into the list; undefined for an answer of nothing. */
  readonly message: AgentMessage | undefined;
  readonly calls: readonly AgentToolCallPart[];
  readonly stop: Extract<AgentModelPart, { type: "end" }>["stop"];
  readonly usage: unknown;
}

/** The request failed after some of the answer had come. */
export interface BrokenAnswer {
  readonly error: unknown;
  /** What had been streamed by then. */
  readonly text: string;
}

type Piece = AgentTextPart | AgentReasoningPart | AgentToolCallPart;
type Words = Extract<AgentModelPart, { type: "text" | "reasoning" }>;

/** Streams one request; what goes wrong is a value, with what had come before. */
export async function callModel(
  model: AgentModel,
  request: AgentModelRequest,
  { emit, silenceMs }: { readonly emit: (event: AgentEvent) => void; readonly silenceMs: number },
): Promise<ModelAnswer | BrokenAnswer> {
  const gathered = createGathering();
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  let parts: AsyncIterator<AgentModelPart> | undefined;
  try {
    parts = model.stream({ ...request, signal })[Symbol.asyncIterator]();
    for (;;) {
      const next = await timely(parts, signal, silenceMs);
      if (next.done === true) throw new Error("the model's answer broke off before its end");
      if (next.value.type === "end") return gathered.answer(next.value);
      gathered.take(next.value);
      tell(next.value, emit);
    }
  } catch (error) {
    return { error: request.signal.aborted ? request.signal.reason : error, text: gathered.text() };
  } finally {
    leave(parts).catch(() => undefined);
    stop.abort();
  }
}

/** Lets the stream give back what it holds; one that hangs is not waited for. */
async function leave(parts: AsyncIterator<AgentModelPart> | undefined): Promise<void> {
  await parts?.return?.();
}

function tell(part: AgentModelPart, emit: (event: AgentEvent) => void): void {
  if ((part.type === "text" || part.type === "reasoning") && part.text !== "")
    emit({ type: part.type, text: part.text });
}

async function timely<T>(
  parts: AsyncIterator<T>,
  signal: AbortSignal,
  silenceMs: number,
): Promise<IteratorResult<T>> {
  const deadline = startDeadline(silenceMs, signal);
  try {
    return await orAborted(parts.next(), deadline.signal);
  } catch (error) {
    if (deadline.passed()) throw new Error(`the model said nothing for ${silenceMs / 1000} s`);
    throw error;
  } finally {
    deadline.stop();
  }
}

interface Gathering {
  take(part: Exclude<AgentModelPart, { type: "end" }>): void;
  text(): string;
  answer(end: Extract<AgentModelPart, { type: "end" }>): ModelAnswer;
}

function createGathering(): Gathering {
  const pieces: Piece[] = [];
  // Whether the newest block of words may go on.
  let open = false;
  const text = (): string => pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
  return {
    take(part) {
      if (part.type === "toolCall") pieces.push(callPiece(part));
      else takeWords(part);
    },
    text,
    answer({ stop, usage }) {
      const content = pieces.filter((piece) => piece.type !== "text" || piece.text !== "");
      const calls = content.filter((piece) => piece.type === "tool-call");
      const said = content.some((piece) => piece.type !== "reasoning");
      const message: AgentMessage = { role: "assistant", content: content.map(storable) };
      return { text: text(), message: said ? message : undefined, calls, stop, usage };
    },
  };

  function takeWords({ type, text: words, providerOptions, ends }: Words): void {
    const options = providerOptions === undefined ? {} : { providerOptions };
    const last = pieces.at(-1);
    if (open && last?.type === type) {
      pieces[pieces.length - 1] = { ...last, text: last.text + words, ...options };
    } else if (words !== "" || providerOptions !== undefined) {
      pieces.push({ type, text: words, ...options });
    } else return;
    open = ends !== true;
  }
}

/** Providers take back calls whose arguments are a value; text that is none was told to the model as an error. */
function storable(piece: Piece): Piece {
  if (piece.type !== "tool-call") return piece;
  const { value, problem } = argumentsOf(piece);
  return { ...piece, input: problem === undefined ? value : { unreadable: value } };
}

function callPiece({
  id,
  name,
  arguments: input,
  providerOptions,
}: Extract<AgentModelPart, { type: "toolCall" }>): AgentToolCallPart {
  return defined({ type: "tool-call", toolCallId: id, toolName: name, input, providerOptions });
}
