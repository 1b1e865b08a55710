import { CompactError } from "../errors.ts";
import { contentHash } from "../messages/content-hash.ts";
import type { Format, Message, MessageMeta, Part, Role } from "../messages/message.ts";
import { defined } from "../messages/native.ts";
import { redactJson } from "../redaction/json-values.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { crc32Hex } from "./crc32.ts";

/** A message as it was before the prompt lost it, secrets taken out. */
export interface ArchivedMessage {
  /** What stubs and summaries point with; equal content in a session has the same. */
  readonly archiveId: string;
  /** Place in its transcript, from 1. */
  readonly n: number;
  readonly message: Message;
  /** True when a secret was taken out: the text differs from the original there. */
  readonly redacted: boolean;
  /** Why something is missing, such as a native object nested too deep; absent when all is there. */
  readonly leftOut?: string;
}

/** Everything of a line but its checksum, in the order in which it is written. */
interface LineContent {
  readonly n: number;
  readonly of: number;
  readonly id: string;
  readonly hash: string;
  readonly role: Role;
  readonly redacted?: true;
  readonly left_out?: string;
  readonly message: { readonly parts: readonly Part[]; readonly meta?: MessageMeta };
  readonly native?: unknown;
  readonly format?: Format;
}

// JSON.stringify overflows the stack at about 4,100 levels on an empty stack: this leaves room for a full one.
const DEEPEST = 400;
const ID_LENGTH = 10;
const CHECKSUM = /,"c":"([0-9a-f]{8})"\}$/;

/** Ten characters of base 36 made from role and content: the same wherever and whenever it is computed. */
export function archiveId(message: Message): string {
  return hashOf(message).padStart(ID_LENGTH, "0").slice(-ID_LENGTH);
}

/** One line of a transcript, newline included; `n` of `of`, both from 1. Throws `InvalidArgument` for parts that are no JSON. */
export function archiveLine(
  message: Message,
  n: number,
  of: number,
  redactor: Pick<Redactor, "redactText" | "redactValue">,
): string {
  const { parts, meta, native, format } = message;
  const neutral = { parts, meta };
  const body = jsonOfParts(neutral, n, redactor);
  const whole = jsonOfNative(native, redactor);
  const leftOut = [body.leftOut, whole.leftOut].filter((reason) => reason !== undefined).join("; ");
  const head = {
    n,
    of,
    id: message.id,
    hash: archiveId(message),
    role: message.role,
    redacted: body.redacted || whole.redacted || undefined,
    left_out: leftOut || undefined,
  };
  const nativeJson = whole.json === undefined ? "" : `,"native":${whole.json}`;
  const formatJson = format === undefined ? "" : `,"format":${JSON.stringify(format)}`;
  const unsigned = `${JSON.stringify(head).slice(0, -1)},"message":${body.json}${nativeJson}${formatJson}`;
  return `${unsigned},"c":"${crc32Hex(unsigned)}"}\n`;
}

/** The message of a line and how many its transcript has; a sentence saying what is wrong with it otherwise. */
export function readArchiveLine(line: string): { archived: ArchivedMessage; of: number } | string {
  const checksum = CHECKSUM.exec(line);
  if (checksum === null) return "the line has no checksum: it was cut or written by something else";
  if (crc32Hex(line.slice(0, checksum.index)) !== checksum[1]) return "the line does not match its checksum";
  try {
    const content = JSON.parse(line) as LineContent;
    return { archived: fromContent(content), of: content.of };
  } catch {
    return "the line is no JSON";
  }
}

function fromContent(content: LineContent): ArchivedMessage {
  const { n, id, hash, role, redacted = false, left_out, message, native, format } = content;
  const { parts, meta } = message;
  return {
    archiveId: hash,
    n,
    redacted,
    leftOut: left_out,
    message: defined({ id, role, parts, meta, native, format }),
  };
}

interface Encoded {
  readonly json: string | undefined;
  readonly redacted: boolean;
  readonly leftOut?: string;
}

function jsonOfParts(
  neutral: LineContent["message"],
  n: number,
  redactor: Pick<Redactor, "redactText" | "redactValue">,
): Encoded {
  const deep = isTooDeep(neutral);
  try {
    const cut = deep ? redactJson(neutral, (text) => redactor.redactText(text), DEEPEST) : neutral;
    const safe = redactor.redactValue(cut);
    const json = JSON.stringify(safe);
    const redacted = safe !== neutral;
    return deep ? { json, redacted, leftOut: `values deeper than ${DEEPEST} levels` } : { json, redacted };
  } catch (cause) {
    throw new CompactError("InvalidArgument", "a message cannot be archived: its parts are no JSON", {
      place: `messages[${n - 1}]`,
      hint: "Tool call arguments must be JSON text or plain JSON values: no BigInt, no throwing getter.",
      cause,
    });
  }
}

/** The native object is the caller's own and may be anything: what is no JSON is left out, and the line says so. */
function jsonOfNative(native: unknown, redactor: Pick<Redactor, "redactValue">): Encoded {
  if (native === undefined) return { json: undefined, redacted: false };
  const without = (reason: string): Encoded => ({
    json: undefined,
    redacted: false,
    leftOut: `native: ${reason}`,
  });
  try {
    if (isTooDeep(native)) return without(`nested deeper than ${DEEPEST} levels`);
    const safe = redactor.redactValue(native);
    return { json: JSON.stringify(safe), redacted: safe !== native };
  } catch {
    return without("no JSON");
  }
}

/** A value inside itself counts as too deep. */
function isTooDeep(value: unknown): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== "object" || next.value === null || ArrayBuffer.isView(next.value)) continue;
    if (next.depth > DEEPEST) return true;
    for (const inner of Object.values(next.value)) open.push({ value: inner, depth: next.depth + 1 });
  }
  return false;
}

function hashOf(message: Message): string {
  try {
    return contentHash(message);
  } catch {
    // Arguments that are too deep or no JSON: the message is then told by its id.
    return contentHash({ role: message.role, parts: [{ type: "text", text: message.id }] });
  }
}
