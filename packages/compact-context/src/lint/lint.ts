import { PI_OWN_ROLES } from "../codecs/detect.ts";
import { codecFor } from "../codecs/formats.ts";
import { filled, isRole, objectOf, ROLES, readNative } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { isObject, requireList, requireOptions } from "../errors.ts";
import { ANTHROPIC_RULES, leadingSystem, startsWrong, trailingSystem } from "./anthropic.ts";
import { type Cell, type Entry, REMOVE_ALL, type ReadList, readEntries, typeOf } from "./entries.ts";
import { GENERIC_RULES } from "./generic.ts";
import { ITEM_RULES, misplacedResults, OPENAI_CHAT_RULES, STATE } from "./openai.ts";
import { batchesOf, firstInterloper, holdersOf, isOutOfOrder, isSplit, pairCalls } from "./pairs.ts";
import {
  at,
  atCell,
  atEntry,
  badCells,
  drop,
  type Finding,
  type LintOptions,
  type Rule,
  type RuleInfo,
  rulesOf,
  type Violation,
} from "./rule.ts";

const AI_SDK_ERRORS = 'AI SDK: "AI SDK Errors", AI_MissingToolResultsError and AI_InvalidPromptError';
const AI_SDK_APPROVAL = 'AI SDK: "Tool Calling", tool approval';

/** The AI SDK, model and UI messages. */
const AI_SDK_RULES: readonly Rule[] = rulesOf(
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
const LANGCHAIN_RULES: readonly Rule[] = rulesOf(
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

/** The pi agent. */
const PI_RULES: readonly Rule[] = rulesOf(
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

/** OpenAI reasoning with an id that no content follows before another role speaks. */
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

function callOf({ value }: Cell): string {
  return String(objectOf(value).toolCallId);
}

const FORMATS = ["gemini"] as const;
const FUNCTION_CALLING = 'Gemini API: "Function calling with the Gemini API"';
const CONTENTS = 'Gemini API reference: "GenerateContent", contents';

/** Gemini contents. */
const GEMINI_RULES: readonly Rule[] = rulesOf(FORMATS, [
  {
    id: "gemini/responses-match",
    explanation:
      "The turn behind function calls holds as many responses as there were calls, in their order.",
    link: FUNCTION_CALLING,
    mend: "The responses are moved into that turn and put in order.",
    check: (list) => [
      ...misplacedResults(list),
      ...batchesOf(list).flatMap((batch): Finding[] => {
        const found = firstInterloper(batch);
        if (found !== undefined) return [at(found.entry, found.path, "stands before function responses")];
        const [host, split] = isSplit(batch) ? holdersOf(batch) : batch.hosts.slice(0, 1);
        if (split !== undefined) return [atEntry(split, "the responses are spread over several contents")];
        return host !== undefined && isOutOfOrder(batch)
          ? [atEntry(host, "the responses stand in another order than their calls")]
          : [];
      }),
    ],
  },
  {
    id: "gemini/starts-with-user",
    explanation: "The first content must be the user's, and no function response.",
    link: CONTENTS,
    mend: "A synthetic user content opens the conversation.",
    check: (list) => startsWrong(list).map((entry) => atEntry(entry)),
  },
  {
    id: "gemini/system-in-contents",
    severity: "warning",
    explanation:
      "System text leads the list: the host has to lift it into the request's own `systemInstruction`, because it is refused among the contents.",
    link: CONTENTS,
    check: (list) => leadingSystem(list).map((entry) => atEntry(entry)),
  },
  {
    id: "gemini/system-leads",
    explanation:
      "System text stands behind other contents, where it cannot be lifted without changing the order.",
    link: CONTENTS,
    mend: "The content is moved to the front, from where the host lifts it into `systemInstruction`.",
    check: (list) => trailingSystem(list).map((entry) => atEntry(entry)),
  },
  {
    id: "gemini/thought-signature",
    severity: "warning",
    explanation: "A function call of the current turn has lost the thought signature that others have.",
    link: 'Gemini API: "Thought signatures"',
    check: (list) => unsignedCalls(list),
  },
  {
    id: "gemini/empty-parts",
    explanation: "A content must have parts.",
    link: CONTENTS,
    mend: "The content is dropped.",
    check: ({ entries }) =>
      entries.filter((entry) => entry.cells.length === 0).map((entry) => atEntry(entry)),
    fix: drop,
  },
]);

/** Only the first call of a step has a signature; models without signatures are not checked. */
function unsignedCalls({ entries }: ReadList): Finding[] {
  const start = entries.findLastIndex((entry) => entry.message.role === "user");
  const called = entries.flatMap(({ cells }) => cells.filter(({ value }) => isCall(value)));
  if (!called.some(({ value }) => isSigned(value))) return [];
  return entries.slice(start + 1).flatMap((entry) => {
    const first = entry.cells.find(({ value }) => isCall(value));
    return first === undefined || isSigned(first.value) ? [] : [at(entry, first.path)];
  });
}

function isCall(value: unknown): boolean {
  return isObject(value) && (isObject(value.functionCall) || isObject(value.function_call));
}

function isSigned(value: unknown): boolean {
  const { thoughtSignature, thought_signature: other } = objectOf(value);
  return typeof (thoughtSignature ?? other) === "string";
}

/** Every rule, those for all formats first. */
const RULES: readonly Rule[] = [
  ...GENERIC_RULES,
  ...OPENAI_CHAT_RULES,
  ...ITEM_RULES,
  ...ANTHROPIC_RULES,
  ...GEMINI_RULES,
  ...AI_SDK_RULES,
  ...LANGCHAIN_RULES,
  ...PI_RULES,
];

/** The rules of a format. */
export function rulesFor(format: Format): Rule[] {
  return RULES.filter((rule) => rule.formats.includes(format));
}

/** Descriptions of all rules, in the order of the documentation. */
export function describeRules(): RuleInfo[] {
  return RULES.map(({ check: _check, fix: _fix, ...info }) => ({ ...info }));
}

/**
 * Every violation of the format's rules, by position. Entries of the wrong shape are violations too; throws
 * `UnknownFormat` for an unknown format.
 */
export function lint(list: readonly unknown[], format: Format, options: LintOptions = {}): Violation[] {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => broken(list, format, options));
}

function broken(list: readonly unknown[], format: Format, options: LintOptions): Violation[] {
  const read = readEntries(list, format);
  return rulesFor(format)
    .flatMap(({ id, severity, explanation, link, check }) =>
      check(read, options).map(({ position, path, problem }): Violation => {
        return { rule: id, severity, index: position, path, explanation: problem ?? explanation, link };
      }),
    )
    .toSorted((a, b) => a.index - b.index);
}
