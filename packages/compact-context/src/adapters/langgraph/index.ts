export {
  createGraphArchive,
  type GraphArchive,
  type GraphModel,
  SummarizationNode,
  type SummarizationNodeOptions,
} from "./node.ts";
export { createRecallNode, type RecallNodeOptions } from "./recall-node.ts";
