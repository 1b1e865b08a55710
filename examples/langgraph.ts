// A LangGraph chat that talks for longer than its window is: a node keeps a running summary in the state. The model
// is scripted, so that no key is needed.
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SummarizationNode } from "compact-context/adapters/langgraph";
import { createMemoryDriver } from "compact-context/storage/memory";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  context: Annotation<Record<string, unknown>>({ reducer: (_, next) => next, default: () => ({}) }),
  summarized_messages: Annotation<BaseMessage[]>({ reducer: (_, next) => next, default: () => [] }),
});
const compact = SummarizationNode({ maxTokens: 4_000, storage: createMemoryDriver() });
const graph = new StateGraph(State)
  .addNode("compact", compact)
  .addNode("answer", ({ summarized_messages }) => ({ messages: [answer(summarized_messages)] }))
  .addEdge(START, "compact")
  .addEdge("compact", "answer")
  .compile({ checkpointer: new MemorySaver() });

const config = { configurable: { thread_id: "demo" } };
let state: typeof State.State | undefined;
for (let turn = 0; turn < 40; turn += 1) {
  const content = `Question ${turn}: ${"what does this line do? ".repeat(20)}`;
  state = await graph.invoke({ messages: [{ role: "user", content }] }, config);
}
const steps = await compact.recall("demo").steps();
console.log(
  `the state holds ${state?.messages.length} messages, the last request had ${state?.summarized_messages.length}, ` +
    `summaries were made ${steps.length} times`,
);

/** Stands for the model: a real one gets `messages`. */
function answer(messages: readonly BaseMessage[]): AIMessage {
  return new AIMessage(`After ${messages.length} messages. ${"It adds two. ".repeat(40)}`);
}
