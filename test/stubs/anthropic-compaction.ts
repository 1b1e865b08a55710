import { createHash } from "node:crypto";
import type { Rejection } from "./answers.ts";
import { isObject, type Json, objectsIn, textOf } from "./wire.ts";

// Compaction on demand: a request with `compaction` is answered by one signed block, which later requests
// start with.

const BETA = "compact-2026-09-04";
const FIELDS = new Set([
  "type",
  "content",
  "encrypted_content",
  "signature",
  "tool_changes",
  "cache_control",
]);

/** The messages that each signed block replaces. */
const covered = new Map<string, readonly Json[]>();

const bad = (message: string, code?: string): Rejection => ({
  status: 400,
  type: "invalid_request_error",
  message,
  code,
});

const blockOf = (message: Json | undefined): Json | undefined => {
  const [block] = objectsIn(message?.content);
  return block?.type === "compaction" ? block : undefined;
};

const signatureOf = (text: string, messages: readonly Json[]): string =>
  `compaction.${createHash("sha256")
    .update(JSON.stringify([text, messages]))
    .digest("base64url")
    .slice(0, 24)}`;

/** The signed block for a list; the list is stored. */
export function compactionBlock(text: string, messages: readonly Json[]): Json {
  const all = expanded(messages);
  const signature = signatureOf(text, all);
  covered.set(signature, all);
  return { type: "compaction", content: text, encrypted_content: null, signature };
}

/** The messages with a leading block expanded to the messages it replaces. */
export function expanded(messages: readonly Json[]): readonly Json[] {
  const [first, ...others] = messages;
  const block = blockOf(first);
  const known = block === undefined ? undefined : covered.get(textOf(block.signature));
  if (first === undefined || known === undefined) return messages;
  const more = objectsIn(first.content).slice(1);
  const behind = more.length === 0 ? others : [{ ...first, content: more }, ...others];
  // Adjacent messages of one role are merged: the following message then differs from the one sent before.
  const merged = behind[0]?.role === known.at(-1)?.role || behind[0]?.role === "system";
  return merged ? [...known, { role: "merged", content: [] }, ...behind] : [...known, ...behind];
}

/** The provider's validation of a request that compacts or contains a block. */
export function checkCompaction(
  body: Json,
  headers: Readonly<Record<string, string>>,
): Rejection | undefined {
  const allowed = (headers["anthropic-beta"] ?? "").split(",").some((beta) => beta.trim() === BETA);
  const messages = objectsIn(body.messages);
  if (body.compaction !== undefined) {
    if (!allowed) return bad(`compaction: requires anthropic-beta: ${BETA}`);
    if (!isObject(body.compaction) || body.compaction.type !== "summarize")
      return bad("compaction.type: Input should be 'summarize'");
    for (const name of ["context_management", "stop_sequences"])
      if (body[name] !== undefined) return bad(`${name}: cannot be combined with compaction`);
    const choice = isObject(body.tool_choice) ? body.tool_choice.type : undefined;
    if (choice === "any" || choice === "tool") return bad("tool_choice: cannot be combined with compaction");
    if (messages.length === 0)
      return bad("messages: nothing to summarize", "compaction_nothing_to_summarize");
  }
  const places = messages.flatMap((message, at) =>
    objectsIn(message.content).flatMap((block, index) =>
      block.type === "compaction" ? [{ at, index, block }] : [],
    ),
  );
  const [place] = places;
  if (place === undefined) return undefined;
  if (!allowed) return bad("messages.0.content.0: Input tag 'compaction' found using 'type' does not match");
  if (places.length > 1) return bad("messages: at most one compaction block may be sent");
  if (place.at !== 0 || place.index !== 0)
    return bad("messages: the compaction block must come first", "compaction_block_misplaced");
  const extra = Object.keys(place.block).find((name) => !FIELDS.has(name));
  if (extra !== undefined)
    return bad(`messages.0.content.0.compaction.${extra}: Extra inputs are not permitted`);
  const known = covered.get(textOf(place.block.signature));
  if (known === undefined) return bad("the signature is not valid", "compaction_signature_invalid");
  return signatureOf(textOf(place.block.content), known) === place.block.signature
    ? undefined
    : bad("the content was changed", "compaction_content_mismatch");
}
