// Other libraries, each as a function that takes a native list and an aim in tokens and gives back a list.
// All that count tokens do so with the same counter, so that a miss is none of a count.

import { AIMessage, HumanMessage, SystemMessage, ToolMessage, trimMessages } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { buildSessionContext, convertToLlm, findCutPoint } from "@mariozechner/pi-coding-agent";
import { removeAllTools } from "@openai/agents-core/extensions";
import { pruneMessages } from "ai";
import { ClearToolUsesEdit, contextEditingMiddleware, summarizationMiddleware } from "langchain";
import { countTokens } from "../../dist/compaction/count-list.js";
import { compact } from "../../dist/compaction/one-shot.js";

/** What a scripted model says when it is asked for a summary; about 60 tokens. */
export const SUMMARY =
  "The user works on a parser that fails on empty input. Files read: src/lexer.ts. Commands run: npm test, which " +
  "failed first and passed after a fix of the end of input. Open: the same check for the other tokens, and the " +
  "documentation of the change. Nothing else was decided.";

const KINDS = { SystemMessage, HumanMessage, AIMessage, ToolMessage };

/** Serialised messages as the instances that LangChain works on. */
function instances(list) {
  return list.map(({ id, kwargs }) => new KINDS[id.at(-1)](structuredClone(kwargs)));
}

const counter = (format) => (list) => countTokens(list, { format }).tokens;

const langchainTokens = counter("langchain");

/** What the reducer of the graph makes of an update that begins with the order to remove all. */
async function summarized(list, aim, keep) {
  const middleware = summarizationMiddleware({
    model: new FakeListChatModel({ responses: [SUMMARY] }),
    trigger: { tokens: aim },
    ...(keep === undefined ? {} : { keep }),
    tokenCounter: langchainTokens,
  });
  const update = await middleware.beforeModel({ messages: list }, { context: {} });
  return update === undefined ? list : update.messages.slice(1);
}

const ours = (format) => ({
  name: "Compact",
  format,
  ready: format === "langchain" ? instances : (list) => list,
  configured:
    '`compact(list, { maxTokens: aim, onOverflow: "elide" })`, built-in summarizer, defaults otherwise',
  run: async (list, aim) => (await compact(list, { format, maxTokens: aim, onOverflow: "elide" })).messages,
});

const langchain = [
  {
    name: "LangChain summarizationMiddleware, keep 20 messages",
    configured: "`trigger: { tokens: aim }`, the default `keep: { messages: 20 }`, scripted summarizer",
    run: (list, aim) => summarized(list, aim),
  },
  {
    name: "LangChain summarizationMiddleware, keep half of the aim",
    configured: "`trigger: { tokens: aim }`, `keep: { tokens: aim / 2 }`, scripted summarizer",
    run: (list, aim) => summarized(list, aim, { tokens: Math.floor(aim / 2) }),
  },
  {
    name: "LangChain contextEditingMiddleware",
    configured: "`ClearToolUsesEdit` with `trigger: { tokens: aim }` and the default `keep: { messages: 3 }`",
    run: async (list, aim) => {
      const edits = [new ClearToolUsesEdit({ trigger: { tokens: aim } })];
      const getNumTokensFromMessages = async (messages) => ({ totalCount: langchainTokens(messages) });
      const { wrapModelCall } = contextEditingMiddleware({ edits, tokenCountMethod: "model" });
      const request = { messages: [...list], model: { getNumTokensFromMessages } };
      return wrapModelCall(request, ({ messages }) => messages);
    },
  },
  {
    name: "LangChain trimMessages, defaults",
    configured: '`maxTokens: aim`, `strategy: "last"` (the default), nothing else',
    run: (list, aim) => trimMessages(list, { maxTokens: aim, tokenCounter: langchainTokens }),
  },
  {
    name: "LangChain trimMessages, as its guide has it",
    configured:
      '`maxTokens: aim`, `strategy: "last"`, `startOn: "human"`, `endOn: ["human", "tool"]`, `includeSystem: true`',
    run: (list, aim) =>
      trimMessages(list, {
        maxTokens: aim,
        tokenCounter: langchainTokens,
        strategy: "last",
        startOn: "human",
        endOn: ["human", "tool"],
        includeSystem: true,
      }),
  },
].map((peer) => ({ ...peer, format: "langchain", ready: instances }));

const aiSdk = [
  {
    name: "AI SDK pruneMessages, tool calls before the last 2 messages",
    configured:
      '`reasoning: "before-last-message"`, `toolCalls: "before-last-2-messages"`, `emptyMessages: "remove"`, once the list is over the aim; knows no aim itself',
    prune: { reasoning: "before-last-message", toolCalls: "before-last-2-messages", emptyMessages: "remove" },
  },
  {
    name: "AI SDK pruneMessages, all tool calls",
    configured:
      '`reasoning: "all"`, `toolCalls: "all"`, `emptyMessages: "remove"`, once the list is over the aim',
    prune: { reasoning: "all", toolCalls: "all", emptyMessages: "remove" },
  },
].map(({ prune, ...peer }) => ({
  ...peer,
  format: "ai-sdk",
  ready: (list) => list,
  run: async (list, aim) =>
    counter("ai-sdk")(list) > aim ? pruneMessages({ messages: list, ...prune }) : list,
}));

const agents = {
  name: "OpenAI Agents SDK removeAllTools",
  format: "openai-agents",
  ready: (list) => list,
  configured:
    "the handoff filter of the SDK's extensions, once the list is over the aim; knows no aim itself",
  run: async (list, aim) => {
    if (counter("openai-agents")(list) <= aim) return list;
    const runs = { preHandoffItems: [], newItems: [] };
    return removeAllTools({ inputHistory: list, ...runs }).inputHistory;
  },
};

const at = "2026-01-01T00:00:00.000Z";

/** pi's own steps around its summarizer: cut point, compaction entry, context of the session, messages for the model. */
const pi = {
  name: "pi compaction",
  format: "pi",
  ready: (list) => list.filter(({ role }) => role !== "system"),
  configured:
    "`findCutPoint` with `keepRecentTokens: aim / 2`, `buildSessionContext`, `convertToLlm`; scripted summary; its own estimate of tokens",
  run: async (list, aim) => {
    if (counter("pi")(list) <= aim) return list;
    const entries = list.map((message, index) => ({
      type: "message",
      id: `e${index}`,
      parentId: index === 0 ? null : `e${index - 1}`,
      timestamp: at,
      message,
    }));
    const { firstKeptEntryIndex } = findCutPoint(entries, 0, entries.length, Math.floor(aim / 2));
    const compaction = {
      type: "compaction",
      id: "c",
      parentId: entries.at(-1).id,
      timestamp: at,
      summary: SUMMARY,
      firstKeptEntryId: entries[firstKeptEntryIndex].id,
      tokensBefore: 0,
    };
    return convertToLlm(buildSessionContext([...entries, compaction]).messages);
  },
};

export const PEERS = [
  ours("langchain"),
  ...langchain,
  ours("ai-sdk"),
  ...aiSdk,
  ours("openai-agents"),
  agents,
  { ...ours("pi"), ready: pi.ready },
  pi,
];
