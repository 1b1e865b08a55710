import { type Message, toolCalls } from "../../core/message.ts";
import { asData } from "../../summarizers/llm/prompts.ts";
import { itemsOf, type MemoryDocument } from "../changes/document.ts";
import type { MemoryOperation, MemoryOrigin } from "../changes/operation.ts";
import { founded, RULES_OF_RECORDS, recordsText, textsOf } from "../session-update/by-model.ts";
import { isFirmRule } from "../session-update/statements.ts";
import type { SidecarTask } from "../sidecar/task.ts";
import type { Consolidation } from "./by-program.ts";
import { isTransient } from "./durable.ts";
import { entryOf } from "./history-entry.ts";

/** What is asked about. */
export interface ConsolidationInput {
  readonly messages: readonly Message[];
  readonly memory: MemoryDocument;
  /** The text of SESSION.md: what is in it is kept already, for as long as the work goes on. */
  readonly session: string;
  readonly at: number;
}

const SYSTEM = `You keep the long-term memory of a channel in which a user works with an AI agent. Records of a conversation are about to leave; you decide what of them should still be known in a month.

${RULES_OF_RECORDS}

Keep little: lasting rules and preferences of the user, decisions with their reasons, facts about people, systems and places that later work needs. Never keep the state of a task, a single bug, a test result, or anything that holds for today: that is kept elsewhere. One statement is one sentence that is understood alone, with absolute dates.

The object has these fields; each may be left out:
- "add": list of {"section": "Constraints" | "Decisions" | "Facts", "text", "record": the number of the record that says it}. Constraints come from user records alone.
- "supersede": list of {"id": of an item of the memory that is out of date, "text": what holds now, "record"}.
- "invalidate": list of {"id": of an item that is no longer true, "why", "record"}.
- "history": {"title": at most 80 characters, "lines": at most 8 sentences, what was done and how it ended, oldest first}. No transcript.`;

const MOST_SESSION = 4_000;
const MOST_MEMORY = 8_000;
const MOST_OPERATIONS = 12;
const MOST_LINES = 8;

/** The request to decide what of messages is kept. */
export function consolidationTask(input: ConsolidationInput): SidecarTask<Consolidation> {
  const memory = itemsOf(input.memory).map(({ id, text }) => `${id}: ${text}`);
  return {
    name: "consolidation",
    systemPrompt: SYSTEM,
    prompt: [
      `The time is ${new Date(input.at).toISOString().slice(0, 16)}Z.`,
      `<memory>\n${asData(memory.join("\n")).slice(0, MOST_MEMORY)}\n</memory>`,
      `<notes_so_far>\n${asData(input.session).slice(0, MOST_SESSION)}\n</notes_so_far>`,
      `<records>\n${recordsText(input.messages)}\n</records>`,
      "Decide what of these records is kept.",
    ].join("\n\n"),
    shape: "object",
    parse: (text) => readConsolidation(JSON.parse(text) as Fields, input),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function readConsolidation(value: Fields, input: ConsolidationInput): Consolidation {
  const known = ["add", "supersede", "invalidate", "history"];
  if (!known.some((field) => field in value))
    throw new Error(`it has none of the fields ${known.join(", ")}`);
  const isFounded = founded(
    input.messages,
    itemsOf(input.memory)
      .map(({ text }) => text)
      .join("\n"),
  );
  const ids = new Set(itemsOf(input.memory).map(({ id }) => id));
  const about = (entry: Fields): string[] => {
    const id = String(entry.id ?? "");
    return ids.has(id) ? [id] : [];
  };
  const operations: MemoryOperation[] = [
    ...entriesOf(value.add, "add").flatMap((entry) => addition(entry, input.messages)),
    ...entriesOf(value.supersede, "supersede").flatMap((entry) =>
      about(entry).flatMap((target) => {
        const origin = originOf(entry.record, input.messages);
        const text = textIn(entry);
        // What a tool said does not take the place of anything that was known.
        return origin === undefined || origin.trust === "tool" || text === ""
          ? []
          : [{ op: "supersede", target, text, ...origin } as const];
      }),
    ),
    ...entriesOf(value.invalidate, "invalidate").flatMap((entry) => {
      const origin = originOf(entry.record, input.messages);
      const why = typeof entry.why === "string" ? entry.why : "it no longer holds";
      return origin === undefined || origin.trust === "tool"
        ? []
        : about(entry).map((target) => ({ op: "invalidate", target, why }) as const);
    }),
  ];
  const isKept = (operation: MemoryOperation): boolean => !("text" in operation) || isFounded(operation.text);
  return {
    operations: operations.filter(isKept).slice(0, MOST_OPERATIONS),
    history: historyIn(value.history, input, isFounded),
  };
}

function addition(entry: Fields, messages: readonly Message[]): MemoryOperation[] {
  const text = textIn(entry);
  const origin = originOf(entry.record, messages);
  if (text === "" || origin === undefined || isTransient(text)) return [];
  if (origin.trust === "tool") {
    // Words of a tool that ask for something are nobody's wish: they are kept as what was said, never as a rule.
    const said = isFirmRule(text)
      ? `"${text.replaceAll('"', "'")}" stands in what ${origin.source ?? "a tool"} gave`
      : text;
    return [{ op: "add", section: "Facts", text: said, ...origin }];
  }
  const section =
    entry.section === "Constraints" && origin.trust !== "person" ? "Facts" : sectionOf(entry.section);
  return [{ op: "add", section, text, ...origin }];
}

function sectionOf(value: unknown): string {
  return value === "Constraints" || value === "Decisions" ? value : "Facts";
}

/** Whose words a record holds; undefined for a number that is none, since nobody said it then. */
function originOf(record: unknown, messages: readonly Message[]): MemoryOrigin | undefined {
  const number = Number(typeof record === "string" ? record.replace(/\D+/g, "") : record);
  const message = messages[number - 1];
  if (message === undefined) return undefined;
  const result = message.parts.find(({ type }) => type === "toolResult");
  if (result?.type === "toolResult") {
    const call = messages.flatMap(toolCalls).find(({ id }) => id === result.id);
    return { trust: "tool", source: result.name ?? call?.name ?? "tool" };
  }
  if (message.role === "tool") return { trust: "tool", source: "tool" };
  return message.role === "user" && message.meta?.synthetic !== true
    ? { trust: "person" }
    : { trust: "agent" };
}

function entriesOf(value: unknown, field: string): Fields[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${field} must be a list`);
  return value.map((entry: unknown) => {
    if (typeof entry !== "object" || entry === null) throw new Error(`${field} must be a list of objects`);
    return entry as Fields;
  });
}

function textIn({ text }: Fields): string {
  return typeof text === "string" ? text.trim() : "";
}

function historyIn(
  value: unknown,
  { at }: ConsolidationInput,
  isFounded: (statement: string) => boolean,
): Consolidation["history"] {
  if (typeof value !== "object" || value === null) return undefined;
  const { title, lines } = value as Fields;
  const kept = textsOf(lines ?? [], "history.lines")
    .filter(isFounded)
    .slice(0, MOST_LINES);
  if (kept.length === 0) return undefined;
  return entryOf(typeof title === "string" && title !== "" ? title : (kept[0] ?? ""), kept, at);
}
