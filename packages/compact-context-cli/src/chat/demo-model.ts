import type { AgentModel, AgentModelRequest } from "compact-context/internal/agent/agent-message";
import { type AgentMessage, agentMessageText } from "compact-context/internal/agent/agent-message";
import { createScriptedModel, type ScriptedAnswer } from "compact-context/internal/agent/scripted";
import { o200kBase } from "compact-context/internal/tokens/encodings/o200k-base";

/** Small, so that a compaction is seen after a few turns. */
const WINDOW = 16_000;
/** Between pieces of text: as it comes from a model, quickly, slowly. */
const PAUSES = { usual: 12, quick: 1, slow: 150 } as const;

const ABILITIES = `I am a script, not a language model: I know a few commands and no more. Try one of these.

  read FILE               edit FILE OLD -> NEW
  write FILE TEXT         run COMMAND
  search WORDS            expand ID
  agent NAME TASK         skill NAME
  say TEXT                I say it: Markdown is shown as it is meant
  fill 3000               I talk for some 3,000 tokens; the context fills up
  slow                    I talk slowly, to be interrupted
  fail                    my answer breaks off in the middle

Then /context shows what the context holds, and /compact makes room in it.`;

const NAME = "demo:script";

export function isDemo({ name }: Pick<AgentModel, "name">): boolean {
  return name === NAME;
}

/** A model for trying things out: it needs no key, asks nobody, and does what single words tell it. */
export function createDemoModel(): AgentModel {
  let pace: keyof typeof PAUSES = "usual";
  return createScriptedModel(
    (request) => {
      const said = answerTo(request);
      pace = said.pace ?? "usual";
      return { ...said.answer, usage: usageOf(request, said.answer) };
    },
    {
      name: NAME,
      window: WINDOW,
      pause: (signal, first) => (first ? Promise.resolve() : wait(PAUSES[pace], signal)),
    },
  );
}

interface Said {
  readonly answer: ScriptedAnswer;
  readonly pace?: keyof typeof PAUSES;
}

function answerTo({ messages }: AgentModelRequest): Said {
  const last = messages.at(-1);
  if (last?.role === "tool") return { answer: { text: afterTool(last) } };
  const text = last === undefined ? "" : agentMessageText(last).trim();
  const [word = "", ...rest] = text.split(/\s+/);
  const made = Object.hasOwn(SCRIPT, word.toLowerCase()) ? SCRIPT[word.toLowerCase()] : undefined;
  const said = { rest: text.slice(word.length).trim(), words: rest, place: messages.length };
  return made?.(said) ?? { answer: { text: ABILITIES } };
}

/** To what stands behind the first word; `place` differs from message to message. */
type Reply = (said: {
  readonly rest: string;
  readonly words: readonly string[];
  readonly place: number;
}) => Said;

const call = (name: string, args: object, text = ""): Said => ({
  answer: { text, calls: [{ name, arguments: args }] },
});

const SCRIPT: Readonly<Record<string, Reply>> = {
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
  say: ({ rest: text }) => ({ answer: { text } }),
  skill: ({ rest: name }) => call("use_skill", { name }),
  fill: ({ words: [tokens = "2000"], place }) => ({
    answer: { text: filling(Number(tokens) || 2000, place) },
    pace: "quick",
  }),
  slow: ({ place }) => ({ answer: { text: filling(400, place) }, pace: "slow" }),
  fail: () => ({
    answer: {
      text: "I begin, and then the line breaks",
      error: new Error("the connection was reset by the script"),
    },
  }),
  hello: () => ({ answer: { text: `Hello. ${ABILITIES}` } }),
};

function afterTool({ content }: AgentMessage & { readonly role: "tool" }): string {
  const [result] = content;
  if (result === undefined) return "There was no result.";
  const { value, type } = result.output;
  const lines = value.split("\n");
  if (type === "error-text") return `That did not work: ${lines[0]}`;
  return `${result.toolName} gave ${lines.length === 1 ? "one line" : `${lines.length} lines`}. The first: ${lines[0]?.slice(0, 200)}`;
}

/** Sentences that differ, also from those of other messages, of about so many tokens. */
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

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
