import { openaiChatCodec } from "compact-context/internal/codecs/openai-chat";
import type { Codec } from "compact-context/internal/core/ports";
import { describe, expect, it } from "vitest";
import {
  checkEditedResults,
  checkIdentity,
  checkIds,
  checkSuffixes,
  orphanResults,
} from "./codec-contract.ts";
import { generateNativeList } from "./native-lists.ts";

const list = generateNativeList("openai-chat", 4, { turns: 4 });
const broken = (changes: Partial<Codec>): Codec => ({ ...openaiChatCodec, ...changes });

describe("the codec contract", () => {
  it("notices copies, lost entries and foreign formats", () => {
    expect(
      checkIdentity(
        broken({ encode: (messages) => structuredClone(openaiChatCodec.encode(messages)) }),
        list,
      ),
    ).not.toEqual([]);
    expect(
      checkIdentity(broken({ encode: (messages) => openaiChatCodec.encode(messages.slice(1)) }), list),
    ).not.toEqual([]);
    expect(checkIdentity(broken({ format: "pi" }), list)).not.toEqual([]);
    expect(checkIdentity(openaiChatCodec, list)).toEqual([]);
  });

  it("notices ids that repeat, or change with what follows", () => {
    const same = broken({
      decode: (native) => openaiChatCodec.decode(native).map((message) => ({ ...message, id: "x" })),
    });
    expect(checkIds(same, list)).toContain("ids are not unique");
    const counted = broken({
      decode: (native) =>
        openaiChatCodec
          .decode(native)
          .map((message, index) => ({ ...message, id: `${native.length}-${index}` })),
    });
    expect(checkIds(counted, list)).not.toEqual([]);
    expect(checkIds(openaiChatCodec, list)).toEqual([]);
  });

  it("notices a codec that forgets what came before", () => {
    const repeated = [...list, ...list];
    const forgetful = broken({ decode: (native) => openaiChatCodec.decode(native) });
    expect(checkSuffixes(forgetful, repeated)).not.toEqual([]);
    expect(checkSuffixes(openaiChatCodec, repeated)).toEqual([]);
  });

  it("notices edits that are ignored, lose fields or change the original", () => {
    const ignoring = broken({ encode: (messages) => messages.map((message) => message.native) });
    expect(checkEditedResults(ignoring, list)).not.toEqual([]);
    const losing = broken({
      encode: (messages) =>
        openaiChatCodec.encode(messages).map((entry, index) => {
          const { tool_call_id: _lost, ...rest } = entry as Record<string, unknown>;
          return messages[index]?.edited === true ? rest : entry;
        }),
    });
    expect(checkEditedResults(losing, list).join(" ")).toContain("tool_call_id was lost");
    const mutating = broken({
      encode: (messages) =>
        messages.map((message, index) => {
          const written = openaiChatCodec.encode(messages)[index];
          return message.edited === true ? Object.assign(message.native as object, written) : written;
        }),
    });
    expect(checkEditedResults(mutating, structuredClone(list))).toContain("a native was changed in place");
    expect(checkEditedResults(openaiChatCodec, list)).toEqual([]);
  });

  it("names results without a call", () => {
    const messages = openaiChatCodec.decode(list);
    expect(orphanResults(messages)).toEqual([]);
    const results = messages.filter((message) => message.role === "tool");
    expect(orphanResults(results)).toHaveLength(results.length);
  });
});
