import { setTimeout } from "node:timers/promises";
import {
  type AgentMessage,
  type AgentModel,
  type AgentModelRequest,
  agentMessageText,
} from "compact-context/internal/agent/agent-message";
import { createScriptedModel, type ScriptedAnswer } from "compact-context/internal/agent/scripted";
import { o200kBase } from "compact-context/internal/tokens/encodings/o200k-base";

/** Small, so that a compaction occurs after a few turns. */
const WINDOW = 16_000;
/** Milliseconds between pieces of text. */
const PAUSES = { usual: 12, quick: 1, slow: 150 } as const;

const ABILITIES = `I am a script, not a language model: I know a few commands and no more. Try one of these.

  read FILE               edit FILE OLD -> NEW
  write FILE TEXT         run COMMAND
  search WORDS            expand ID
  agent NAME TASK         skill NAME
  say TEXT                I repeat it, with Markdown rendered
  fill 3000               I write about 3,000 tokens, to fill the context
  slow                    I write slowly, so that you can interrupt me
  fail                    my answer breaks off in the middle

Then /context shows what the context holds, and /compact makes room in it.`;

const NAME = "demo:script";

export function isDemo({ name }: Pick<AgentModel, "name">): boolean {
  return name === NAME;
}

/** A scripted model for demonstrations: it needs no key and no network, and obeys single-word commands. */
export function createDemoModel(): AgentModel {
  let pace: keyof typeof PAUSES = "usual";
  return createScriptedModel(
    (request) => {
      const { pace: wanted = "usual", ...answer } = replyTo(request);
      pace = wanted;
      return { ...answer, usage: usageOf(request, answer) };
    },
    {
      name: NAME,
      window: WINDOW,
      pause: async (signal, first) => {
        // An abort ends the pause early.
        if (!first) await setTimeout(PAUSES[pace], undefined, { signal }).catch(() => undefined);
      },
    },
  );
}

type Reply = ScriptedAnswer & { readonly pace?: keyof typeof PAUSES };

function replyTo({ messages }: AgentModelRequest): Reply {
  const last = messages.at(-1);
  if (last?.role === "tool") return { text: afterTool(last) };
  const text = last === undefined ? "" : agentMessageText(last).trim();
  const [word = "", ...rest] = text.split(/\s+/);
  const handler = Object.hasOwn(SCRIPT, word.toLowerCase()) ? SCRIPT[word.toLowerCase()] : undefined;
  const input = { rest: text.slice(word.length).trim(), words: rest, place: messages.length };
  return handler?.(input) ?? { text: ABILITIES };
}

/** Handles the text after the command word; `place` differs from message to message. */
type Handler = (input: {
  readonly rest: string;
  readonly words: readonly string[];
  readonly place: number;
}) => Reply;

const call = (name: string, args: object, text = ""): Reply => ({
  text,
  calls: [{ name, arguments: args }],
});

const SCRIPT: Readonly<Record<string, Handler>> = {
  read: ({ rest: path }) => call("read", { path: path || "." }, `I look at ${path || "the folder"}.`),
  write: ({ rest, words: [path = ""] }) =>
    call("write", { path, content: `${rest.slice(path.length).trim()}\n` }, "I write it."),
  edit: ({ rest, words: [path = ""] }) => {
    const [old = "", next = ""] = rest.slice(path.length).split(" -> ");
    return call("edit", { path, old: old.trim(), new: next.trim() }, "I change it.");
  },
  run: ({ rest: command }) => call("run", { command, timeout_seconds: 20 }, "I run it."),
  search: ({ rest: query }) => call("compact_search", { query }),
  expand: ({ rest: id }) => call("compact_expand", { id }),
  agent: ({ rest, words: [name = ""] }) =>
    call("sub_agent", { agent: name, task: rest.slice(name.length).trim() }),
  say: ({ rest: text }) => ({ text }),
  skill: ({ rest: name }) => call("use_skill", { name }),
  fill: ({ words: [tokens = "2000"], place }) => ({
    text: filling(Number(tokens) || 2000, place),
    pace: "quick",
  }),
  slow: ({ place }) => ({ text: filling(400, place), pace: "slow" }),
  fail: () => ({
    text: "I begin, and then the line breaks",
    error: new Error("the connection was reset by the script"),
  }),
  hello: () => ({ text: `Hello. ${ABILITIES}` }),
};

function afterTool({ content }: AgentMessage & { readonly role: "tool" }): string {
  const [result] = content;
  if (result === undefined) return "There was no result.";
  const { value, type } = result.output;
  const lines = value.split("\n");
  if (type === "error-text") return `That did not work: ${lines[0]}`;
  return `${result.toolName} gave ${lines.length === 1 ? "one line" : `${lines.length} lines`}. The first: ${lines[0]?.slice(0, 200)}`;
}

/** About `tokens` tokens of sentences that never repeat, not even in other messages. */
function filling(tokens: number, place: number): string {
  const sentences: string[] = [];
  for (let used = 0, n = 1000 * place + 1; used < Math.min(tokens, WINDOW / 2); n += 1) {
    const sentence = `Sentence ${n} says that parcel ${n * 7919} left at ${n % 24}:${String((n * 7) % 60).padStart(2, "0")} for gate ${(n * 31) % 97}.`;
    used += o200kBase.count(sentence) + 1;
    sentences.push(sentence);
  }
  return sentences.join(" ");
}

function usageOf(
  { system, messages, tools }: AgentModelRequest,
  { text = "", calls = [] }: ScriptedAnswer,
): unknown {
  const prompt = o200kBase.count(system) + o200kBase.count(JSON.stringify([messages, tools]));
  const completion = o200kBase.count(text) + o200kBase.count(JSON.stringify(calls));
  return { inputTokens: prompt, outputTokens: completion, totalTokens: prompt + completion };
}
