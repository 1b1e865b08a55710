import { decode } from "../../codecs/formats.ts";
import { toolCalls } from "../../core/message.ts";
import { CompactError } from "../../errors.ts";
import { objectOf } from "../../providers/request.ts";
import { type RecallSource, type RecallToolsOptions, recallTools } from "../../recall/tools.ts";
import { threadOf } from "../langchain/sdk.ts";
import { createRunnable, type RunnableNode } from "./runnable.ts";

export interface RecallNodeOptions extends RecallToolsOptions {
  /** A `SummarizationNode` with a `storage`, or a `CompactManager`. */
  readonly source: RecallSource;
  /** Default: `messages`. */
  readonly messagesKey?: string;
  /** Default: `configurable.thread_id`. */
  readonly sessionId?: string;
  readonly name?: string;
}

/**
 * A tool node that answers the latest message's calls of `compact_search` and `compact_expand`; calls of
 * other tools are left to their own nodes. One node serves all threads.
 */
export function createRecallNode(options: RecallNodeOptions): RunnableNode {
  const { source, messagesKey = "messages", name = "recall" } = options;
  return createRunnable(name, async (state, config) => {
    const messages = objectOf(state)[messagesKey];
    const newest = Array.isArray(messages) ? decode(messages.slice(-1), "langchain") : [];
    const tools = recallTools(source, sessionOf(options, config), options);
    const answers = await Promise.all(
      newest.flatMap(toolCalls).map(async (call) => {
        const content = await tools.find(({ name }) => name === call.name)?.execute(call.arguments);
        return content === undefined
          ? []
          : [{ role: "tool", tool_call_id: call.id, name: call.name, content }];
      }),
    );
    return { [messagesKey]: answers.flat() };
  });
}

function sessionOf({ sessionId }: RecallNodeOptions, config: unknown): string {
  const id = sessionId ?? threadOf(config);
  if (id !== undefined) return id;
  throw new CompactError("InvalidArgument", "nobody says whose messages are recalled", {
    place: "options.sessionId",
    hint: "Pass sessionId, or invoke the graph with configurable.thread_id.",
  });
}
