import type {
  MediaPart,
  Message,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "compact-context/internal/core/message";
import { defined } from "compact-context/internal/errors";

/** Properties of a generated conversation; every count is a whole number. */
export interface ConversationOptions {
  /** User turns. Default: 4. */
  readonly turns?: number;
  /** Maximum calls in one assistant step. Default: 3. */
  readonly parallelCalls?: number;
  readonly media?: boolean;
  readonly reasoning?: boolean;
  /** Roughly every fifth user message contains `protected`. */
  readonly protect?: boolean;
  readonly system?: boolean;
  /** Maximum tool steps of a turn. Default: 2. */
  readonly steps?: number;
  /** Tool steps of an additional last turn without an answer. */
  readonly openSteps?: number;
  /** Maximum words of a tool result. Default: 20. */
  readonly resultWords?: number;
  /** Every assistant step has reasoning. */
  readonly reasoningLoops?: boolean;
  /** Roughly every eighth call is never answered. */
  readonly deadCalls?: boolean;
  /** The conversation ends with a step whose calls do not all have results. */
  readonly pendingCalls?: boolean;
  /** Roughly every sixth text is empty or blank. */
  readonly emptyTexts?: boolean;
  /** Roughly half of the texts are one of three short ones. */
  readonly equalTexts?: boolean;
  /** Roughly every fourth text contains joined emoji, combining marks, other scripts or lone surrogates. */
  readonly oddTexts?: boolean;
  /** Words of an occasional long text, roughly every thirtieth. */
  readonly giantWords?: number;
  /** Every reasoning has its own seal, in formats with a field for it. */
  readonly sealed?: boolean;
  /** Roughly every third step uses a server tool, run by the provider. */
  readonly serverTools?: boolean;
  /** Roughly every fourth turn has a call that requires approval. */
  readonly approvals?: boolean;
  /** Roughly every third answer contains the provider's own compaction of the preceding messages. */
  readonly compactions?: boolean;
}

/** A call with its arguments as an object. */
export type GeneratedCall = ToolCallPart & { readonly arguments: Readonly<Record<string, unknown>> };

/** A tool call run by the provider, and its result. */
export interface ServedCall {
  readonly id: string;
  readonly query: string;
  readonly found: string;
}

/** One utterance of a generated conversation, independent of any format. */
export type Utterance =
  | { readonly type: "system"; readonly text: string }
  | {
      readonly type: "user";
      readonly text: string;
      readonly image?: MediaPart;
      readonly protected?: boolean;
    }
  | {
      readonly type: "assistant";
      readonly text?: string;
      readonly reasoning?: string;
      /** A stand-in for the provider's signature of the reasoning; unique. */
      readonly seal?: string;
      readonly served?: readonly ServedCall[];
      /** A compaction that only the provider can read. */
      readonly compaction?: string;
      readonly calls: readonly GeneratedCall[];
    }
  | {
      readonly type: "approval";
      /** The model's request, the user's response, and the outcome. */
      readonly step: "request" | "response" | "outcome";
      readonly call: GeneratedCall;
      readonly approved: boolean;
      readonly output: string;
    }
  | {
      readonly type: "results";
      readonly results: readonly (ToolResultPart & { readonly content: string; readonly name: string })[];
    };

/** Numbers in [0, 1) that depend only on the seed (mulberry32, public domain). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const WORDS =
  'the parser fails on empty input so read src/lexer.ts and run npm test again then fix naïve 日本語 🙂 <tag> "quoted"'.split(
    " ",
  );
const TOOLS = ["read_file", "run_command", "search", "write_file"];
const BLANK_TEXTS = ["", " ", "\n\n"];
const EQUAL_TEXTS = ["ok", "continue", "the same result"];
const ODD_TEXTS = [
  "👩‍👩‍👧‍👦🏳️‍🌈",
  "e\u0301\u0323\u0308",
  "שלום عليكم",
  "漢字仮名交じり文",
  "half \ud83d pair",
  "\u0000\u2028\ufeff",
  "</COMPACT-SUMMARY v1>",
];
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A conversation whose calls are answered directly, unless the options say otherwise; some texts repeat. */
export function generateUtterances(seed: number, options: ConversationOptions = {}): Utterance[] {
  const random = seededRandom(seed);
  const source: Source = { random, options, calls: 0, seals: 0 };
  const utterances: Utterance[] = [];
  if (options.system === true) utterances.push({ type: "system", text: sentence(source, 12) });
  for (let turn = 0; turn < (options.turns ?? 4); turn++) {
    utterances.push(userUtterance(source));
    const steps = Math.floor(random() * ((options.steps ?? 2) + 1)) + (turn === 0 ? 1 : 0);
    for (let step = 0; step < steps; step++) utterances.push(...toolStep(source));
    if (options.approvals === true && random() < 1 / 4) utterances.push(...approval(source));
    utterances.push({
      type: "assistant",
      text: sentence(source, 6),
      ...thought(source),
      ...sealedPast(source),
      calls: [],
    });
  }
  return [...utterances, ...openTurn(source)];
}

/** The unfinished last turn, if the options require one. */
function openTurn(source: Source): Utterance[] {
  const { openSteps = 0, pendingCalls = false } = source.options;
  if (openSteps === 0 && !pendingCalls) return [];
  const utterances = [userUtterance(source)];
  for (let step = 0; step < openSteps; step++) utterances.push(...toolStep(source));
  if (!pendingCalls) return utterances;
  const [asked, answered] = toolStep(source);
  if (asked !== undefined) utterances.push(asked);
  const results = answered?.type === "results" ? answered.results : [];
  const given = results.slice(0, Math.floor(source.random() * results.length));
  return given.length === 0 ? utterances : [...utterances, { type: "results", results: given }];
}

/** A call that requires approval: three steps, or only the first if it is unanswered. */
function approval(source: Source): Utterance[] {
  const call = generatedCall(source);
  const approved = source.random() < 0.7;
  const about = { type: "approval", call, approved, output: sentence(source, 10) } as const;
  return [
    { ...about, step: "request" },
    { ...about, step: "response" },
    { ...about, step: "outcome" },
  ];
}

function sealedPast({ random, options }: Source): { compaction?: string } {
  if (options.compactions !== true || random() >= 1 / 3) return {};
  return { compaction: `cmp_${Math.floor(random() * 1e9)}` };
}

interface Source {
  readonly random: () => number;
  readonly options: ConversationOptions;
  calls: number;
  seals: number;
}

function sentence(source: Source, most: number): string {
  return unusualText(source) ?? words(source.random, 1 + Math.floor(source.random() * most));
}

function words(random: () => number, count: number): string {
  return Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");
}

/** A text of the kinds enabled by the options; draws no random number for disabled ones. */
function unusualText({ random, options }: Source): string | undefined {
  const one = (texts: readonly string[]): string => texts[Math.floor(random() * texts.length)] ?? "";
  if (options.emptyTexts === true && random() < 1 / 6) return one(BLANK_TEXTS);
  if (options.equalTexts === true && random() < 0.5) return one(EQUAL_TEXTS);
  if (options.oddTexts === true && random() < 0.25)
    return one(ODD_TEXTS).repeat(1 + Math.floor(random() * 6));
  if (options.giantWords !== undefined && random() < 1 / 30) return words(random, options.giantWords);
  return undefined;
}

function userUtterance(source: Source): Utterance {
  const { random, options } = source;
  const text = random() < 0.2 ? "continue" : sentence(source, 10);
  const image: MediaPart = { type: "media", mediaType: "image/png", bytes: PIXEL.length, data: PIXEL };
  return {
    type: "user",
    text,
    image: options.media === true && random() < 0.4 ? image : undefined,
    protected: (options.protect === true && random() < 0.2) || undefined,
  };
}

function thought(source: Source): { reasoning?: string; seal?: string } {
  const { random, options } = source;
  const thinks = options.reasoningLoops === true || (options.reasoning === true && random() < 0.6);
  if (!thinks) return {};
  const reasoning = sentence(source, 8);
  return options.sealed === true ? { reasoning, seal: `seal_${++source.seals}_` } : { reasoning };
}

function generatedCall(source: Source): GeneratedCall {
  const { random } = source;
  const name = TOOLS[Math.floor(random() * TOOLS.length)] ?? "search";
  const args = { path: sentence(source, 2), limit: Math.floor(random() * 100) };
  return { type: "toolCall", id: `call_${++source.calls}`, name, arguments: args };
}

function servedCalls(source: Source): { served?: readonly ServedCall[] } {
  if (source.options.serverTools !== true || source.random() >= 1 / 3) return {};
  const id = `srv_${++source.calls}`;
  return { served: [{ id, query: sentence(source, 4), found: sentence(source, 12) }] };
}

function toolStep(source: Source): Utterance[] {
  const { random, options } = source;
  const count = 1 + Math.floor(random() * (options.parallelCalls ?? 3));
  const calls = Array.from({ length: count }, () => generatedCall(source));
  const answered = calls.filter(() => options.deadCalls !== true || random() > 1 / 8);
  const results = answered.map(({ id, name }) => {
    const failed = random() < 0.15 ? { isError: true } : {};
    return {
      type: "toolResult" as const,
      id,
      name,
      content: sentence(source, options.resultWords ?? 20),
      ...failed,
    };
  });
  const said = random() < 0.5 ? { text: sentence(source, 5) } : {};
  const asked: Utterance = { type: "assistant", ...said, ...thought(source), ...servedCalls(source), calls };
  return results.length === 0 ? [asked] : [asked, { type: "results", results }];
}

/** A generated conversation as neutral messages without natives; deterministic for a seed. */
export function generateConversation(seed: number, options: ConversationOptions = {}): Message[] {
  return generateUtterances(seed, options)
    .flatMap(toMessages)
    .map((message, index) => {
      return { id: `m${index + 1}`, ...message };
    });
}

function toMessages(utterance: Utterance): Omit<Message, "id">[] {
  switch (utterance.type) {
    case "system":
      return [{ role: "system", parts: [text(utterance.text)] }];
    case "user": {
      const parts: Part[] = [
        text(utterance.text),
        ...(utterance.image === undefined ? [] : [utterance.image]),
      ];
      return [
        defined({
          role: "user",
          parts,
          meta: utterance.protected === true ? { protected: true } : undefined,
        }),
      ];
    }
    case "assistant": {
      const parts: Part[] = [...utterance.calls];
      if (utterance.text !== undefined) parts.unshift(text(utterance.text));
      if (utterance.reasoning !== undefined) parts.unshift({ type: "reasoning", text: utterance.reasoning });
      return [{ role: "assistant", parts }];
    }
    case "results":
      return utterance.results.map((result) => ({ role: "tool", parts: [result] }));
    case "approval":
      return approvedMessages(utterance);
  }
}

/** Neutral messages have no approvals: the call waits for its result. */
function approvedMessages({
  step,
  call,
  approved,
  output,
}: Utterance & { type: "approval" }): Omit<Message, "id">[] {
  if (step === "request") return [{ role: "assistant", parts: [call] }];
  if (step === "response") return [];
  const result = { type: "toolResult", id: call.id, name: call.name } as const;
  const content = approved ? { content: output } : { content: "denied", isError: true };
  return [{ role: "tool", parts: [{ ...result, ...content }] }];
}

function text(words: string): TextPart {
  return { type: "text", text: words };
}
