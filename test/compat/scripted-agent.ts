// A conversation three times the size of the window, run by the SDK under test, and a provider that rejects
// what a real one would reject. At the end, twenty facts mentioned earlier are asked for.

import { type Format, type Message, resultText } from "../../packages/compact-context/src/core/message.ts";
import { CompactManager, decode, encode, lint } from "../../packages/compact-context/src/index.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createTokenCounter } from "../../packages/compact-context/src/tokens/token-counter.ts";

export const WINDOW = 8_000;
export const TURNS = 14;

export interface Fact {
  readonly pier: string;
  readonly value: string;
}

/** Half are stated by the user, half are in tool results. */
export const FACTS: readonly Fact[] = Array.from({ length: 20 }, (_, index) => ({
  pier: `pier ${String(index + 1).padStart(2, "0")}`,
  value: `${4_100 + index * 37} ells`,
}));

const WORDS =
  "the ledger lists cargo and weather while clerks compare notes about tides ropes lanterns and wages".split(
    " ",
  );

function prose(seed: number, words: number): string {
  return Array.from(
    { length: words },
    (_, index) => WORDS[(seed * 7 + index * (3 + (seed % 5))) % WORDS.length],
  ).join(" ");
}

const told = ({ pier, value }: Fact): string => `The berth of ${pier} is ${value} long.`;

/** The user's message in turns 1 to `TURNS`; contains the first ten facts. */
export function ask(turn: number): string {
  const fact = FACTS[turn - 1];
  const note = turn <= 10 && fact !== undefined ? ` Note: ${told(fact)}` : "";
  return `Turn ${turn}: survey quay ${turn} and report.${note} ${prose(turn, 60)}`;
}

/** The result of the tool `survey`; the first turns' results contain the other ten facts. */
export function survey({ quay, part }: { readonly quay: number; readonly part: number }): string {
  const fact = part === 1 && quay <= 10 ? FACTS[9 + quay] : undefined;
  const lines = Array.from({ length: 8 }, (_, line) => `${line}: ${prose(quay * 10 + part * 3 + line, 45)}`);
  return [`Quay ${quay}, part ${part}.`, ...lines, ...(fact === undefined ? [] : [told(fact)])].join("\n");
}

export const question = ({ pier }: Fact): string => `Question: how long is the berth of ${pier}?`;

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface Reply {
  readonly text: string;
  readonly calls: readonly Call[];
}

export interface Figures {
  calls: number;
  largest: number;
  read: number;
  /** The part of `read` that is a common prefix with the previous request. */
  cached: number;
  recalls: number;
  /** Requests that contained a summary. */
  summarized: number;
}

export interface Provider {
  /** Answers a request, or throws an error that a provider would answer with 400. */
  answer(list: readonly unknown[], system?: string): Reply;
  readonly figures: Figures;
}

export interface ProviderOptions {
  readonly format: Format;
  /** Name and arguments of the tool that finds content outside the prompt. */
  readonly recall: (query: string) => { readonly name: string; readonly args: Record<string, unknown> };
  readonly window?: number;
}

const counter = createTokenCounter({ model: "gpt-4o" });

export function createProvider({ format, recall, window = WINDOW }: ProviderOptions): Provider {
  const figures: Figures = { calls: 0, largest: 0, read: 0, cached: 0, recalls: 0, summarized: 0 };
  let before: readonly string[] = [];
  let turn = "";
  let step = 0;
  let serial = 0;

  const call = (name: string, args: Record<string, unknown>): Call => {
    serial += 1;
    return { id: `call_${serial}`, name, args };
  };

  return {
    figures,
    answer(list, system) {
      const plain = JSON.parse(JSON.stringify(list)) as unknown[];
      const messages = decode(plain, format);
      refuse(messages, plain, format);
      const costs = messages.map((message) => counter.countMessage(message));
      const tokens = costs.reduce((sum, cost) => sum + cost, counter.countSystem(system));
      if (tokens > window)
        throw new Error(`400 context_length_exceeded: ${tokens} tokens, the window is ${window}`);
      const texts = plain.map((item) => JSON.stringify(item));
      const differs = texts.findIndex((text, index) => text !== before[index]);
      const common = differs === -1 ? texts.length : differs;
      before = texts;
      figures.calls += 1;
      figures.largest = Math.max(figures.largest, tokens);
      figures.read += tokens;
      figures.cached += costs.slice(0, common).reduce((sum, cost) => sum + cost, 0);
      if (texts.some((text) => text.includes("<COMPACT-SUMMARY"))) figures.summarized += 1;

      const asked = newestAsk(messages);
      if (asked !== turn) step = 0;
      turn = asked;
      step += 1;
      const fact = FACTS.find((candidate) => asked.includes(question(candidate)));
      if (fact !== undefined) {
        const all = allText(messages);
        if (all.includes(fact.value)) return { text: `It is ${fact.value} long.`, calls: [] };
        if (step > 2) return { text: "I do not know.", calls: [] };
        figures.recalls += 1;
        const { name, args } = recall(`berth of ${fact.pier}`);
        return { text: "", calls: [call(name, args)] };
      }
      const quay = Number(/Turn (\d+):/.exec(asked)?.[1] ?? 0);
      if (step > 2) return { text: `Quay ${quay} is surveyed. ${prose(quay, 40)}`, calls: [] };
      const parts = step === 1 ? [1, 2] : [3, 4];
      return {
        text: step === 1 ? `I look at quay ${quay}.` : "",
        calls: parts.map((part) => call("survey", { quay, part })),
      };
    },
  };
}

function newestAsk(messages: readonly Message[]): string {
  const found = messages.findLast((message) => message.role === "user" && !isSummary(message));
  if (found === undefined) throw new Error("400 there is no user message");
  return textOf(found);
}

const isSummary = (message: Message): boolean => textOf(message).startsWith("<COMPACT-SUMMARY");

function textOf(message: Message): string {
  return message.parts
    .map((part) => (part.type === "text" ? part.text : part.type === "toolResult" ? resultText(part) : ""))
    .join("\n");
}

const allText = (messages: readonly Message[]): string => messages.map(textOf).join("\n");

/** Checks the rules of the list's own format, and of the provider APIs it may be sent to. */
function refuse(messages: readonly Message[], plain: readonly unknown[], format: Format): void {
  const bare = messages.map(({ native: _native, format: _format, ...message }) => message);
  const lists: [Format, readonly unknown[]][] = [
    [format, plain],
    ["openai-chat", encode(bare, "openai-chat")],
  ];
  for (const [name, list] of lists) {
    const broken = lint(list, name).filter((violation) => violation.severity === "error");
    if (broken.length > 0)
      throw new Error(
        `400 ${name}: ${broken.map((one) => `${one.path} ${one.rule}: ${one.explanation}`).join("; ")}`,
      );
  }
}

/** The test of every host's agent: the whole conversation, then a question for each fact. */
export async function interview(say: (text: string) => Promise<string>): Promise<string[]> {
  for (let turn = 1; turn <= TURNS; turn += 1) await say(ask(turn));
  const answers: string[] = [];
  for (const fact of FACTS) answers.push(await say(question(fact)));
  return answers;
}

export const ANSWERS: readonly string[] = FACTS.map(({ value }) => `It is ${value} long.`);

/** A manager for the scripted provider's window, and the number of its compactions. */
export function createWatched(): { readonly manager: CompactManager; readonly compactions: () => number } {
  const manager = new CompactManager(
    { model: "gpt-4o", maxContextTokens: WINDOW, policy: { keepRecentTurns: 2, keepToolIoPairs: 2 } },
    { storage: createMemoryDriver(), onWarning: () => undefined },
  );
  let count = 0;
  manager.onCompaction(() => {
    count += 1;
  });
  return { manager, compactions: () => count };
}
