// Libraries that shorten or check histories, where bench/node_modules is installed. Every shortener takes a native list and
// an aim in tokens and gives back a list. `tokens(format)` makes their counter: Compact's own where what is left of a history
// is compared, so that a miss is none of a count; the library's own where time is.
import { readFileSync } from "node:fs";
import { compact, countTokens } from "../packages/compact-context/dist/index.js";

/** What a scripted model says when it is asked for a summary; about 60 tokens. */
export const SUMMARY =
  "The user works on a parser that fails on empty input. Files read: src/lexer.ts. Commands run: npm test, which " +
  "failed first and passed after a fix of the end of input. Open: the same check for the other tokens, and the " +
  "documentation of the change. Nothing else was decided.";

/** The module, or nothing where it is not installed. */
export async function optional(name) {
  try {
    return await import(name);
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

export const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

/** Counts of a list of a format by Compact. */
const ownCounter = (format) => (list) => countTokens(list, { format }).tokens;

const at = "2026-01-01T00:00:00.000Z";

export async function loadPeers() {
  const [messages, testing, library] = await Promise.all(
    ["@langchain/core/messages", "@langchain/core/utils/testing", "langchain"].map(optional),
  );
  const peers = { ai: await optional("ai"), agents: await optional("@openai/agents-core/extensions") };
  const pi = await optional("@mariozechner/pi-coding-agent");
  return {
    ...peers,
    pi,
    langchain: library === undefined ? undefined : langchainParts(messages, testing, library),
  };
}

function langchainParts(
  { AIMessage, HumanMessage, SystemMessage, ToolMessage, trimMessages },
  testing,
  library,
) {
  const { ClearToolUsesEdit, contextEditingMiddleware, summarizationMiddleware, countTokensApproximately } =
    library;
  const { FakeListChatModel } = testing;
  const kinds = { SystemMessage, HumanMessage, AIMessage, ToolMessage };
  const roles = { system: SystemMessage, user: HumanMessage, assistant: AIMessage, tool: ToolMessage };

  /** The instance that LangChain works on, from a serialised message, a plain one, or one of OpenAI's chat API. */
  function instance({ id, kwargs, role, ...fields }) {
    if (kwargs !== undefined) return new kinds[id.at(-1)](structuredClone(kwargs));
    const calls = fields.tool_calls?.map((call) =>
      call.function === undefined
        ? call
        : {
            id: call.id,
            name: call.function.name,
            args: JSON.parse(call.function.arguments),
            type: "tool_call",
          },
    );
    return new roles[role]({ ...fields, ...(calls === undefined ? {} : { tool_calls: calls }) });
  }

  /** The check of its middleware; gives the list that its graph would hold afterwards. */
  function summarization(options) {
    const model = new FakeListChatModel({ responses: [SUMMARY] });
    const { beforeModel } = summarizationMiddleware({ model, ...options });
    return async (list) => {
      const update = await beforeModel({ messages: list }, { context: {} });
      // The update begins with the order to remove all.
      return update === undefined ? list : update.messages.slice(1);
    };
  }

  return {
    instances: (list) => list.map(instance),
    summarization,
    trimMessages,
    ClearToolUsesEdit,
    contextEditingMiddleware,
    countTokensApproximately,
  };
}

/** All shorteners that are installed, ours before those of its format: { name, format, configured, ready(list), run(list, aim) }. */
export async function shorteners({ tokens = ownCounter } = {}) {
  const { langchain, ai, agents, pi } = await loadPeers();
  const of = (format, ready, peers) => [
    { ...ours(format), ready },
    ...peers.map((peer) => ({ ...peer, format, ready })),
  ];
  const same = (list) => list;
  const withoutSystem = (list) => list.filter(({ role }) => role !== "system");
  return [
    ...(langchain === undefined
      ? []
      : of("langchain", langchain.instances, langchainPeers(langchain, tokens("langchain")))),
    ...(ai === undefined ? [] : of("ai-sdk", same, aiSdkPeers(ai, tokens("ai-sdk")))),
    ...(agents === undefined ? [] : of("openai-agents", same, [agentsPeer(agents, tokens("openai-agents"))])),
    ...(pi === undefined ? [] : of("pi", withoutSystem, [piPeer(pi, tokens("pi"))])),
  ];
}

/** Compact as a shortener of lists of one format. */
export const ours = (format) => ({
  name: "Compact",
  format,
  configured:
    '`compact(list, { maxTokens: aim, onOverflow: "elide" })`, built-in summarizer, defaults otherwise',
  run: async (list, aim) => (await compact(list, { format, maxTokens: aim, onOverflow: "elide" })).messages,
});

function langchainPeers({ summarization, trimMessages, ClearToolUsesEdit, contextEditingMiddleware }, count) {
  const summarized = (list, aim, keep) =>
    summarization({
      trigger: { tokens: aim },
      ...(keep === undefined ? {} : { keep }),
      tokenCounter: count,
    })(list);
  return [
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
      configured:
        "`ClearToolUsesEdit` with `trigger: { tokens: aim }` and the default `keep: { messages: 3 }`",
      run: async (list, aim) => {
        const edits = [new ClearToolUsesEdit({ trigger: { tokens: aim } })];
        const getNumTokensFromMessages = async (messages) => ({ totalCount: count(messages) });
        const { wrapModelCall } = contextEditingMiddleware({ edits, tokenCountMethod: "model" });
        const request = { messages: [...list], model: { getNumTokensFromMessages } };
        return wrapModelCall(request, ({ messages }) => messages);
      },
    },
    {
      name: "LangChain trimMessages, defaults",
      configured: '`maxTokens: aim`, `strategy: "last"` (the default), nothing else',
      run: (list, aim) => trimMessages(list, { maxTokens: aim, tokenCounter: count }),
    },
    {
      name: "LangChain trimMessages, as its guide has it",
      configured:
        '`maxTokens: aim`, `strategy: "last"`, `startOn: "human"`, `endOn: ["human", "tool"]`, `includeSystem: true`',
      run: (list, aim) =>
        trimMessages(list, {
          maxTokens: aim,
          tokenCounter: count,
          strategy: "last",
          startOn: "human",
          endOn: ["human", "tool"],
          includeSystem: true,
        }),
    },
  ];
}

function aiSdkPeers({ pruneMessages }, count) {
  return [
    {
      name: "AI SDK pruneMessages, tool calls before the last 2 messages",
      configured:
        '`reasoning: "before-last-message"`, `toolCalls: "before-last-2-messages"`, `emptyMessages: "remove"`, once the list is over the aim; knows no aim itself',
      prune: {
        reasoning: "before-last-message",
        toolCalls: "before-last-2-messages",
        emptyMessages: "remove",
      },
    },
    {
      name: "AI SDK pruneMessages, all tool calls",
      configured:
        '`reasoning: "all"`, `toolCalls: "all"`, `emptyMessages: "remove"`, once the list is over the aim',
      prune: { reasoning: "all", toolCalls: "all", emptyMessages: "remove" },
    },
  ].map(({ prune, ...peer }) => ({
    ...peer,
    run: async (list, aim) => (count(list) > aim ? pruneMessages({ messages: list, ...prune }) : list),
  }));
}

const agentsPeer = ({ removeAllTools }, count) => ({
  name: "OpenAI Agents SDK removeAllTools",
  configured:
    "the handoff filter of the SDK's extensions, once the list is over the aim; knows no aim itself",
  run: async (list, aim) => {
    if (count(list) <= aim) return list;
    const runs = { preHandoffItems: [], newItems: [] };
    return removeAllTools({ inputHistory: list, ...runs }).inputHistory;
  },
});

/** pi's own steps around its summarizer: cut point, compaction entry, context of the session, messages for the model. */
const piPeer = ({ buildSessionContext, convertToLlm, findCutPoint }, count) => ({
  name: "pi compaction",
  configured:
    "`findCutPoint` with `keepRecentTokens: aim / 2`, `buildSessionContext`, `convertToLlm`; scripted summary; its own estimate of tokens",
  run: async (list, aim) => {
    if (count(list) <= aim) return list;
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
});
