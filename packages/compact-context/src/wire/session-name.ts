import { typedText } from "../core/units.ts";
import { sha256Hex } from "../errors.ts";
import { type Json, objectOf, objectsIn, textOf } from "../providers/request.ts";

// Which session a request belongs to, when nobody says so.

/** Headers that name a conversation; the first that is there counts. */
const SESSION_HEADERS = [
  "x-compact-session",
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "thread-id",
  "x-session-id",
  "x-session-affinity",
];
/** Headers that name an agent within a conversation. */
const AGENT_HEADERS = ["x-compact-agent", "x-claude-code-agent-id", "x-agent-id"];
/** Headers that hold the caller's key. */
const KEY_HEADERS = ["x-api-key", "authorization", "x-goog-api-key", "api-key"];
/** Tokens of a login are renewed while a session runs: unlike a key, they do not tell who calls. */
const LOGIN = /^bearer (?:sk-ant-oat|ey)/i;

/**
 * The name of a request's session: who calls (a hash of the key), the conversation that the client names, the agent
 * in it, and a hash of what the user typed first. The first message is always part of it: clients send other calls
 * under the same name (titles, sub-agents), and a list that the client itself has compacted begins anew. The system
 * prompt is no part of it, since it changes within a conversation.
 */
export function sessionName(headers: Headers, body: Json, list: readonly unknown[]): string {
  const key = firstOf(headers, KEY_HEADERS) ?? "";
  const caller = sha256Hex(LOGIN.test(key) ? "" : key).slice(0, 8);
  const named =
    firstOf(headers, SESSION_HEADERS) ??
    (textOf(body.prompt_cache_key) || textOf(objectOf(body.metadata).session_id));
  const agent = firstOf(headers, AGENT_HEADERS) ?? "";
  const root = sha256Hex(firstTyped(list)).slice(0, 12);
  return [caller, plain(named), plain(agent), root].filter((part) => part !== "").join("-");
}

function firstOf(headers: Headers, names: readonly string[]): string | undefined {
  return names.map((name) => headers.get(name)).find((value) => value !== null && value !== "") ?? undefined;
}

/** As much of a name as may stand in a file's name. */
function plain(name: string): string {
  const safe = name.replace(/[^\w.-]+/g, "_");
  return safe.length <= 64 ? safe : sha256Hex(name).slice(0, 16);
}

/** What the user typed first; hosts change what they put around it from call to call. */
function firstTyped(list: readonly unknown[]): string {
  const first = list.map(objectOf).find(({ role }) => role === "user") ?? objectOf(list[0]);
  const { content = first.parts } = first;
  if (typeof content === "string") return typedText(content) || content;
  const words = objectsIn(content).map(({ text }) => textOf(text));
  const typed = words.map((text) => typedText(text)).join("\n");
  if (typed.trim() !== "") return typed;
  return words.join("\n") || JSON.stringify(content ?? first, withoutMarks);
}

function withoutMarks(key: string, value: unknown): unknown {
  return key === "cache_control" ? undefined : value;
}
