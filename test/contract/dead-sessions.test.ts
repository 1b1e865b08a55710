import { describe, expect, it } from "vitest";
import type { Format } from "../../packages/compact-context/src/core/message.ts";
import { type LintOptions, lint, repair } from "../../packages/compact-context/src/lint/index.ts";

// Sessions that a provider refused for good, rebuilt in structure from public issue threads, each with the mend that
// the maintainers chose.

const NONE = "[no result was recorded: the call was interrupted]";

const user = (...content: readonly (object | string)[]) => entry("user", content);
const assistant = (...content: readonly (object | string)[]) => entry("assistant", content);
const entry = (role: string, content: readonly (object | string)[]) => ({
  role,
  content:
    content.length === 1 && typeof content[0] === "string"
      ? content[0]
      : content.map((one) => (typeof one === "string" ? { type: "text", text: one } : one)),
});
const use = (id: string, input: unknown = { path: "src" }) => ({ type: "tool_use", id, name: "list", input });
const result = (id: string, content: unknown = "two files") => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
const none = (id: string) => ({ ...result(id, NONE), is_error: true });
const thinking = (words: string) => ({ type: "thinking", thinking: words, signature: `signed-${words}` });
const mark = { cache_control: { type: "ephemeral" } };

const system = { role: "system", content: "Answer briefly." };
const call = (id: string, args = "{}") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "list", arguments: args } }],
});
const answer = (id: string, content = "two files") => ({ role: "tool", tool_call_id: id, content });

const said = (role: string, text: string) =>
  role === "user"
    ? { type: "message", role, content: text }
    : { type: "message", role, content: [{ type: "output_text", text, annotations: [] }] };
const item = (id: string) => ({ type: "function_call", call_id: id, name: "list", arguments: "{}" });
const output = (id: string, text = "two files") => ({
  type: "function_call_output",
  call_id: id,
  output: text,
});

const turn = (role: string, ...parts: readonly object[]) => ({ role, parts });
const text = (words: string) => ({ text: words });
const ask = (name: string, id?: string) => ({ functionCall: { name, args: {}, ...(id && { id }) } });
const reply = (name: string, id?: string) => ({
  functionResponse: { name, response: { output: "two files" }, ...(id && { id }) },
});
const noReply = (name: string) => ({ functionResponse: { name, response: { error: NONE } } });

/** The head of a PNG of 800 x 600 pixels, or of another width. */
const picture = (width = 800) => {
  const head = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
  const size = [width, 600].map((side) => String.fromCharCode(0, 0, side >> 8, side & 0xff)).join("");
  return {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: btoa(`${head}${size}\x08\x06\0\0\0\0`) },
  };
};
const gone = (why: string) => ({ type: "text", text: `[an image was left out: ${why}]` });
const pictures = (count: number, other?: number) =>
  Array.from({ length: count }, (_, index) => [
    user(picture(index === 1 ? other : 800), `picture ${index}`),
    assistant(`I see ${index}`),
  ]).flat();

interface Dead {
  readonly why: string;
  readonly format: Format;
  readonly list: readonly unknown[];
  readonly rules: readonly string[];
  readonly mended: readonly unknown[];
  readonly options?: LintOptions;
}

const LONG = "gateway-5f0c1d52-77aa-4b1e-9d3b-6a0e8c1f2b4d";

const DEAD: readonly Dead[] = [
  {
    why: "the user broke a call off and went on",
    format: "anthropic",
    list: [
      user("tidy up"),
      assistant("I look.", use("t1")),
      user("never mind"),
      assistant("well"),
      user("so?"),
    ],
    rules: ["generic/dead-call"],
    mended: [
      user("tidy up"),
      assistant("I look.", use("t1")),
      user(none("t1")),
      user("never mind"),
      assistant("well"),
      user("so?"),
    ],
  },
  {
    why: "one of three parallel calls was answered before the user broke in",
    format: "anthropic",
    list: [
      user("a"),
      assistant(use("x"), use("y"), use("z")),
      user(result("y"), "stopped by hand"),
      assistant("b"),
    ],
    rules: ["generic/dead-call", "generic/dead-call"],
    mended: [
      user("a"),
      assistant(use("x"), use("y"), use("z")),
      user(result("y"), none("x"), none("z"), "stopped by hand"),
      assistant("b"),
    ],
  },
  {
    why: "an empty text before a call",
    format: "anthropic",
    list: [user("a"), assistant("", use("x")), user(result("x")), assistant("b"), user("c")],
    rules: ["anthropic/empty-text"],
    mended: [user("a"), assistant(use("x")), user(result("x")), assistant("b"), user("c")],
  },
  {
    why: "a cache mark on an empty text",
    format: "anthropic",
    list: [user("a"), assistant("b"), user("c", { type: "text", text: "", ...mark })],
    rules: ["anthropic/empty-text"],
    mended: [user("a"), assistant("b"), { role: "user", content: [{ type: "text", text: "c" }] }],
  },
  {
    why: "texts of nothing but line breaks",
    format: "anthropic",
    list: [
      user("a"),
      assistant("\n", use("x")),
      user(result("x")),
      assistant({ type: "text", text: "  " }),
      user("c"),
    ],
    rules: ["anthropic/empty-text", "anthropic/empty-text"],
    mended: [user("a"), assistant(use("x")), user(result("x")), user("c")],
  },
  {
    why: "thinking between calls of one message, which interleaved thinking makes: it is sound",
    format: "anthropic",
    list: [
      user("a"),
      assistant(thinking("one"), use("x"), thinking("two"), use("y")),
      user(result("x"), result("y")),
    ],
    rules: [],
    mended: [
      user("a"),
      assistant(thinking("one"), use("x"), thinking("two"), use("y")),
      user(result("x"), result("y")),
    ],
  },
  {
    why: "thinking behind a tool of the provider: it is sound",
    format: "anthropic",
    list: [
      user("search"),
      assistant(
        thinking("one"),
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
        { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
        thinking("two"),
        "found",
        use("x"),
      ),
      user(result("x")),
    ],
    rules: [],
    mended: [
      user("search"),
      assistant(
        thinking("one"),
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
        { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
        thinking("two"),
        "found",
        use("x"),
      ),
      user(result("x")),
    ],
  },
  {
    why: "a summary took the call and left its result",
    format: "openai-chat",
    list: [system, user("summary"), answer("c1"), assistant("well"), user("on")],
    rules: ["generic/orphan-result"],
    mended: [system, user("summary"), assistant("well"), user("on")],
  },
  {
    why: "a summary cut through a batch of results",
    format: "openai-chat",
    list: [system, user("summary"), ...["c4", "c5", "c6", "c7"].map((id) => answer(id))],
    rules: ["c4", "c5", "c6", "c7"].map(() => "generic/orphan-result"),
    mended: [system, user("summary")],
  },
  {
    why: "a call that nobody answered before the next question",
    format: "openai-chat",
    list: [system, user("weather?"), call("c1"), user("and now?")],
    rules: ["generic/dead-call"],
    mended: [system, user("weather?"), call("c1"), answer("c1", NONE), user("and now?")],
  },
  {
    why: "reasoning whose answer was broken off",
    format: "openai-responses",
    list: [
      said("user", "a"),
      said("assistant", "b"),
      said("user", "c"),
      { type: "reasoning", id: "rs_1", summary: [] },
      said("user", "d"),
    ],
    rules: ["items/reasoning-followed"],
    mended: [said("user", "a"), said("assistant", "b"), said("user", "c"), said("user", "d")],
  },
  {
    why: "an output whose call an editor had dropped",
    format: "openai-responses",
    list: [said("user", "a"), output("call_9"), said("user", "b")],
    rules: ["generic/orphan-result"],
    mended: [said("user", "a"), said("user", "b")],
  },
  {
    why: "an output that lost its id",
    format: "openai-responses",
    list: [
      said("user", "a"),
      item("c1"),
      { type: "function_call_output", output: "two files" },
      said("user", "b"),
    ],
    rules: ["generic/result-without-id"],
    mended: [said("user", "a"), item("c1"), output("c1"), said("user", "b")],
  },
  {
    why: "words of a status line between calls and outputs: items are paired by id",
    format: "openai-responses",
    list: [
      said("user", "a"),
      item("c1"),
      item("c2"),
      output("c1"),
      said("assistant", "status"),
      output("c2"),
      said("user", "b"),
    ],
    rules: [],
    mended: [
      said("user", "a"),
      item("c1"),
      item("c2"),
      output("c1"),
      said("assistant", "status"),
      output("c2"),
      said("user", "b"),
    ],
  },
  {
    why: "one response for two calls",
    format: "gemini",
    list: [
      turn("user", text("a")),
      turn("model", ask("read"), ask("grep")),
      turn("user", reply("read")),
      turn("model", text("b")),
      turn("user", text("c")),
    ],
    rules: ["generic/dead-call"],
    mended: [
      turn("user", text("a")),
      turn("model", ask("read"), ask("grep")),
      turn("user", reply("read"), noReply("grep")),
      turn("model", text("b")),
      turn("user", text("c")),
    ],
  },
  {
    why: "a response behind a summary that took its call",
    format: "gemini",
    list: [
      turn("user", text("snapshot")),
      turn("model", text("understood")),
      turn("user", reply("read")),
      turn("model", text("b")),
      turn("user", text("c")),
    ],
    rules: ["generic/orphan-result"],
    mended: [
      turn("user", text("snapshot")),
      turn("model", text("understood")),
      turn("model", text("b")),
      turn("user", text("c")),
    ],
  },
  {
    why: "a call that was cancelled",
    format: "gemini",
    list: [
      turn("user", text("a")),
      turn("model", ask("read")),
      turn("user", text("go on")),
      turn("model", text("b")),
    ],
    rules: ["generic/dead-call"],
    mended: [
      turn("user", text("a")),
      turn("model", ask("read")),
      turn("user", noReply("read")),
      turn("user", text("go on")),
      turn("model", text("b")),
    ],
  },
  {
    why: "responses of one turn in two contents",
    format: "gemini",
    list: [
      turn("user", text("a")),
      turn("model", ask("read", "1"), ask("grep", "2")),
      turn("user", reply("read", "1")),
      turn("user", reply("grep", "2")),
      turn("model", text("b")),
    ],
    rules: ["gemini/responses-match"],
    mended: [
      turn("user", text("a")),
      turn("model", ask("read", "1"), ask("grep", "2")),
      turn("user", reply("read", "1"), reply("grep", "2")),
      turn("model", text("b")),
    ],
  },
  {
    why: "one picture over 2,000 pixels among more than twenty",
    format: "anthropic",
    list: pictures(22, 2_400),
    rules: ["anthropic/image-size"],
    mended: pictures(22).with(2, user(gone("2400 x 600 pixels, 2000 are accepted"), "picture 1")),
  },
  {
    why: "a screenshot of 9,000 pixels",
    format: "anthropic",
    list: [user(picture(9_000), "shot"), assistant("a"), user("b")],
    rules: ["anthropic/image-size"],
    mended: [user(gone("9000 x 600 pixels, 8000 are accepted"), "shot"), assistant("a"), user("b")],
  },
  {
    why: "more than a hundred pictures",
    format: "anthropic",
    list: pictures(105),
    rules: Array.from({ length: 20 }, () => "anthropic/image-count"),
    mended: pictures(105).map((one, index) =>
      index < 40 && index % 2 === 0 ? user(gone("there were too many"), `picture ${index / 2}`) : one,
    ),
  },
  {
    why: "an id with dots and colons of another provider",
    format: "anthropic",
    list: [
      user("a"),
      assistant(use("functions.list:0")),
      user(result("functions.list:0")),
      assistant("b"),
      user("c"),
    ],
    rules: ["generic/refused-id"],
    mended: [
      user("a"),
      assistant(use("functions_list_0")),
      user(result("functions_list_0")),
      assistant("b"),
      user("c"),
    ],
  },
  {
    why: "an id of a gateway with more than 40 characters",
    format: "openai-chat",
    list: [user("a"), call(LONG), answer(LONG), assistant("b"), user("c")],
    rules: ["generic/refused-id"],
    mended: [
      user("a"),
      call("gateway-5f0c1d52-77aa-4b1e-9d3b_HASH"),
      answer("gateway-5f0c1d52-77aa-4b1e-9d3b_HASH"),
      assistant("b"),
      user("c"),
    ],
  },
  {
    why: "ids of calls and reasoning with more than 64 characters",
    format: "openai-responses",
    list: [
      said("user", "a"),
      item("c".repeat(110)),
      output("c".repeat(110)),
      { type: "reasoning", id: `rs_${"e".repeat(300)}`, summary: [] },
      said("assistant", "b"),
      said("user", "c"),
    ],
    rules: ["generic/refused-id", "generic/refused-id"],
    mended: [
      said("user", "a"),
      item(`${"c".repeat(55)}_HASH`),
      output(`${"c".repeat(55)}_HASH`),
      said("assistant", "b"),
      said("user", "c"),
    ],
  },
  {
    why: "words behind a call that nobody answered",
    format: "anthropic",
    list: [user("a"), assistant(thinking("one"), use("x")), assistant("went on"), user("b")],
    rules: ["generic/dead-call"],
    mended: [
      user("a"),
      assistant(thinking("one"), use("x")),
      user(none("x")),
      assistant("went on"),
      user("b"),
    ],
  },
  {
    why: "an id that was used before, on a call without its result",
    format: "anthropic",
    list: [
      user("a"),
      assistant(use("x")),
      user(result("x")),
      assistant("b"),
      user("c"),
      assistant(use("x")),
      user("d"),
    ],
    rules: ["generic/dead-call", "anthropic/unique-call-ids"],
    mended: [
      user("a"),
      assistant(use("x")),
      user(result("x")),
      assistant("b"),
      user("c"),
      assistant(use("x_2")),
      user(none("x_2")),
      user("d"),
    ],
  },
  {
    why: "arguments that were cut off",
    format: "openai-chat",
    list: [user("a"), call("c1", '{"path":"a.txt","wo'), answer("c1", "bad arguments"), user("b")],
    rules: ["generic/arguments-json"],
    mended: [
      user("a"),
      call("c1", JSON.stringify({ INVALID_JSON: '{"path":"a.txt","wo' })),
      answer("c1", "bad arguments"),
      user("b"),
    ],
  },
  {
    why: "an input that is text",
    format: "anthropic",
    list: [user("a"), assistant(use("x", '{"path":"a')), user(result("x")), assistant("b"), user("c")],
    rules: ["generic/input-object"],
    mended: [
      user("a"),
      assistant(use("x", { INVALID_JSON: '{"path":"a' })),
      user(result("x")),
      assistant("b"),
      user("c"),
    ],
  },
  {
    why: "calls of which one lost its reasoning, for DeepSeek",
    format: "openai-chat",
    options: { strict: true },
    list: [user("a"), { ...call("c1"), reasoning_content: "hm" }, answer("c1"), call("c2"), answer("c2")],
    rules: ["openai-chat/reasoning-consistent"],
    mended: [
      user("a"),
      { ...call("c1"), reasoning_content: "hm" },
      answer("c1"),
      { ...call("c2"), reasoning_content: "" },
      answer("c2"),
    ],
  },
  {
    why: "answers that say nothing",
    format: "anthropic",
    list: [user("a"), { role: "assistant", content: [] }, user("hello?"), assistant(""), user("b")],
    rules: ["anthropic/empty-message", "anthropic/empty-message"],
    mended: [user("a"), user("hello?"), user("b")],
  },
  {
    why: "an empty text in a result",
    format: "anthropic",
    list: [
      user("a"),
      assistant(use("x")),
      user(result("x", [{ type: "text", text: "" }])),
      assistant("b"),
      user("c"),
    ],
    rules: ["anthropic/empty-text"],
    mended: [user("a"), assistant(use("x")), user(result("x", [])), assistant("b"), user("c")],
  },
  {
    why: "an answer that ends in whitespace",
    format: "anthropic",
    list: [user("a"), assistant("It is \n")],
    rules: ["anthropic/trailing-whitespace"],
    mended: [user("a"), assistant("It is")],
  },
  {
    why: "a cache mark for each question",
    format: "anthropic",
    list: ["a", "b", "c", "d", "e"].map((words) => user({ type: "text", text: words, ...mark })),
    rules: ["anthropic/cache-marks"],
    mended: ["a", "b", "c", "d", "e"].map((words) =>
      user({ type: "text", text: words, ...(words === "a" ? {} : mark) }),
    ),
  },
  {
    why: "killed while its tool ran",
    format: "anthropic",
    options: { pendingAllowed: false },
    list: [user("run the tests"), assistant("I run them.", use("x"))],
    rules: ["generic/dead-call"],
    mended: [user("run the tests"), assistant("I run them.", use("x")), user(none("x"))],
  },
  {
    why: "a stream of the AI SDK that was aborted while the model reasoned",
    format: "ai-sdk",
    list: [
      user("a"),
      assistant({ type: "reasoning", text: "hm", providerOptions: { openai: { itemId: "rs_1" } } }),
      user("b"),
    ],
    rules: ["ai-sdk/reasoning-followed"],
    mended: [user("a"), user("b")],
  },
];

/** Fingerprints are the library's own business. */
const withoutHash = (list: readonly unknown[]): unknown =>
  JSON.parse(JSON.stringify(list).replaceAll(/(?<=[a-z0-9]{4})_[a-z0-9]{8}(?=")/g, "_HASH"));

describe("a dead session", () => {
  it.each(DEAD)("$why ($format)", ({ format, list, rules, mended, options }) => {
    expect(lint(list, format, options).map(({ rule }) => rule)).toEqual(rules);
    const repaired = repair(list, format, options);
    expect(withoutHash(repaired.messages)).toEqual(JSON.parse(JSON.stringify(mended)));
    expect(lint(repaired.messages, format, options)).toEqual([]);
  });
});
