import type { Message } from "compact-context";
import { isRecord, type JsonRecord, listOf, numberOf, stringOf } from "./json.ts";
import { decodeStretches, type Stretch, withMeta, withSummaryVersion } from "./session.ts";
import type { ReadLog, Session } from "./transcript.ts";

/** Fields that every record of a session repeats. */
export type ClaudeEnvelope = JsonRecord;

/** A record reduced to its place in the tree and its API message. */
export interface ClaudeRecord {
  readonly uuid: string;
  readonly parent: string | null;
  readonly logicalParent?: string;
  /** The previous record in the file: replaces a parent that is missing in the file. */
  readonly previous: string | undefined;
  readonly sidechain: boolean;
  /**
   * `link`: carries no context, but other records refer to it. `summary`: the text that replaced earlier
   * messages.
   */
  readonly kind: "user" | "assistant" | "summary" | "boundary" | "link";
  readonly message?: JsonRecord;
  readonly synthetic?: boolean;
  readonly timestamp?: string;
}

type Records = ReadonlyMap<string, ClaudeRecord>;

/** The conversation that Claude Code would resume, split at its compactions. */
export function claudeSegments(
  records: Records,
  log: ReadLog,
): Pick<Session, "segments" | "usage" | "model" | "window"> & { readonly lastUuid: string | undefined } {
  const all = [...records.values()];
  const leaf = all.findLast((record) => record.kind !== "link");
  const chains = leaf === undefined ? [] : liveChains(records, leaf, log);
  const stretches = chains.map((chain, index) => {
    // Copies made by a later compaction have the originals' ids: the search stops at its boundary.
    const end = chains[index + 1]?.at(-1);
    const start = chain.at(-1);
    const from = start?.kind === "boundary" ? all.indexOf(start) : 0;
    return withSiblings(chain, all.slice(from, end === undefined ? all.length : all.indexOf(end)));
  });
  const included = new Set(stretches.flat());
  log.leaveOut("abandoned branch", all.filter((record) => isTurn(record) && !included.has(record)).length);
  const grouped = stretchesOf(stretches);
  const format = { codec: "anthropic", usage: "anthropic", path: "messages", finish: finishMessage } as const;
  const { segments, usage } = decodeStretches(grouped, format, log);
  const models = grouped.flatMap(({ items }) => items).flatMap(({ model }) => model ?? []);
  const lastUuid = all.findLast((record) => !record.sidechain)?.uuid;
  return { segments, usage, model: models.at(-1), lastUuid, window: windowOf(all) };
}

/** Tokens at which Claude Code compacted by itself: the maximum of a session. */
function windowOf(all: readonly ClaudeRecord[]): number | undefined {
  const limits = all.flatMap(({ kind, message }) => {
    const tokens =
      kind === "boundary" && message?.trigger === "auto" ? numberOf(message.preTokens) : undefined;
    return tokens === undefined || tokens <= 0 ? [] : [tokens];
  });
  return limits.length === 0 ? undefined : Math.max(...limits);
}

function isTurn(record: ClaudeRecord): boolean {
  return record.kind === "user" || record.kind === "assistant" || record.kind === "summary";
}

/**
 * The chains of records between compactions, oldest first; each runs from its newest record to its boundary.
 */
function liveChains(records: Records, leaf: ClaudeRecord, log: ReadLog): ClaudeRecord[][] {
  const chains: ClaudeRecord[][] = [];
  const seen = new Set<ClaudeRecord>();
  let current: ClaudeRecord | undefined = leaf;
  while (current !== undefined && !seen.has(current)) {
    const chain: ClaudeRecord[] = [];
    let before: ClaudeRecord | undefined = current;
    while (before !== undefined && !seen.has(before)) {
      seen.add(before);
      chain.push(before);
      if (before.kind === "boundary") break;
      before = parentOf(records, before, log);
    }
    chains.unshift(chain);
    const boundary = chain.at(-1);
    current = boundary?.kind === "boundary" ? beforeBoundary(records, boundary) : undefined;
  }
  return chains;
}

function parentOf(records: Records, record: ClaudeRecord, log: ReadLog): ClaudeRecord | undefined {
  if (record.parent === null) return undefined;
  const parent = records.get(record.parent);
  if (parent !== undefined) return parent;
  log.problem({
    message: `record ${record.uuid} follows ${record.parent}, which the file does not hold; it was placed after the record before it`,
  });
  return record.previous === undefined ? undefined : records.get(record.previous);
}

function beforeBoundary(records: Records, boundary: ClaudeRecord): ClaudeRecord | undefined {
  const logical = boundary.logicalParent === undefined ? undefined : records.get(boundary.logicalParent);
  return logical ?? (boundary.previous === undefined ? undefined : records.get(boundary.previous));
}

/**
 * Parallel calls fork the tree: the other blocks of an answer and the results of their calls are outside the
 * chain but belong to it, as in Claude Code itself. In file order.
 */
function withSiblings(chain: readonly ClaudeRecord[], all: readonly ClaudeRecord[]): ClaudeRecord[] {
  const live = new Set(chain);
  const answers = new Set(chain.map(answerId).filter((id) => id !== undefined));
  const spoken = all.filter(
    (record) => record.kind === "assistant" && (live.has(record) || answers.has(answerId(record) ?? "")),
  );
  const calls = new Set(spoken.flatMap(callIds));
  const members = new Set([...chain, ...spoken]);
  return all.filter((record) => members.has(record) || resultIds(record).some((id) => calls.has(id)));
}

function answerId(record: ClaudeRecord): string | undefined {
  return record.kind === "assistant" ? stringOf(record.message?.id) : undefined;
}

function callIds(record: ClaudeRecord): unknown[] {
  return idsIn(record, "tool_use", "id");
}

function resultIds(record: ClaudeRecord): unknown[] {
  return idsIn(record, "tool_result", "tool_use_id");
}

function idsIn({ message }: ClaudeRecord, type: string, field: string): unknown[] {
  const blocks = listOf(message?.content).filter(isRecord);
  return blocks.filter((block) => block.type === type).map((block) => block[field]);
}

/** Records that form one API message. */
interface Group {
  readonly first: ClaudeRecord;
  native: JsonRecord;
  /** The results of this answer's calls. */
  results?: Group;
  readonly model?: string;
  readonly reported?: readonly unknown[];
}

/** The API messages between compactions, and the compaction that ended each run. */
function stretchesOf(stretches: readonly (readonly ClaudeRecord[])[]): Stretch<Group>[] {
  const seen = new Set<unknown>();
  return stretches.map((records, index) => {
    const items = groupRecords(records).map((group) =>
      group.first.kind === "assistant"
        ? { ...group, reported: [group.native.usage], model: stringOf(group.native.model) }
        : group,
    );
    const carried = index === 0 ? 0 : carriedCount(items, seen);
    for (const mark of items.flatMap(marksOf)) seen.add(mark);
    const next = stretches[index + 1]?.find(({ kind }) => kind === "boundary");
    const tokensBefore = numberOf(next?.message?.preTokens);
    return { items, carried, endedBy: next === undefined ? undefined : { kind: "summary", tokensBefore } };
  });
}

/** File order is not API order: blocks of one answer are joined, and all its results follow it in one message. */
function groupRecords(records: readonly ClaudeRecord[]): Group[] {
  const groups: Group[] = [];
  const answers = new Map<string, Group>();
  const callers = new Map<unknown, Group>();
  for (const record of records) {
    if (record.kind === "assistant") addAnswer(record, { groups, answers, callers });
    else if (isTurn(record)) addUser(record, groups, callers);
  }
  return groups.flatMap((group) => (group.results === undefined ? [group] : [group, group.results]));
}

interface Grouping {
  readonly groups: Group[];
  readonly answers: Map<string, Group>;
  readonly callers: Map<unknown, Group>;
}

function addAnswer(record: ClaudeRecord, { groups, answers, callers }: Grouping): void {
  const message = record.message ?? {};
  const id = stringOf(message.id);
  let group = id === undefined ? undefined : answers.get(id);
  if (group === undefined) {
    group = { first: record, native: message };
    groups.push(group);
    if (id !== undefined) answers.set(id, group);
  } else {
    const content = [...asBlocks(group.native.content), ...asBlocks(message.content)];
    group.native = { ...group.native, ...message, content };
  }
  for (const id of callIds(record)) callers.set(id, group);
}

function addUser(record: ClaudeRecord, groups: Group[], callers: ReadonlyMap<unknown, Group>): void {
  const message = record.message ?? {};
  const caller = resultIds(record)
    .map((id) => callers.get(id))
    .find((group) => group !== undefined);
  if (caller === undefined) groups.push({ first: record, native: message });
  else if (caller.results === undefined) caller.results = { first: record, native: message };
  else {
    const content = [...asBlocks(caller.results.native.content), ...asBlocks(message.content)];
    caller.results.native = { ...caller.results.native, content };
  }
}

export function asBlocks(content: unknown): readonly unknown[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

/** The summary and the leading messages that are copies of an earlier run. */
function carriedCount(groups: readonly Group[], seen: ReadonlySet<unknown>): number {
  const firstNew = groups.findIndex(
    (group) => group.first.kind !== "summary" && !marksOf(group).some((mark) => seen.has(mark)),
  );
  return firstNew < 0 ? groups.length : firstNew;
}

const COPY = "-copy-";

/** The id of an answer's copy. Claude Code joins records with equal ids, on either side of a boundary. */
export function copyOf(id: unknown, copy: string): string {
  return `${stringOf(id)?.split(COPY)[0] ?? "msg"}${COPY}${copy}`;
}

/** Identifies a message across copies: by the provider's ids, or by its content. */
function marksOf(group: Group): unknown[] {
  if (group.first.kind === "assistant")
    return [stringOf(group.native.id)].flatMap((id) => id?.split(COPY)[0] ?? []);
  const ids = resultIds(group.first);
  return ids.length > 0 ? ids : [`says ${JSON.stringify(group.native.content)}`];
}

function finishMessage(message: Message, { first }: Group): Message {
  const identified = first.kind === "assistant" ? message : { ...message, id: first.uuid };
  const ours =
    first.kind === "summary" || first.kind === "user" ? withSummaryVersion(identified) : identified;
  return withMeta(ours, {
    timestamp: first.timestamp,
    synthetic: first.synthetic === true || first.kind === "summary" ? true : undefined,
  });
}
