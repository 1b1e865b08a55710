export { createGraphArchive, type GraphArchive } from "./archive.ts";
export type { GraphModel } from "./model.ts";
export {
  SummarizationNode,
  type SummarizationNodeConstructor,
  type SummarizationNodeOptions,
} from "./node.ts";
export { createRecallNode, type RecallNodeOptions } from "./recall-node.ts";
export type { PipedTo, RunnableNode } from "./runnable.ts";
