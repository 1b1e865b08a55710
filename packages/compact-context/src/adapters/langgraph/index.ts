export {
  createGraphArchive,
  type GraphArchive,
  SummarizationNode,
  type SummarizationNodeOptions,
} from "./node.ts";
export { createRecallNode, type RecallNodeOptions } from "./recall-node.ts";
