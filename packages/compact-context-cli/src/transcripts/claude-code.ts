import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { isRecord, type JsonRecord, listOf, numberOf, recordOf, stringOf } from "./json.ts";
import {
  ANTHROPIC_USAGE,
  type CompactedSession,
  decodeStretches,
  type ReadLog,
  type RecordFormat,
  type Session,
  type SourceRecord,
  type Stretch,
  splitAtSummary,
  type WritePorts,
  withMeta,
  withSummaryVersion,
} from "./transcript.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "user",
  "assistant",
  "system",
  "progress",
  "summary",
  "file-history-snapshot",
  "queue-operation",
  "pr-link",
  "attachment",
  "custom-title",
  "ai-title",
  "last-prompt",
]);

/** Claude Code's `~/.claude/projects/<directory>/<sessionId>.jsonl`. */
export const claudeCode: RecordFormat = {
  format: "claude-code",
  recognises: (record) =>
    isRecord(record) &&
    TYPES.has(record.type) &&
    (isRecord(record.message) || !("message" in record)) &&
    ["sessionId", "leafUuid", "messageId", "uuid"].some((key) => typeof record[key] === "string"),
  read: readClaudeCode,
};

/** A record reduced to its place in the tree and its API message. */
interface ClaudeRecord {
  readonly uuid: string;
  readonly parent: string | undefined;
  readonly logicalParent: string | undefined;
  /** The previous record in the file: replaces a parent that is missing in the file. */
  readonly previous: string | undefined;
  /** `link`: carries no context, but other records refer to it. `summary`: the text that replaced earlier messages. */
  readonly kind: "user" | "assistant" | "summary" | "boundary" | "link";
  readonly message: JsonRecord;
  readonly synthetic: boolean;
  readonly timestamp: string | undefined;
}

type Records = ReadonlyMap<string, ClaudeRecord>;

async function readClaudeCode(source: AsyncIterable<SourceRecord>, log: ReadLog): Promise<Session> {
  const records = new Map<string, ClaudeRecord>();
  /** Fields that every record of a session repeats; the newest value wins. */
  let envelope: JsonRecord = {};
  let title: string | undefined;
  let last: string | undefined;
  for await (const { value } of source) {
    const record = recordOf(value);
    title = [record.summary, record.customTitle, record.aiTitle].map(stringOf).find(Boolean) ?? title;
    envelope = { ...envelope, ...envelopeOf(record) };
    const uuid = stringOf(record.uuid);
    const isNew = uuid !== undefined && !records.has(uuid);
    const useless = uselessKind(record) ?? (isNew ? undefined : "record written twice or without uuid");
    if (useless !== undefined) log.leaveOut(useless);
    if (!isNew) continue;
    records.set(uuid, {
      uuid,
      // Streamed output of the command line has no parents: every record follows the previous one.
      parent: "parentUuid" in record ? stringOf(record.parentUuid) : last,
      logicalParent: stringOf(record.logicalParentUuid),
      previous: last,
      ...contextOf(record, useless === undefined),
      synthetic: record.isMeta === true,
      timestamp: stringOf(record.timestamp),
    });
    if (!isSidechain(record)) last = uuid;
  }
  return {
    format: "claude-code",
    ...conversation(records, log),
    sessionId: stringOf(envelope.sessionId),
    title,
    cwd: stringOf(envelope.cwd),
    write: (compacted, ports) => ({
      mode: "append",
      chunks: writeClaudeCode(envelope, last, { compacted, ports }),
    }),
  };
}

function envelopeOf(record: JsonRecord): JsonRecord {
  if (typeof record.sessionId !== "string" || record.isSidechain === true) return {};
  const fields = ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"];
  return Object.fromEntries(
    fields.filter((key) => typeof record[key] === "string").map((key) => [key, record[key]]),
  );
}

/** Work of a sub-agent, which the main agent does not see. */
function isSidechain(record: JsonRecord): boolean {
  return record.isSidechain === true || typeof record.parent_tool_use_id === "string";
}

/** The kind of a record that carries no context. */
function uselessKind(record: JsonRecord): string | undefined {
  const { type, subtype, message } = record;
  if (isSidechain(record)) return "sidechain";
  if (type === "system" && subtype === "compact_boundary") return undefined;
  const isMessage = (type === "user" || type === "assistant") && isRecord(message);
  if (isMessage) return record.isApiErrorMessage === true ? "API error" : undefined;
  return typeof subtype === "string" ? `${String(type)} ${subtype}` : String(type);
}

/** What a record says; a useless one only links others. */
function contextOf(record: JsonRecord, isUseful: boolean): Pick<ClaudeRecord, "kind" | "message"> {
  if (!isUseful) return { kind: "link", message: {} };
  if (record.type === "system") return { kind: "boundary", message: recordOf(record.compactMetadata) };
  const kind = record.type === "user" ? "user" : "assistant";
  return { kind: record.isCompactSummary === true ? "summary" : kind, message: recordOf(record.message) };
}

// ---- the conversation that Claude Code would resume

/** The records of the conversation, split at its compactions, as API messages. */
function conversation(
  records: Records,
  log: ReadLog,
): Pick<Session, "list" | "segments" | "usage" | "model" | "window"> {
  const all = [...records.values()];
  const chains = liveChains(records, log);
  const runs = chains.map((chain, index) => {
    // Copies made by a later compaction have the originals' ids: the search stops at its boundary.
    const [start, end] = [chain.at(-1), chains[index + 1]?.at(-1)];
    const from = start?.kind === "boundary" ? all.indexOf(start) : 0;
    return withSiblings(chain, all.slice(from, end === undefined ? all.length : all.indexOf(end)));
  });
  const included = new Set(runs.flat());
  log.leaveOut("abandoned branch", all.filter((record) => isTurn(record) && !included.has(record)).length);
  const stretches = stretchesOf(runs);
  const format = { codec: "anthropic", usage: ANTHROPIC_USAGE, path: "messages", finish } as const;
  const told = decodeStretches(stretches, format, log);
  const answers = stretches.flatMap(({ items }) => items).filter(({ first }) => first.kind === "assistant");
  const model = answers.flatMap(({ native }) => stringOf(native.model) ?? []).at(-1);
  // The maximum of the tokens at which Claude Code compacted by itself.
  const limits = all.map(({ kind, message: { trigger, preTokens } }) =>
    kind === "boundary" && trigger === "auto" ? (numberOf(preTokens) ?? 0) : 0,
  );
  const window = limits.reduce((most, limit) => Math.max(most, limit), 0) || undefined;
  return { ...told, model, window };
}

function isTurn({ kind }: ClaudeRecord): boolean {
  return kind === "user" || kind === "assistant" || kind === "summary";
}

/** The chains of records between compactions, oldest first; each runs from its newest record to its boundary. */
function liveChains(records: Records, log: ReadLog): ClaudeRecord[][] {
  const chains: ClaudeRecord[][] = [];
  const seen = new Set<ClaudeRecord>();
  let chain: ClaudeRecord[] | undefined;
  let record = [...records.values()].findLast(({ kind }) => kind !== "link");
  while (record !== undefined && !seen.has(record)) {
    seen.add(record);
    if (chain === undefined) {
      chain = [];
      chains.unshift(chain);
    }
    chain.push(record);
    if (record.kind === "boundary") chain = undefined;
    record = recordBefore(record, records, log);
  }
  return chains;
}

function recordBefore(record: ClaudeRecord, records: Records, log: ReadLog): ClaudeRecord | undefined {
  const { uuid, kind, parent, logicalParent, previous } = record;
  const named = kind === "boundary" ? logicalParent : parent;
  if (named === undefined && kind !== "boundary") return undefined;
  const found = records.get(named ?? "");
  if (found !== undefined) return found;
  if (kind !== "boundary")
    log.problem({
      message: `record ${uuid} follows ${named}, which the file does not hold; it was placed after the record before it`,
    });
  return records.get(previous ?? "");
}

/**
 * Parallel calls fork the tree: the other blocks of an answer and the results of their calls are outside the
 * chain but belong to it, as in Claude Code itself. In file order.
 */
function withSiblings(chain: readonly ClaudeRecord[], all: readonly ClaudeRecord[]): ClaudeRecord[] {
  const members = new Set(chain);
  const answers = new Set(chain.flatMap((record) => answerId(record) ?? []));
  for (const record of all) if (answers.has(answerId(record) ?? "")) members.add(record);
  const calls = new Set([...members].flatMap(callIds));
  return all.filter((record) => members.has(record) || resultIds(record).some((id) => calls.has(id)));
}

function answerId({ kind, message }: ClaudeRecord): string | undefined {
  return kind === "assistant" ? stringOf(message.id) : undefined;
}

function callIds({ kind, message }: ClaudeRecord): unknown[] {
  return kind === "assistant" ? idsIn(message, "tool_use", "id") : [];
}

function resultIds({ message }: ClaudeRecord): unknown[] {
  return idsIn(message, "tool_result", "tool_use_id");
}

function idsIn({ content }: JsonRecord, type: string, field: string): unknown[] {
  const blocks = listOf(content).filter(isRecord);
  return blocks.filter((block) => block.type === type).map((block) => block[field]);
}

/** Records that form one API message. */
interface Group {
  readonly first: ClaudeRecord;
  native: JsonRecord;
  /** The results of this answer's calls. */
  results?: Group;
  readonly reported?: readonly unknown[];
}

/** The API messages between compactions. */
function stretchesOf(runs: readonly (readonly ClaudeRecord[])[]): Stretch<Group>[] {
  const seen = new Set<unknown>();
  return runs.map((records, index) => {
    const items = groupRecords(records).map((group) =>
      group.first.kind === "assistant" ? { ...group, reported: [group.native.usage] } : group,
    );
    // The summary and the leading messages that are copies of an earlier run.
    const own = items.findIndex(
      (group) => group.first.kind !== "summary" && !marksOf(group).some((mark) => seen.has(mark)),
    );
    const carried = own < 0 ? items.length : own;
    for (const mark of items.flatMap(marksOf)) seen.add(mark);
    const next = runs[index + 1]?.find(({ kind }) => kind === "boundary");
    const endedBy = next && { kind: "summary" as const, tokensBefore: numberOf(next.message.preTokens) };
    return { items, carried: index === 0 ? 0 : carried, endedBy };
  });
}

/** File order is not API order: blocks of one answer are joined, and all its results follow it in one message. */
function groupRecords(records: readonly ClaudeRecord[]): Group[] {
  const groups: Group[] = [];
  const answers = new Map<unknown, Group>();
  const callers = new Map<unknown, Group>();
  const addAnswer = (record: ClaudeRecord, fresh: Group): void => {
    const id = answerId(record) ?? record;
    const known = answers.get(id);
    if (known === undefined) groups.push(fresh);
    else known.native = { ...known.native, ...record.message, content: joined(known, record) };
    const group = known ?? fresh;
    answers.set(id, group);
    for (const call of callIds(record)) callers.set(call, group);
  };
  const addUser = (record: ClaudeRecord, fresh: Group): void => {
    const caller = resultIds(record)
      .map((id) => callers.get(id))
      .find((group) => group !== undefined);
    const results = caller?.results;
    if (caller === undefined) groups.push(fresh);
    else if (results === undefined) caller.results = fresh;
    else results.native = { ...results.native, content: joined(results, record) };
  };
  for (const record of records.filter(isTurn)) {
    const add = record.kind === "assistant" ? addAnswer : addUser;
    add(record, { first: record, native: record.message });
  }
  return groups.flatMap((group) => (group.results === undefined ? [group] : [group, group.results]));
}

function joined({ native }: Group, { message }: ClaudeRecord): unknown[] {
  return [...asBlocks(native.content), ...asBlocks(message.content)];
}

function asBlocks(content: unknown): readonly unknown[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

const COPY = "-copy-";

/** Identifies a message across copies: by the provider's ids, or by its content. */
function marksOf({ first, native }: Group): unknown[] {
  if (first.kind === "assistant") return [stringOf(native.id)].flatMap((id) => id?.split(COPY)[0] ?? []);
  const ids = resultIds(first);
  return ids.length > 0 ? ids : [`says ${JSON.stringify(native.content)}`];
}

function finish(message: Message, { first: { kind, uuid, timestamp, synthetic } }: Group): Message {
  const own = kind === "assistant" ? message : withSummaryVersion({ ...message, id: uuid });
  return withMeta(own, { timestamp, synthetic: synthetic || kind === "summary" || undefined });
}

// ---- writing

/** Copies without the old usage: Claude Code takes the last one as the size of the context, and would compact. */
const NO_USAGE = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
} as const;

/** Lines that make Claude Code resume with the summary and the kept messages: boundary, summary, copies. */
function* writeClaudeCode(
  envelope: JsonRecord,
  lastUuid: string | undefined,
  { compacted, ports }: { readonly compacted: CompactedSession; readonly ports: WritePorts },
): Iterable<string> {
  const { before, summary, after } = splitAtSummary(compacted);
  let parentUuid: string | null = null;
  const line = (fields: JsonRecord): string => {
    const uuid = ports.newId();
    const place = { parentUuid, isSidechain: false, ...envelope };
    parentUuid = uuid;
    return `${JSON.stringify({ ...place, ...fields, uuid, timestamp: ports.now() })}\n`;
  };
  yield line({
    logicalParentUuid: lastUuid,
    type: "system",
    subtype: "compact_boundary",
    content: "Conversation compacted",
    isMeta: false,
    level: "info",
    compactMetadata: { trigger: "manual", preTokens: compacted.tokensBefore },
  });
  if (summary !== undefined) {
    yield line({
      type: "user",
      message: { role: "user", content: summary },
      isVisibleInTranscriptOnly: true,
      isCompactSummary: true,
    });
  }
  for (const message of [...before, ...after]) {
    for (const native of codecFor("anthropic").encode([message]).map(recordOf)) {
      const records =
        native.role === "assistant" ? answerRecords(native, ports) : userRecords(native, message);
      yield* records.map(line);
    }
  }
}

/** One record per block, as Claude Code writes them. */
function answerRecords(native: JsonRecord, ports: WritePorts): JsonRecord[] {
  const { content, ...rest } = native;
  // Claude Code joins records with equal ids, on either side of a boundary.
  const id = `${stringOf(native.id)?.split(COPY)[0] ?? "msg"}${COPY}${ports.newId()}`;
  const answer = { type: "message", stop_reason: null, stop_sequence: null, ...rest, id, usage: NO_USAGE };
  return asBlocks(content).map((block) => ({ type: "assistant", message: { ...answer, content: [block] } }));
}

/** One record per tool result, and one for everything else. */
function userRecords(native: JsonRecord, { meta }: Message): JsonRecord[] {
  const more = meta?.synthetic === true ? { isMeta: true } : {};
  const content = native.content;
  if (!Array.isArray(content)) return [{ type: "user", message: native, ...more }];
  const isResult = (block: unknown): boolean => recordOf(block).type === "tool_result";
  const results = content.filter(isResult).map((block) => [block]);
  const others = content.filter((block) => !isResult(block));
  return [...results, ...(others.length > 0 ? [others] : [])].map((blocks) => ({
    type: "user",
    message: { ...native, content: blocks },
    ...more,
  }));
}
