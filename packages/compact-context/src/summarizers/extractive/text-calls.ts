import { type Message, messageText, type ToolCallPart } from "../../core/message.ts";
import type { Steps } from "../../errors.ts";
import { oneLine } from "./text.ts";
import { readSaid } from "./typed.ts";

// Calls inside message text: models write them if their host provides no tools, and people type them.

/**
 * Calls that a model writes into its text where its host gives it no tools:
 * `<function=name><parameter=key>value</parameter></function>` (OpenHands, SWE-agent, Qwen),
 * `<invoke name="name"><parameter name="key">value</parameter></invoke>` (Claude), and
 * `<read_file><path>value</path></read_file>` (Cline, Roo).
 */
export interface TextCalls {
  readonly calls: readonly ToolCallPart[];
  /** The text without the calls. */
  readonly said: string;
}

const OWN =
  "execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_files|list_files|list_code_definition_names|browser_action|use_mcp_tool|attempt_completion";
/** It begins a line: within one it is spoken of. */
const OPENING = new RegExp(
  `^[ \\t]{0,8}<(?:(function)=([\\w.-]{1,64})|(invoke) name="([\\w.-]{1,64})"|(${OWN}))>`,
  "gm",
);
const FIELD = /<(?:(parameter)(?:=([\w.-]{1,64})|\sname="([\w.-]{1,64})")|([a-z]\w{1,40}))>/g;
const PREFIX = /(?<=<\/?)\w{1,10}:(?=(?:invoke|parameter|function_calls)\b)/g;
const FRAME = /^[ \t]{0,8}<\/?function_calls>[ \t]*$/gm;

/** Reads the calls in an assistant's text; their ids are made of the message's own. */
export function readTextCalls(written: string, id: string): TextCalls {
  if (!written.includes("</")) return { calls: [], said: written };
  const text = written.replace(PREFIX, "");
  const calls: ToolCallPart[] = [];
  const said: string[] = [];
  const end = eachElement(text, OPENING, (name, inside, before) => {
    const fields = fieldsIn(inside);
    said.push(before);
    if (name === "attempt_completion") said.push(`\n${fields.result ?? ""}`);
    else calls.push({ type: "toolCall", id: `${id}#${calls.length}`, name, arguments: fields });
  });
  if (end === 0) return { calls, said: written };
  said.push(text.slice(end));
  return { calls, said: said.join("").replace(FRAME, "").trim() };
}

function fieldsIn(text: string): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  eachElement(text, FIELD, (name, inside) => fields.set(name, inside.replace(/^\n|\n$/g, "")));
  return Object.fromEntries(fields);
}

/** Visits the closed elements, with the text before each; returns the end of the last. */
function eachElement(
  text: string,
  opening: RegExp,
  visit: (name: string, inside: string, before: string) => void,
): number {
  let from = 0;
  for (const match of text.matchAll(opening)) {
    const [tag, ...names] = match;
    const [element = "", name = element] = names.filter((part) => part !== undefined);
    const closing = `</${element}>`;
    const end = match.index < from ? -1 : text.indexOf(closing, match.index);
    if (end === -1) continue;
    visit(name, text.slice(match.index + tag.length, end), text.slice(from, match.index));
    from = end + closing.length;
  }
  return from;
}

const RESULT =
  /^\s*(?:EXECUTION RESULT of \[[^\]\n]{1,64}\]:|OBSERVATION:|\[[\w-]{1,60}[^\]\n]{0,200}\] Result:)\s*/;

/** A host's answer to such a call, sent as a user message; undefined for a person's own words. */
export function textResult(message: Message | undefined): string | undefined {
  if (message?.role !== "user") return undefined;
  const text = messageText(message);
  const opening = RESULT.exec(text)?.[0];
  return opening === undefined ? undefined : text.slice(opening.length);
}

// ---- commands whose output is the next message

/** `/run npm test`, `/test npm test`, `/git diff` and `!npm test` of aider. */
const RUN = /^\s{0,8}(?:\/(?:run|test)\s{1,9}|(?=\/git\s)\/|!)(\S[^\n]{0,2000})$/;
/** What aider asks behind an output. */
const SHARES = /^\s{0,8}(?:>\s)?Add (?:the|[\d.,]{1,9}k tokens of(?: command)?) output to the chat\?/;
/** How it hands one to the model. */
const RAN = /^I ran this command:\s{1,9}(\S[^\n]{0,2000})\n\s{0,9}\n?And got this output:\n([\s\S]*)/;
/** A command of mini-swe-agent's, which sends its output as the next message of the user. */
const BLOCK = "```mswea_bash_command\n";
const BLOCK_END = "\n```";
/** How such an output begins. */
const PRINTED = /^\s*<(?:returncode|exception)>/;
/** An output may be read as so many messages, by turns of both sides. */
const MOST_PARTS = 40;

/**
 * Commands that stand in the chat, with their output, by the message that has them, and the messages that are
 * nothing but output.
 */
export interface TypedRuns {
  readonly runs: ReadonlyMap<number, TypedRun>;
  readonly outputs: ReadonlySet<number>;
  /** What people typed, by message; that of an output is left out. */
  readonly said: ReadonlyMap<number, string>;
}

interface TypedRun {
  readonly call: ToolCallPart;
  readonly output: string;
  /** What is no words of the message; "" where it has none. */
  readonly written: string;
}

export function* readTypedRuns(messages: readonly Message[]): Steps<TypedRuns> {
  const runs = new Map<number, TypedRun>();
  const outputs = new Set<number>();
  const said = new Map<number, string>();
  const add = (index: number, command: string, printed: Printed, written = ""): void => {
    const id = `${messages[index]?.id}#0`;
    const call = { type: "toolCall", id, name: "bash", arguments: { command } } as const;
    runs.set(index, { call, output: printed.text, written });
    for (const at of printed.at) outputs.add(at);
  };
  const read = (message: Message, index: number): void => {
    const next = messages[index + 1];
    const written = blockOf(message, next);
    if (next !== undefined && written !== "") {
      const command = written.slice(BLOCK.length, -BLOCK_END.length);
      add(index, command, { text: messageText(next), at: [index + 1] }, written);
    }
    if (message.role !== "user" || outputs.has(index)) return;
    const [, handed, output = ""] = RAN.exec(messageText(message)) ?? [];
    const own = readSaid(message);
    said.set(index, own);
    const command = handed ?? RUN.exec(own)?.[1];
    if (command === undefined) return;
    const printed = handed === undefined ? printedBehind(messages, index + 1) : { text: output, at: [index] };
    if (printed === undefined) return;
    add(index, command, printed);
  };
  for (const [index, message] of messages.entries()) {
    read(message, index);
    yield;
  }
  return { runs, outputs, said };
}

/** The block in a message with the command whose output is the next message; "" if there is none. */
function blockOf(message: Message, next: Message | undefined): string {
  if (message.role !== "assistant" || next?.role !== "user" || !PRINTED.test(messageText(next))) return "";
  const text = messageText(message);
  const from = text.indexOf(BLOCK);
  const end = from < 0 ? -1 : text.indexOf(BLOCK_END, from + BLOCK.length);
  return end < 0 ? "" : text.slice(from, end + BLOCK_END.length);
}

/** An output, and the messages that have it. */
interface Printed {
  readonly text: string;
  readonly at: readonly number[];
}

/**
 * The output between a command and the question after it, and its position; undefined if there is no
 * question.
 */
function printedBehind(messages: readonly Message[], from: number): Printed | undefined {
  const behind = messages.slice(from, from + MOST_PARTS);
  const end = behind.findIndex((message) => SHARES.test(messageText(message)));
  const parts = behind.slice(0, end);
  if (end < 1 || parts.some((part) => RUN.test(readSaid(part)))) return undefined;
  const text = parts.map(messageText).join("\n");
  // If the person agrees, the output is repeated there.
  const again = behind[end + 2];
  const isAgain = again?.role === "user" && beginning(messageText(again)) === beginning(text);
  return { text, at: [...parts.keys(), ...(isAgain ? [end + 2] : [])].map((at) => from + at) };
}

function beginning(text: string): string {
  return oneLine(text.slice(0, 400)).slice(0, 60);
}
