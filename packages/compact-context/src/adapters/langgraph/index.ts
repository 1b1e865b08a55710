export type { GraphModel } from "./node.ts";
export {
  createGraphArchive,
  type GraphArchive,
  SummarizationNode,
  type SummarizationNodeConstructor,
  type SummarizationNodeOptions,
} from "./node.ts";
export { createRecallNode, type RecallNodeOptions } from "./recall-node.ts";
