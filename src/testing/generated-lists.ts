import type {
  MediaPart,
  Message,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../messages/message.ts";

/** What a generated conversation is made of; every count is a whole number. */
export interface ConversationOptions {
  /** User turns; 4 when left out. */
  readonly turns?: number;
  /** Most calls in one assistant step; 3 when left out. */
  readonly parallelCalls?: number;
  readonly media?: boolean;
  readonly reasoning?: boolean;
  /** Roughly every fifth user message says `protected`. */
  readonly protect?: boolean;
  readonly system?: boolean;
}

/** One utterance of a generated conversation, before any format has had its say. */
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
      readonly calls: readonly (ToolCallPart & { readonly arguments: Readonly<Record<string, unknown>> })[];
    }
  | {
      readonly type: "results";
      readonly results: readonly (ToolResultPart & { readonly content: string; readonly name: string })[];
    };

/** Numbers in [0, 1) that only depend on the seed (mulberry32, public domain). */
function seededRandom(seed: number): () => number {
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
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A well-formed conversation: every call is answered right after its step, some texts occur twice. */
export function generateUtterances(seed: number, options: ConversationOptions = {}): Utterance[] {
  const random = seededRandom(seed);
  const source: Source = { random, options, calls: 0 };
  const utterances: Utterance[] = [];
  if (options.system === true) utterances.push({ type: "system", text: sentence(random, 12) });
  for (let turn = 0; turn < (options.turns ?? 4); turn++) {
    utterances.push(userUtterance(source));
    const steps = Math.floor(random() * 3) + (turn === 0 ? 1 : 0);
    for (let step = 0; step < steps; step++) utterances.push(...toolStep(source));
    utterances.push({ type: "assistant", text: sentence(random, 6), ...thought(source), calls: [] });
  }
  return utterances;
}

interface Source {
  readonly random: () => number;
  readonly options: ConversationOptions;
  calls: number;
}

function sentence(random: () => number, most: number): string {
  const count = 1 + Math.floor(random() * most);
  return Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");
}

function userUtterance({ random, options }: Source): Utterance {
  const text = random() < 0.2 ? "continue" : sentence(random, 10);
  const image: MediaPart = { type: "media", mediaType: "image/png", bytes: PIXEL.length, data: PIXEL };
  return {
    type: "user",
    text,
    ...(options.media === true && random() < 0.4 ? { image } : {}),
    ...(options.protect === true && random() < 0.2 ? { protected: true } : {}),
  };
}

function thought({ random, options }: Source): { reasoning?: string } {
  return options.reasoning === true && random() < 0.6 ? { reasoning: sentence(random, 8) } : {};
}

function toolStep(source: Source): Utterance[] {
  const { random, options } = source;
  const count = 1 + Math.floor(random() * (options.parallelCalls ?? 3));
  const calls = Array.from({ length: count }, () => {
    const name = TOOLS[Math.floor(random() * TOOLS.length)] ?? "search";
    const args = { path: sentence(random, 2), limit: Math.floor(random() * 100) };
    return { type: "toolCall" as const, id: `call_${++source.calls}`, name, arguments: args };
  });
  const results = calls.map(({ id, name }) => {
    const failed = random() < 0.15 ? { isError: true } : {};
    return { type: "toolResult" as const, id, name, content: sentence(random, 20), ...failed };
  });
  const said = random() < 0.5 ? { text: sentence(random, 5) } : {};
  return [
    { type: "assistant", ...said, ...thought(source), calls },
    { type: "results", results },
  ];
}

/** A well-formed conversation as neutral messages without natives; the same for the same seed. */
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
        { role: "user", parts, ...(utterance.protected === true ? { meta: { protected: true } } : {}) },
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
  }
}

function text(words: string): TextPart {
  return { type: "text", text: words };
}
