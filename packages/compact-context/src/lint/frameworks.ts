import { PI_OWN_ROLES } from "../codecs/detect.ts";
import { filled, isRole, objectOf, ROLES } from "../codecs/native.ts";
import { type Cell, type Entry, REMOVE_ALL, type ReadList, typeOf } from "./entries.ts";
import { STATE } from "./openai.ts";
import { pairCalls } from "./pairs.ts";
import { misplacedResults } from "./placing.ts";
import { at, atEntry, badCells, drop, type Rule, rulesOf } from "./rule.ts";

const AI_SDK_ERRORS = 'AI SDK: "AI SDK Errors", AI_MissingToolResultsError and AI_InvalidPromptError';
const AI_SDK_APPROVAL = 'AI SDK: "Tool Calling", tool approval';

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
      check: (list) => badCells(list, isForeignInTool, drop),
    },
    {
      id: "ai-sdk/reasoning-followed",
      explanation:
        "A reasoning item of OpenAI must be followed by the text or call that it led to: the answer was aborted.",
      link: STATE,
      mend: "The reasoning is dropped; its text is in `removed`.",
      check: (list) => badCells(list, isDangling, drop),
    },
    {
      id: "ai-sdk/approval-pair",
      explanation: "An approval and its request, or the request and its call, are not both in the list.",
      link: AI_SDK_APPROVAL,
      mend: "The part without a partner is dropped.",
      check: (list) => badCells(list, isLonely(list), drop),
    },
  ],
);

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

const PI_EXTRAS: ReadonlySet<unknown> = new Set(["custom", "hookMessage"]);

function isKnownToPi({ native: { role } }: Entry): boolean {
  return isRole(role, ROLES.pi) || PI_OWN_ROLES.has(role) || PI_EXTRAS.has(role);
}

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
          .filter((entry) => !isKnownToPi(entry))
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

/** Approvals without their request or call, and requests that were never answered. */
function isLonely(list: ReadList): (cell: Cell) => boolean {
  const { calls } = pairCalls(list);
  const callIds = new Set<unknown>(calls.map((call) => call.part.id));
  const open = new Set<unknown>(calls.filter((call) => call.pending).map((call) => call.part.id));
  const blocks = list.entries.flatMap(({ cells }) => cells.map(({ value }) => objectOf(value)));
  const requests = blocks.filter(({ type }) => type === "tool-approval-request");
  const responses = blocks.filter(({ type }) => type === "tool-approval-response");
  const answered = new Set(responses.map((one) => one.approvalId));
  const asked = new Set(
    requests.filter(({ toolCallId }) => callIds.has(toolCallId)).map((one) => one.approvalId),
  );
  return ({ value }) => {
    const { type, approvalId, toolCallId } = objectOf(value);
    if (type === "tool-approval-response") return !asked.has(approvalId);
    if (type !== "tool-approval-request") return false;
    return !callIds.has(toolCallId) || !(answered.has(approvalId) || open.has(toolCallId));
  };
}

/** OpenAI reasoning with an id that no content follows before another role speaks. */
function isDangling({ value }: Cell, entry: Entry, index: number, next: Entry | undefined): boolean {
  if (!isOpenAiReasoning(value) || entry.message.role !== "assistant") return false;
  if (next?.message.role === "assistant") return false;
  return index > entry.cells.findLastIndex((cell) => isFollower(cell.value));
}

/** The SDK omits empty texts and UI-only parts from requests. */
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
