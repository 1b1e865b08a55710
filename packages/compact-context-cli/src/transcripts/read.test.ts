import { messageText } from "compact-context/internal/core/message";
import { CompactError } from "compact-context/internal/errors";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";
import type { Transcript, WritePorts } from "./transcript.ts";

const PORTS: WritePorts = { newId: () => "new-id", now: () => "2026-01-02T03:04:05.678Z" };

const HEADER = { type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/work" };
const said = (text: string): object => ({
  type: "message",
  timestamp: "2026-01-01T00:00:00.000Z",
  message: { role: "user", content: [{ type: "text", text }], timestamp: 1 },
});
const lines = (...records: unknown[]): string => records.map((one) => `${JSON.stringify(one)}\n`).join("");
const texts = (transcript: Transcript): string[] => transcript.messages.map(messageText);
const rewritten = (transcript: Transcript): string =>
  [...transcript.write({ messages: transcript.messages, tokensBefore: 1 }, PORTS).chunks].join("");

async function failure(
  text: string,
  options: Parameters<typeof readTranscript>[1] = {},
): Promise<CompactError> {
  const error: unknown = await readTranscript(text, options).catch((reason: unknown) => reason);
  if (!CompactError.isInstance(error)) throw new Error("no CompactError", { cause: error });
  return error;
}

describe("reading records", () => {
  it("reports a broken line by its number and reads the rest", async () => {
    const transcript = await readTranscript(
      `${lines(HEADER, said("one"))}{"type":"mess\n\n${lines(said("two"))}`,
    );
    expect(texts(transcript)).toEqual(["one", "two"]);
    expect(transcript.problems).toEqual([{ line: 3, message: "not JSON, left out" }]);
    expect(transcript.leftOut).toEqual({ "broken line": 1 });
  });

  it("reads a file whose first line is broken", async () => {
    const transcript = await readTranscript(`ession","id":"s"}\n${lines(said("one"), said("two"))}`);
    expect(transcript.format).toBe("pi");
    expect(texts(transcript)).toEqual(["one", "two"]);
    expect(transcript.problems.map((problem) => problem.line)).toEqual([1]);
  });

  it("reads both of two records on one line and says so", async () => {
    const transcript = await readTranscript(
      lines(HEADER) + lines(said("one")).trim() + lines(said("two"), said("three")),
    );
    expect(texts(transcript)).toEqual(["one", "two", "three"]);
    expect(transcript.problems).toEqual([{ line: 2, message: "2 records on one line; all were read" }]);
  });

  it("says that the last line is cut off, and only of the last line", async () => {
    const transcript = await readTranscript(
      `${lines(HEADER)}{"broken\n${lines(said("one"))}{"type":"message","mess`,
    );
    expect(texts(transcript)).toEqual(["one"]);
    expect(transcript.problems.map((problem) => problem.message)).toEqual([
      "not JSON, left out",
      "the last line is cut off",
    ]);
  });

  it("reads a list of two lines whose second line is cut off", async () => {
    const transcript = await readTranscript('{"role":"user","content":"one"}\n{"role":"assista');
    expect(texts(transcript)).toEqual(["one"]);
    expect(transcript.problems.map(({ message }) => message)).toEqual(["the last line is cut off"]);
  });

  it("reads far more lines than it looks at to recognise the file", async () => {
    const many = Array.from({ length: 500 }, (_, index) => said(`text ${index}`));
    const text = lines(HEADER, ...many);
    const pieces = async function* (): AsyncGenerator<string> {
      for (let start = 0; start < text.length; start += 37) yield text.slice(start, start + 37);
    };
    expect(texts(await readTranscript(pieces()))).toHaveLength(500);
  });

  it("takes hostile content as it is", async () => {
    const hostile = "NUL \u0000 lone \ud800 line \u2028 paragraph \u2029 escape \u001b[2J";
    const record = `{"type":"message","timestamp":"t","__proto__":{"polluted":1},"message":{"role":"user","content":${JSON.stringify(hostile)},"__proto__":{"polluted":1}}}\n`;
    const transcript = await readTranscript(lines(HEADER) + record + lines({ type: "__proto__", id: "x" }));
    expect(texts(transcript)).toEqual([hostile]);
    expect(Object.keys(transcript.leftOut)).toEqual(["__proto__"]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it("reports values nested thousands of levels deep instead of reading them", async () => {
    const deep = `${'{"a":'.repeat(4000)}1${"}".repeat(4000)}`;
    const call = `{"type":"message","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"x","arguments":${deep}}]}}\n`;
    const transcript = await readTranscript(lines(HEADER) + call + lines(said("after")));
    expect(texts(transcript)).toEqual(["after"]);
    expect(transcript.problems).toEqual([{ line: 2, message: "nests too deep to be read; left out" }]);

    const list = `[{"role":"user","content":"hello"},{"role":"user","content":"x","extra":${deep}}]`;
    const document = await readTranscript(list, { format: "openai-chat" });
    expect(texts(document)).toEqual(["hello"]);
    expect(document.problems[0]?.place).toBe("messages[1]");
  });

  it("reports an entry that its format does not allow and reads the others", async () => {
    const odd = {
      type: "message",
      timestamp: "t",
      message: { role: "assistant", content: [{ type: "toolCall", id: "1", name: 7 }] },
    };
    const transcript = await readTranscript(lines(HEADER, said("one"), odd, said("two")));
    expect(texts(transcript)).toEqual(["one", "two"]);
    expect(transcript.problems).toHaveLength(1);
    expect(transcript.problems[0]?.place).toBe("entries[1]");
    expect(transcript.leftOut).toEqual({ "unreadable message": 1 });
  });

  it("names the file in an error about a text that is nothing known", async () => {
    const error = await failure("once upon a time\n", { name: "tale.txt" });
    expect(error.code).toBe("UnknownFormat");
    expect(error.message).toContain("tale.txt");
    expect(error.hint).toContain("claude-code");
    expect((await failure("")).code).toBe("UnknownFormat");
    expect((await failure("[]\n")).message).toContain("holds an empty list");
    const pi = await failure(lines(HEADER, said("one")), { name: "a.jsonl", format: "anthropic" });
    expect(pi.message).toBe("a.jsonl is a pi file, not anthropic");
    expect((await failure("{}", { format: "nonsense" as never })).code).toBe("UnknownFormat");
  });

  it("says where a document is cut off", async () => {
    const error = await failure('[\n {"role":"user","content":"a"},\n {"role":"as', { name: "cut.json" });
    expect(error.code).toBe("InvalidTranscript");
    expect(error.message).toContain("cut.json is no valid JSON");
  });
});

describe("written text", () => {
  const words = fc
    .array(fc.constantFrom("a", '"', "\\", "\n", "\u0000", "\u2028", "\ud83d", "\ude00", "\u001b", "é"))
    .map((all) => all.join(""));
  const overTheWire = (text: string): string => new TextDecoder().decode(new TextEncoder().encode(text));

  it("brings back any content through bytes, whether appended or in a new file", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(words, { minLength: 1, maxLength: 4 }), words, async (contents, summary) => {
        const chat = await readTranscript(
          JSON.stringify(contents.map((content) => ({ role: "user", content }))),
          { format: "openai-chat" },
        );
        const rewrittenChat = await readTranscript(overTheWire(rewritten(chat)), { format: "openai-chat" });
        expect(texts(rewrittenChat)).toEqual(texts(chat));

        const original = lines(HEADER, ...contents.map(said));
        const pi = await readTranscript(original);
        const session = {
          messages: pi.messages,
          summary,
          tokensBefore: 1,
        };
        const appended = overTheWire(original + [...pi.write(session, PORTS).chunks].join(""));
        const again = await readTranscript(appended);
        expect(again.problems).toEqual([]);
        expect(again.messages[0]?.native).toMatchObject({ role: "compactionSummary", summary });
        expect(texts(again).slice(1)).toEqual(contents);
      }),
      { numRuns: 50 },
    );
  });

  it("keeps what stands around the list, however deep", async () => {
    const deep = `${"[".repeat(4000)}${"]".repeat(4000)}`;
    const text = `{"messages":[{"role":"user","content":"hi"}],"extra":${deep},"__proto__":{"a":1}}`;
    expect(rewritten(await readTranscript(text))).toBe(text);
  });
});

describe("plain lists", () => {
  const chat = [
    { role: "system", content: "be brief" },
    { role: "user", content: "hello" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: "done" },
  ];

  it("are read from one JSON value, a line each, and a request body, and written the same way", async () => {
    const pretty = `${JSON.stringify(chat, undefined, 4)}\n`;
    const body = { model: "gpt-4o", temperature: 0, tools: [{ type: "function" }], messages: chat };
    for (const text of [JSON.stringify(chat), pretty, lines(...chat), JSON.stringify(body)]) {
      const transcript = await readTranscript(text);
      expect(transcript.format).toBe("openai-chat");
      expect(transcript.messages).toHaveLength(4);
      expect(rewritten(transcript)).toBe(text);
    }
    const transcript = await readTranscript(JSON.stringify(body));
    expect(transcript.model).toBe("gpt-4o");
    expect(transcript.tools).toHaveLength(1);
  });

  it.each([
    [
      "anthropic",
      {
        model: "m",
        system: [{ type: "text", text: "be kind" }],
        messages: [{ role: "user", content: "hi" }],
      },
    ],
    ["openai-responses", { model: "m", instructions: "be kind", input: [{ role: "user", content: "hi" }] }],
    [
      "gemini",
      {
        systemInstruction: { parts: [{ text: "be kind" }] },
        contents: [{ role: "user", parts: [{ text: "hi" }] }],
      },
    ],
  ])("%s request bodies keep their system prompt outside the list", async (format, body) => {
    const transcript = await readTranscript(JSON.stringify(body));
    expect(transcript.format).toBe(format);
    expect(transcript.system).toBe("be kind");
    expect(texts(transcript)).toEqual(["hi"]);
    expect(rewritten(transcript)).toBe(JSON.stringify(body));
  });

  it("are read from a single line as from several", async () => {
    const blocks = { role: "user", content: [{ type: "text", text: "hi there" }] };
    for (const text of [
      lines({ role: "user", content: "hi there" }),
      lines(blocks),
      JSON.stringify(blocks),
    ]) {
      expect(texts(await readTranscript(text))).toEqual(["hi there"]);
      expect(texts(await readTranscript(text, { format: "openai-chat" }))).toEqual(["hi there"]);
    }
    await expect(readTranscript(lines({ a: 1 }))).rejects.toMatchObject({ code: "UnknownFormat" });
  });

  it("can be named when they are not recognised", async () => {
    const transcript = await readTranscript(JSON.stringify([{ role: "user", content: "hi" }]), {
      format: "anthropic",
    });
    expect(transcript.list).toBe("anthropic");
    expect(
      (
        await readTranscript(lines({ role: "user", content: "a" }, { role: "user", content: "b" }), {
          format: "anthropic",
        })
      ).messages,
    ).toHaveLength(2);
  });
});
