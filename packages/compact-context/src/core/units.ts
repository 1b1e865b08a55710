import { isObject, runAtOnce, type Steps } from "../errors.ts";
import {
  carriesCompaction,
  type Format,
  type Message,
  messageText,
  type ToolCallPart,
  toolCalls,
  toolResults,
} from "./message.ts";

// ---- units: what is kept or removed together

/**
 * What is kept or removed together: one plain message, or an exchange (calls, their results and the reasoning
 * bound to them).
 */
export interface Unit {
  readonly kind: "message" | "exchange";
  /**
   * Indexes in the list, ascending; not always contiguous (a user message can come in while a call is open).
   */
  readonly indexes: readonly number[];
  /** Number of calls that the host answers; each call of a parallel batch counts. */
  readonly calls: number;
  /**
   * Number of calls without a result, plus a tool at the end of the list that the provider was approved to
   * call.
   */
  readonly open: number;
}

interface DraftUnit {
  indexes: number[];
  calls: number;
  /** Ids without a result; undefined for most units. */
  open: Set<string> | undefined;
  hasReasoning: boolean;
  /** The unit that this one was merged into. */
  mergedInto?: DraftUnit;
}

function resolve(unit: DraftUnit): DraftUnit {
  let current = unit;
  while (current.mergedInto !== undefined) current = current.mergedInto;
  return current;
}

function opens(unit: DraftUnit, id: string): void {
  unit.open ??= new Set();
  unit.open.add(id);
}

function merge(one: DraftUnit, another: DraftUnit): DraftUnit {
  if (one === another) return one;
  // Merge the smaller into the larger: n log n for results that join many exchanges.
  const [into, other] = one.indexes.length < another.indexes.length ? [another, one] : [one, another];
  for (const index of other.indexes) into.indexes.push(index);
  into.calls += other.calls;
  for (const id of other.open ?? []) opens(into, id);
  into.hasReasoning ||= other.hasReasoning;
  other.mergedInto = into;
  return into;
}

interface Grouping {
  readonly units: DraftUnit[];
  /** The unit of the latest call, or approval, by id. */
  readonly calls: Map<string, DraftUnit>;
  /** The unit of the assistant messages directly before the current one. */
  run: DraftUnit | undefined;
}

/** A response with several entries (reasoning, text, parallel calls) is one unit. */
function unitFor(grouping: Grouping, message: Message, hasCalls: boolean): DraftUnit {
  const run = grouping.run === undefined ? undefined : resolve(grouping.run);
  const alone = message.meta?.summaryVersion !== undefined || carriesCompaction(message);
  const calling = (run?.open?.size ?? 0) > 0 && (hasCalls || isItemFormat(message.format));
  const joins = !alone && run !== undefined && (run.hasReasoning || calling);
  if (message.role === "assistant" && joins) return run;
  const unit: DraftUnit = { indexes: [], calls: 0, open: undefined, hasReasoning: false };
  grouping.units.push(unit);
  return unit;
}

/** Adds a result to the unit of its call; a result without a call keeps its own unit. */
function answer(grouping: Grouping, id: string, unit: DraftUnit): DraftUnit {
  const owner = grouping.calls.get(id);
  if (owner === undefined) return unit;
  const target = merge(resolve(owner), resolve(unit));
  target.open?.delete(id);
  return target;
}

/** Calls that the host answers. */
export function clientCalls(message: Message): ToolCallPart[] {
  return toolCalls(message).filter((call) => call.providerExecuted !== true);
}

function add(grouping: Grouping, message: Message, index: number): void {
  const calls = clientCalls(message);
  const approvals = approvalsOf(message);
  const asks = calls.length > 0 || approvals.asked.length > 0;
  let unit = unitFor(grouping, message, asks);
  unit.indexes.push(index);
  unit.calls += calls.length;
  unit.hasReasoning ||= bindsNext(message);
  for (const call of calls) opens(unit, call.id);
  for (const call of toolCalls(message)) grouping.calls.set(call.id, unit);
  for (const result of toolResults(message)) unit = answer(grouping, result.id, unit);
  unit = addApprovals(grouping, message, unit, approvals);
  grouping.run = message.role === "assistant" ? unit : undefined;
}

/**
 * True for a message with reasoning, or one that consisted only of since-removed reasoning: the next message
 * belongs to its unit.
 */
function bindsNext(message: Message): boolean {
  if (message.edited === true && message.parts.length === 0) return true;
  const free = carriesCompaction(message) ? 1 : 0;
  return message.parts.some((part, position) => part.type === "reasoning" && position >= free);
}

/** An approval request keeps its unit open until the answer arrives. */
function addApprovals(
  grouping: Grouping,
  message: Message,
  unit: DraftUnit,
  { asked, answered }: Approvals,
): DraftUnit {
  for (const id of asked) {
    // The provider executes hosted tools: only the approval waits for the host.
    if (message.format !== "ai-sdk") unit.calls += 1;
    opens(unit, `approval ${id}`);
    grouping.calls.set(`approval ${id}`, unit);
  }
  return answered.reduce((joined, id) => answer(grouping, `approval ${id}`, joined), unit);
}

/**
 * The units of a list in order of their first message; every index is in exactly one unit. Results find their
 * call by id at any distance; a result without a call is a separate unit.
 */
export function groupUnits(messages: readonly Message[]): Unit[] {
  return runAtOnce(groupInSteps(messages));
}

/** Messages grouped per step. */
const STEP_MESSAGES = 4096;

export function* groupInSteps(messages: readonly Message[]): Steps<Unit[]> {
  const grouping: Grouping = { units: [], calls: new Map(), run: undefined };
  for (const [index, message] of messages.entries()) {
    add(grouping, message, index);
    if (index % STEP_MESSAGES === STEP_MESSAGES - 1) yield;
  }
  const last = messages.at(-1);
  const waits = last !== undefined && grantsCall(last) ? messages.length - 1 : -1;
  return grouping.units
    .filter((unit) => unit.mergedInto === undefined)
    .map(
      (unit): Unit => ({
        kind: unit.calls > 0 ? "exchange" : "message",
        indexes: unit.indexes.length === 1 ? unit.indexes : unit.indexes.toSorted((a, b) => a - b),
        calls: unit.calls,
        open: (unit.open?.size ?? 0) + (unit.indexes.includes(waits) ? 1 : 0),
      }),
    )
    .toSorted((a, b) => (a.indexes[0] ?? 0) - (b.indexes[0] ?? 0));
}

/** True for an exchange at the end of the list that still waits for results. */
export function isUnderWay(unit: Unit, last: number): boolean {
  return unit.open > 0 && unit.indexes.includes(last);
}

// ---- approvals

export interface Approvals {
  readonly asked: readonly string[];
  readonly answered: readonly string[];
}

const NO_APPROVALS: Approvals = { asked: [], answered: [] };

/**
 * Approvals in the native entry: AI SDK blocks, hosted MCP tool items. A provider rejects the answer without
 * the request, so both are kept or dropped together.
 */
export function approvalsOf({ native, format }: Message): Approvals {
  if (!isObject(native)) return NO_APPROVALS;
  if (format === "ai-sdk") {
    const blocks = Array.isArray(native.content) ? native.content.filter(isObject) : [];
    const ids = (type: string): string[] =>
      blocks.flatMap((block) => (block.type === type ? idOf(block.approvalId) : []));
    return { asked: ids("tool-approval-request"), answered: ids("tool-approval-response") };
  }
  if (!isItemFormat(format)) return NO_APPROVALS;
  const item = wireItem(native);
  if (item.type === "mcp_approval_request") return { asked: idOf(item.id), answered: [] };
  return { asked: [], answered: idOf(item.approval_request_id) };
}

/** True for a granted approval of a hosted tool: the provider calls the tool next and needs the request. */
export function grantsCall({ native, format }: Message): boolean {
  if (!isObject(native) || !isItemFormat(format)) return false;
  const item = wireItem(native);
  return item.type === "mcp_approval_response" && item.approve === true;
}

/** The Agents SDK keeps wire fields in `providerData`. */
function wireItem(native: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isObject(native.providerData) ? { ...native, ...native.providerData } : native;
}

/** True for formats that split one response into several entries. */
export function isItemFormat(format: Format | undefined): boolean {
  return format === "openai-responses" || format === "openai-agents";
}

function idOf(value: unknown): string[] {
  return typeof value === "string" && value !== "" ? [value] : [];
}

// ---- turns

/** True for a user's message, as opposed to one from a tool, a program or a summary. */
export function isUserSpeech(message: Message): boolean {
  if (message.role !== "user" || message.meta?.synthetic === true) return false;
  if (message.meta?.summaryVersion !== undefined) return false;
  return message.parts.some((part) => part.type === "text" || part.type === "media");
}

/**
 * Start index of each turn, ascending. A turn is a user message and everything that answers it; consecutive
 * user messages start one turn, and a result that includes user text stays in the turn of its call.
 */
export function turnStarts(messages: readonly Message[]): number[] {
  const starts: number[] = [];
  let answered = true;
  messages.forEach((message, index) => {
    const carriesResults = message.parts.some((part) => part.type === "toolResult");
    if (isUserSpeech(message) && !carriesResults) {
      if (answered) starts.push(index);
      answered = false;
    } else if (message.role === "assistant" || message.role === "tool") {
      answered = true;
    }
  });
  return starts;
}

// ---- what the user typed

const BLOCK_OPENING =
  /^\s{0,24}<((?:system|environment|session|command|local-command|bash|ide|turn|runtime|task|hook|skill|permissions|user-prompt-submit|workspace|editor|attached|additional|open)[-_][a-z_-]{1,40}|(?:file|folder|url)_content|user_instructions|INSTRUCTIONS|skill|current_datetime)(?:\s[^>\n]*)?>/i;
const INJECTED_LINE =
  /^\s{0,8}(?:\[Request interrupted by user|Caveat: The messages below were generated|# AGENTS\.md instructions for |If you need specific details from before exiting plan mode )/;

/**
 * What the user typed in a user message, without blocks injected by agent hosts (`<system-reminder>`,
 * `<environment_context>`, `<file_content>` …) and their notices; an unclosed block is kept.
 */
export function typedText(text: string): string {
  const typed = textSegments(text).filter((segment) => segment.typed);
  return typed
    .map((segment) => segment.text)
    .join("\n")
    .trim();
}

/**
 * The text in order, split into what the user typed and what a host added; `opening` matches the names of
 * host blocks.
 */
export function textSegments(
  text: string,
  opening: RegExp = BLOCK_OPENING,
): { readonly text: string; readonly typed: boolean }[] {
  if (!/<|\[Request|^\s{0,8}If you need specific/m.test(text)) return [{ text, typed: true }];
  const found: { typed: boolean; pieces: string[] }[] = [];
  const add = (typed: boolean, piece: string): void => {
    const last = found.at(-1);
    if (last?.typed === typed) last.pieces.push(piece);
    else found.push({ typed, pieces: [piece] });
  };
  const unclosed = new Set<string>();
  let at = 0;
  while (at < text.length) {
    const end = blockEnd(text, at, opening, unclosed);
    const piece = end === undefined ? lineAt(text, at) : text.slice(at, end);
    add(end === undefined && !INJECTED_LINE.test(piece), piece);
    at = end ?? at + piece.length + 1;
  }
  return found.map(({ typed, pieces }) => ({ typed, text: pieces.join("\n") }));
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at);
  return text.slice(at, end < 0 ? text.length : end);
}

function blockEnd(text: string, at: number, opening: RegExp, unclosed: Set<string>): number | undefined {
  const name = opening.exec(text.slice(at, at + 500))?.[1];
  // Codex writes `<INSTRUCTIONS>`; in small letters, people do.
  if (name === undefined || name === "instructions" || unclosed.has(name)) return undefined;
  const closing = `</${name}>`;
  const end = text.indexOf(closing, at);
  if (end >= 0) return end + closing.length;
  // The rest of the text is searched only once per name.
  unclosed.add(name);
  return undefined;
}

/**
 * Index of the latest message in which the user typed or attached something; if all user messages come from
 * hosts (reminders, notices), the latest of them. -1 without user messages.
 */
export function latestUserMessage(messages: readonly Message[]): number {
  const typed = messages.findLastIndex((message) => isUserSpeech(message) && isTyped(message));
  return typed === -1 ? messages.findLastIndex(isUserSpeech) : typed;
}

function isTyped(message: Message): boolean {
  return message.parts.some(({ type }) => type === "media") || typedText(messageText(message)) !== "";
}

/**
 * How hosts start a message with project instructions or a skill: Codex (`# AGENTS.md`, `<skill>`), Claude
 * Code.
 */
const INSTRUCTIONS =
  /^\s*(?:# AGENTS\.md instructions for [^\n]*\n\s*<INSTRUCTIONS>|<user_instructions>|<system-reminder>\n[^\n]*\n# claudeMd\n|(<skill>)\n<name>)/;
/** The maximum that Codex reads of AGENTS.md by default; longer texts are documents. */
const MAX_INSTRUCTIONS_LENGTH = 32_768;

/** True for a user message that a host added with project instructions or a skill, without typed text. */
export function isProjectInstructions(message: Message): boolean {
  const [first] = message.parts;
  if (message.role !== "user" || first?.type !== "text") return false;
  const opening = INSTRUCTIONS.exec(first.text.slice(0, 2_000));
  if (opening === null || message.parts.some(({ type }) => type !== "text")) return false;
  const text = messageText(message);
  const isSkill = opening[1] !== undefined;
  const isAlone = isSkill ? text.trimEnd().endsWith("</skill>") : typedText(text) === "";
  return isAlone && text.length <= MAX_INSTRUCTIONS_LENGTH;
}

/** A piece of a text; the concatenated pieces are the text. */
interface TextPiece {
  readonly text: string;
  /** False for text added by a host and for text between code fences. */
  readonly own: boolean;
}

/** Splits a text into the user's own words and injected or pasted text. */
export function splitOwnWords(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let at = 0;
  for (const segment of textSegments(text)) {
    if (segment.typed) continue;
    const from = text.indexOf(segment.text, at);
    if (from === -1) break;
    pieces.push(...splitFences(text.slice(at, from)), { text: segment.text, own: false });
    at = from + segment.text.length;
  }
  return [...pieces, ...splitFences(text.slice(at))];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Splits off text between fences, without the fences; behind an unclosed fence, nothing is split. */
function splitFences(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let open: { readonly mark: string; readonly inside: number } | undefined;
  let said = 0;
  let at = 0;
  // Line by line: a pattern would search the rest of the text anew for each fence that is never closed.
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const next = newline === -1 ? text.length : newline + 1;
    const mark = FENCE.exec(text.slice(at, Math.min(next, at + 100)))?.[1];
    if (mark !== undefined && open === undefined) open = { mark, inside: next };
    else if (mark !== undefined && open !== undefined && mark.startsWith(open.mark)) {
      pieces.push({ text: text.slice(said, open.inside), own: true });
      pieces.push({ text: text.slice(open.inside, at), own: false });
      said = at;
      open = undefined;
    }
    at = next;
  }
  return [...pieces, { text: text.slice(said), own: true }];
}
