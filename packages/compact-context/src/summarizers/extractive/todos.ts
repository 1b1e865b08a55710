import { argumentsValue } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import type { Call, Conversation } from "./conversation.ts";
import { clipEnd, oneLine } from "./text.ts";

export interface Todo {
  readonly text: string;
  /** As the tool names it, such as `in_progress`; empty when it names none. */
  readonly status: string;
}

const FINISHED = /^(?:completed?|done|finished|cancell?ed|deleted|closed|skipped)$/i;
const TOOL = /todo|plan|task/i;
const TEXT_KEYS = ["content", "step", "subject", "title", "description", "task", "text"];
const CREATED = /#(\w{1,20})/;
const LONGEST = 200;

/**
 * The open items of the newest task list; undefined when the conversation has none.
 * Reads whole lists (TodoWrite, update_plan) and single steps (TaskCreate, TaskUpdate); a newer list replaces all before it.
 */
export function openTodos(conversation: Conversation): Todo[] | undefined {
  let items: Map<string, Todo> | undefined;
  for (const call of conversation.calls) {
    if (!TOOL.test(call.part.name)) continue;
    const list = listOf(argumentsValue(call.part));
    if (list !== undefined) items = new Map(list.map((todo, index) => [`list:${index}`, todo]));
    else items = applyStep(items, call);
  }
  return items === undefined ? undefined : [...items.values()].filter((todo) => !FINISHED.test(todo.status));
}

function listOf(value: unknown): Todo[] | undefined {
  if (!isObject(value)) return undefined;
  for (const entry of Object.values(value)) {
    const list = typeof entry === "string" && entry.startsWith("[") ? parsed(entry) : entry;
    if (!Array.isArray(list)) continue;
    const todos = (list as unknown[]).map(todoOf);
    if (todos.every((todo) => todo !== undefined)) return todos;
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function todoOf(value: unknown): Todo | undefined {
  if (!isObject(value) || typeof value.status !== "string") return undefined;
  const text = textOf(value);
  return text === undefined ? undefined : { text, status: value.status };
}

function textOf(value: Record<string, unknown>): string | undefined {
  for (const key of TEXT_KEYS) {
    const text = value[key];
    if (typeof text === "string" && text.trim() !== "") return clipEnd(oneLine(text), LONGEST);
  }
  return undefined;
}

function applyStep(items: Map<string, Todo> | undefined, call: Call): Map<string, Todo> | undefined {
  const value = argumentsValue(call.part);
  if (!isObject(value)) return items;
  const id = value.taskId ?? value.task_id;
  const status = typeof value.status === "string" ? value.status : undefined;
  if (typeof id === "string" || typeof id === "number") return updateStep(items, String(id), status);
  const text = typeof value.subject === "string" ? textOf(value) : undefined;
  const created = CREATED.exec(call.result?.text.slice(0, 300) ?? "")?.[1];
  if (text === undefined || created === undefined) return items;
  return (items ?? new Map<string, Todo>()).set(created, { text, status: status ?? "pending" });
}

function updateStep(
  items: Map<string, Todo> | undefined,
  id: string,
  status: string | undefined,
): Map<string, Todo> | undefined {
  const known = items?.get(id);
  if (items === undefined || known === undefined || status === undefined) return items;
  return items.set(id, { text: known.text, status });
}
