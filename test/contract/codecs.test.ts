import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  codecFor,
  decode,
  detectFormat,
  encode,
  FORMATS,
} from "../../packages/compact-context/src/codecs/formats.ts";
import {
  argumentsValue,
  type Format,
  type Message,
  resultText,
} from "../../packages/compact-context/src/core/message.ts";
import { findMalformations } from "../../packages/compact-context/src/lint/generic.ts";
import {
  type CodecCheck,
  checkEditedResults,
  checkIdentity,
  checkIds,
  checkSuffixes,
  orphanResults,
} from "../support/codec-contract.ts";
import {
  type ConversationOptions,
  generateConversation,
  generateUtterances,
  type Utterance,
} from "../support/generated-lists.ts";
import { generateNativeList, writeNativeList } from "../support/native-lists.ts";
import { whole } from "../whole.ts";

const options = fc.record({
  turns: fc.integer({ min: 1, max: 6 }),
  media: fc.boolean(),
  reasoning: fc.boolean(),
  protect: fc.boolean(),
  system: fc.boolean(),
});
const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const RUNS = { numRuns: whole ? 40 : 10 };

/** Who said what, without ids and whatever entries it was spread over. */
function said(messages: readonly Message[], ids = true): unknown[] {
  return messages.flatMap((message) =>
    message.parts.flatMap((part): unknown[] => {
      const id = ids && "id" in part ? part.id : undefined;
      if (part.type === "text") return [[message.role, part.text]];
      if (part.type === "media") return [[message.role, part.mediaType, part.bytes]];
      if (part.type === "toolCall") return [[message.role, part.type, id, part.name, argumentsValue(part)]];
      return part.type === "toolResult" ? [["tool", part.type, id, resultText(part)]] : [];
    }),
  );
}

function spoken(utterances: readonly Utterance[], ids: boolean): unknown[] {
  return utterances.flatMap((one): unknown[] => {
    if (one.type === "system") return [["system", one.text]];
    if (one.type === "user") {
      const image = one.image;
      return [["user", one.text], ...(image ? [["user", image.mediaType, image.bytes]] : [])];
    }
    if (one.type === "results")
      return one.results.map(({ id, content }) => ["tool", "toolResult", ids ? id : undefined, content]);
    if (one.type === "approval") return [];
    const text = one.text === undefined ? [] : [["assistant", one.text]];
    const calls = one.calls.map((call) => {
      return ["assistant", "toolCall", ids ? call.id : undefined, call.name, call.arguments];
    });
    return [...text, ...calls];
  });
}

describe.each(FORMATS)("the %s codec on generated lists", (format) => {
  const codec = codecFor(format);
  const holds = (check: CodecCheck, more: ConversationOptions = {}): void =>
    fc.assert(
      fc.property(seeds, options, (seed, chosen) => {
        const list = generateNativeList(format, seed, { ...chosen, ...more });
        expect(check(codec, list)).toEqual([]);
      }),
      RUNS,
    );

  it("PRT-6 INT-4 gives back the caller's own objects in order", () => holds(checkIdentity));
  it("makes unique ids that do not depend on what follows", () => holds(checkIds));
  it("decodes the end of a list after its beginning like the whole", () => holds(checkSuffixes));
  it("edits one result and keeps everything else", () => holds(checkEditedResults));

  it("reads every text, call, result and medium that was written", () => {
    const ids = format !== "gemini";
    fc.assert(
      fc.property(seeds, options, (seed, chosen) => {
        const utterances = generateUtterances(seed, chosen);
        const messages = codec.decode(writeNativeList(format, utterances));
        expect(said(messages, ids)).toEqual(spoken(utterances, ids));
        expect(findMalformations(messages)).toEqual([]);
        expect(messages.filter((message) => message.meta?.protected === true).length).toBe(
          utterances.filter((one) => one.type === "user" && one.protected === true).length,
        );
        const thoughts = messages.flatMap((message) =>
          message.parts.filter((part) => part.type === "reasoning"),
        );
        expect(thoughts.map((part) => part.text)).toEqual(
          utterances.flatMap((one) => (one.type === "assistant" ? (one.reasoning ?? []) : [])),
        );
      }),
      RUNS,
    );
  });

  it("is recognised, and no other format is as likely", () => {
    fc.assert(
      fc.property(seeds, options, (seed, chosen) => {
        const list = generateNativeList(format, seed, chosen);
        const scores = FORMATS.map((other) => ({ other, score: codecFor(other).detect(list) }));
        const best = Math.max(...scores.map(({ score }) => score));
        expect(scores.filter(({ score }) => score === best).map(({ other }) => other)).toEqual([format]);
      }),
      RUNS,
    );
  });

  it("leaves reasoning out of an edited message and keeps the rest", () => {
    const list = generateNativeList(format, 11, { turns: 8, reasoning: true });
    const messages = codec.decode(list);
    const stripped = messages.map((message): Message => {
      const parts = message.parts.filter((part) => part.type !== "reasoning");
      return parts.length === message.parts.length ? message : { ...message, parts, edited: true };
    });
    expect(stripped.some((message) => message.edited)).toBe(true);
    const again = codec.decode(codec.encode(stripped));
    expect(again.flatMap((message) => message.parts).some((part) => part.type === "reasoning")).toBe(false);
    // Ids that a codec mints follow the content.
    const ids = format !== "gemini";
    expect(said(again, ids)).toEqual(said(messages, ids));
  });

  it("builds new messages that say what the neutral ones say", () => {
    fc.assert(
      fc.property(seeds, options, (seed, chosen) => {
        const messages = generateConversation(seed, chosen);
        const list = codec.encode(messages);
        expect(said(codec.decode(list))).toEqual(said(messages));
        expect(findMalformations(codec.decode(list))).toEqual([]);
      }),
      RUNS,
    );
  });

  it.each(FORMATS)("converts to %s and back", (other) => {
    fc.assert(
      fc.property(seeds, options, (seed, chosen) => {
        const messages = codec.decode(generateNativeList(format, seed, chosen));
        const converted = decode(encode(messages, other), other);
        expect(said(converted)).toEqual(said(messages));
        expect(findMalformations(converted)).toEqual([]);
        expect(said(codec.decode(codec.encode(converted)))).toEqual(said(messages));
      }),
      { numRuns: whole ? 10 : 3 },
    );
  });

  it.each([
    ["no object", "hello"],
    ["null", null],
    ["an unknown role", { role: "narrator-of-nothing", content: [{ type: 7 }] }],
  ])("PRT-7 refuses %s and names its index", (_what, entry) => {
    const list = [...generateNativeList(format, 3).slice(0, 2), entry];
    expect(() => codec.decode(list)).toThrow(
      expect.objectContaining({ code: "InvalidMessages", place: expect.stringContaining("messages[2]") }),
    );
  });
});

const shared = fileURLToPath(new URL("../../../shared/transcripts/", import.meta.url));
const lines = (path: string): Record<string, unknown>[] =>
  readFileSync(shared + path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
const json = (path: string) => JSON.parse(readFileSync(shared + path, "utf8"));
const claudeCode = (path: string) => () =>
  lines(path)
    .filter(({ type, isSidechain }) => (type === "user" || type === "assistant") && isSidechain !== true)
    .map(({ message }) => message);
const codex = (path: string) => () =>
  lines(path)
    .filter(({ type }) => type === "response_item")
    .map(({ payload }) => payload);

const REAL: readonly [name: string, format: Format, load: () => unknown[]][] = [
  [
    "tau-bench",
    "openai-chat",
    () => json("tau-bench/gpt4o-airline-0-t3.json").traj ?? json("tau-bench/gpt4o-airline-0-t3.json")[0].traj,
  ],
  ["tau2-bench", "openai-chat", () => messagesIn(json("tau2-bench/gym-airline-gpt-4.1-sft-32-t0.json"))],
  [
    "OpenHands",
    "openai-chat",
    () =>
      json("openhands-sdk/litellm_proxy__anthropic__claude-sonnet-4-20250514-1757015046.707.json").messages,
  ],
  ["Claude Code", "anthropic", claudeCode("claude-code-entireio/4ec443d0-063b-4de3-8ede-e35160c2c1de.jsonl")],
  [
    "Claude Code with images",
    "anthropic",
    claudeCode("claude-code-packmind/00acd976-784c-4077-95cd-19aa1b51739b.jsonl"),
  ],
  ["Cline", "anthropic", () => json("cline/session.messages.json").messages],
  ["Codex", "openai-responses", codex("codex-agentv/019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e.jsonl")],
  [
    "Codex with compactions",
    "openai-responses",
    codex("codex-agentv/019f03e0-321f-7eb2-83cc-b54ecd71be23.jsonl"),
  ],
  [
    "pi",
    "pi",
    () =>
      lines("pi-mono/large-session.jsonl")
        .filter(({ type }) => type === "message")
        .map(({ message }) => message),
  ],
  ["LangGraph", "langchain", () => langchainLists(json("langchain/langgraph-values-snapshots.json"))],
];

function messagesIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const { messages } = value as { messages?: unknown[] };
  return Array.isArray(messages) ? messages : Object.values(value).flatMap(messagesIn);
}

function langchainLists(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if ((value as { lc?: unknown }).lc === 1) return [value];
  return Object.values(value).flatMap(langchainLists);
}

describe.each(REAL)("a recorded list of %s", (_name, format, load) => {
  const present = existsSync(shared);
  const list = present ? load() : [];
  const codec = codecFor(format);

  it.skipIf(!present)("is long enough to mean something", () => expect(list.length).toBeGreaterThan(3));
  it.skipIf(!present)("is recognised", () => expect(detectFormat(list)).toBe(format));
  it.skipIf(!present)("PRT-6 INT-4 comes back as the caller's own objects", () => {
    expect(checkIdentity(codec, list)).toEqual([]);
  });
  it.skipIf(!present)("has unique and stable ids", () => {
    expect(checkIds(codec, list)).toEqual([]);
    expect(checkSuffixes(codec, list)).toEqual([]);
  });
  it.skipIf(!present)("can have its results cleared", () => {
    expect(checkEditedResults(codec, list.slice(0, 80))).toEqual([]);
  });
  it.skipIf(!present)("pairs its results with its calls", () => {
    expect(orphanResults(codec.decode(list))).toEqual([]);
  });
  it.skipIf(!present)("leaves nothing unread", () => {
    const unread = codec
      .decode(list)
      .flatMap((message) =>
        message.parts.filter((part) => part.type === "text" && /^\{"type":"/.test(part.text)),
      );
    expect(unread).toEqual([]);
  });
  it.skipIf(!present).each(FORMATS)("converts to %s with every call and result", (other) => {
    const messages = codec.decode(list);
    const converted = decode(encode(messages, other), other);
    const pairs = (all: readonly Message[]) =>
      all.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "toolResult" ? [resultText(part)] : [])),
      );
    expect(pairs(converted).toSorted()).toEqual(pairs(messages).toSorted());
  });
});
