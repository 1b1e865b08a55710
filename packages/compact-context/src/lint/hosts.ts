import { filled, objectOf } from "../codecs/native.ts";
import { type Cell, type Entry, REMOVE_ALL, type ReadList, typeOf } from "./entries.ts";
import { misplacedResults, STATE } from "./openai.ts";
import { pairCalls } from "./pairs.ts";
import { at, atCell, atEntry, badCells, drop, type Finding, type Rule, rulesOf } from "./rule.ts";

const AI_SDK_ERRORS = 'AI SDK: "AI SDK Errors", AI_MissingToolResultsError and AI_InvalidPromptError';
const AI_SDK_APPROVAL = 'AI SDK: "Tool Calling", tool approval';

/** The AI SDK, both for the model and for the interface. */
export const AI_SDK_RULES: readonly Rule[] = rulesOf(
  ["ai-sdk"],
  [
    {
      id: "ai-sdk/results-before-next-ask",
      explanation: "Calls must be answered before the next user or system message.",
      link: AI_SDK_ERRORS,
      mend: "The result is moved behind its call.",
      check: misplacedResults,
    },
    {
      id: "ai-sdk/tool-message-holds-results",
      explanation: "A tool message holds tool results and answers to approvals, nothing else.",
      link: AI_SDK_ERRORS,
      mend: "The part is dropped; its text is in `removed`.",
      check: (list) => badCells(list, isForeignInTool),
      fix: drop,
    },
    {
      id: "ai-sdk/reasoning-followed",
      explanation:
        "A reasoning item of OpenAI must be followed by the text or call that it led to: the answer was aborted.",
      link: STATE,
      mend: "The reasoning is dropped; its text is in `removed`.",
      check: danglingItems,
      fix: drop,
    },
    {
      id: "ai-sdk/approval-pair",
      explanation: "An approval and its request, or the request and its call, are not both in the list.",
      link: AI_SDK_APPROVAL,
      mend: "The part without a partner is dropped.",
      check: (list) => {
        const lonely = new Set(lonelyApprovals(list));
        return badCells(list, (cell) => lonely.has(cell));
      },
      fix: drop,
    },
  ],
);

/** LangChain and LangGraph. */
export const LANGCHAIN_RULES: readonly Rule[] = rulesOf(
  ["langchain"],
  [
    {
      id: "langchain/remove-all-leads",
      severity: "warning",
      explanation: "What stands before an order to remove all messages is removed with them.",
      link: "https://docs.langchain.com/oss/javascript/langgraph/errors/INVALID_CHAT_HISTORY",
      check: ({ removals }) => {
        const last = removals.findLast((removal) => removal.id === REMOVE_ALL);
        return last === undefined || last.position === 0
          ? []
          : [{ position: last.position, path: `messages[${last.position}]` }];
      },
    },
  ],
);

const PI_ROLES = new Set([
  "system",
  "user",
  "assistant",
  "toolResult",
  "bashExecution",
  "branchSummary",
  "compactionSummary",
  "custom",
  "hookMessage",
]);

/** The pi agent. */
export const PI_RULES: readonly Rule[] = rulesOf(
  ["pi"],
  [
    {
      id: "pi/known-role",
      severity: "warning",
      explanation: "An application's own role reaches the model only if `convertToLlm` knows it.",
      link: "pi-agent-core: CustomAgentMessages and convertToLlm",
      check: ({ entries }) =>
        entries
          .filter(({ native }) => !PI_ROLES.has(String(native.role)))
          .map((entry) => atEntry(entry, `the role "${String(entry.native.role)}" is the application's own`)),
    },
    {
      id: "pi/result-name",
      severity: "warning",
      explanation: "A tool result does not name its tool.",
      link: "pi-ai: ToolResultMessage",
      check: ({ entries }) =>
        entries
          .filter(({ native }) => native.role === "toolResult" && filled(native.toolName) === undefined)
          .map((entry) => at(entry, `messages[${entry.position}].toolName`)),
    },
  ],
);

/** True for a part of a tool message that is neither a result nor an approval. */
function isForeignInTool({ value }: Cell, { message, native }: Entry): boolean {
  if (message.role !== "tool" || Array.isArray(native.parts)) return false;
  return !/^tool-(result|approval-response)$/.test(typeOf(value));
}

/** Approvals whose request or call is missing, and requests that nobody answered before the list went on. */
function lonelyApprovals(list: ReadList): Cell[] {
  const cells = list.entries.flatMap((entry) => entry.cells.map((cell) => ({ entry, cell })));
  const { calls } = pairCalls(list);
  const callIds = new Set(calls.map((call) => call.part.id));
  const open = new Set(calls.filter((call) => call.pending).map((call) => call.part.id));
  const requests = cells.filter(
    ({ cell }) => typeOf(cell.value) === "tool-approval-request" && callIds.has(callOf(cell)),
  );
  const asked = new Set(requests.map(({ cell }) => objectOf(cell.value).approvalId));
  const answered = new Set(
    cells
      .filter(({ cell }) => typeOf(cell.value) === "tool-approval-response")
      .map(({ cell }) => objectOf(cell.value).approvalId),
  );
  return cells
    .map(({ cell }) => cell)
    .filter((cell) => {
      const { approvalId } = objectOf(cell.value);
      if (typeOf(cell.value) === "tool-approval-response") return !asked.has(approvalId);
      if (typeOf(cell.value) !== "tool-approval-request") return false;
      return !callIds.has(callOf(cell)) || !(answered.has(approvalId) || open.has(callOf(cell)));
    });
}

/** Reasoning that OpenAI gave an id and that nothing follows before somebody else speaks. */
function danglingItems({ entries }: ReadList): Finding[] {
  return entries.flatMap((entry, position) => {
    if (entry.message.role !== "assistant") return [];
    const goesOn = entries[position + 1]?.message.role === "assistant";
    const last = goesOn ? -1 : entry.cells.findLastIndex(({ value }) => isFollower(value));
    return entry.cells
      .filter(({ value }, index) => !goesOn && index > last && isOpenAiReasoning(value))
      .map((cell) => atCell(entry, cell));
  });
}

/** The SDK leaves empty texts and what only the interface shows out of a request. */
function isFollower(value: unknown): boolean {
  const { text } = objectOf(value);
  if (typeof value === "string") return value !== "";
  return typeOf(value) === "text" ? text !== "" : /^(file|dynamic-tool|tool-.*)$/.test(typeOf(value));
}

function isOpenAiReasoning(value: unknown): boolean {
  const { providerOptions, providerMetadata } = objectOf(value);
  const { openai } = objectOf(providerOptions ?? providerMetadata);
  return typeOf(value) === "reasoning" && filled(objectOf(openai).itemId) !== undefined;
}

function callOf({ value }: Cell): string {
  return String(objectOf(value).toolCallId);
}
