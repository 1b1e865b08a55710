// Compiled, never run: the node matches LangGraph's types.
import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createRecallNode, SummarizationNode } from "compact-context/adapters/langgraph";
import { createMemoryDriver } from "compact-context/storage/memory";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  context: Annotation<Record<string, unknown>>({ reducer: (_, next) => next, default: () => ({}) }),
  summarized_messages: Annotation<BaseMessage[]>({ reducer: (_, next) => next, default: () => [] }),
});
const model = new FakeListChatModel({ responses: ["fine"] });
const compact = SummarizationNode({ model, maxTokens: 4_000, storage: createMemoryDriver() });
const graph = new StateGraph(State)
  .addNode("compact", compact)
  .addNode("again", new SummarizationNode({ model: () => model, maxTokens: 4_000 }))
  .addNode("recall", createRecallNode({ source: compact }))
  .addEdge(START, "compact")
  .compile();
export const done: Promise<typeof State.State> = graph.invoke({ messages: [] });
export const piped: unknown = RunnableLambda.from((state: typeof State.State) => state).pipe(
  SummarizationNode({ maxTokens: 4_000 }),
);
