import { createHash } from "node:crypto";
import { expanded } from "./anthropic-compaction.ts";
import { isObject, type Json, objectsIn, textOf } from "./wire.ts";

/** Prefix of this stub's signatures; others come from recorded sessions and cannot be verified. */
const OWN = "stub.";

const hash = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 20);

/** Signs a thinking text created after the given prefix. */
export function sign(thinking: string, prefix: string): string {
  return `${OWN}${hash(thinking)}.${prefix}`;
}

/** A hash of the conversation that thinking is bound to; cache marks and earlier thinking may change. */
export function prefixHash(body: Json, messages: readonly Json[]): string {
  const bare = expanded(messages).map(({ role, content }) => ({
    role,
    content: (typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content))
      .filter(({ type }) => type !== "thinking" && type !== "redacted_thinking")
      .map(withoutMark),
  }));
  const system =
    typeof body.system === "string"
      ? [{ type: "text", text: body.system }]
      : objectsIn(body.system).map(withoutMark);
  return hash(JSON.stringify([system, objectsIn(body.tools).map(withoutMark), bare]));
}

export function withoutMark(block: Json): Json {
  if (!isObject(block)) return block;
  const { cache_control: _, ...rest } = block;
  return rest;
}

/** `text`: the signed text was changed; `prefix`: the preceding messages were changed. */
export function isGenuine(block: Json, prefix: string): "yes" | "text" | "prefix" {
  const signature = textOf(block.signature);
  if (!signature.startsWith(OWN)) return "yes";
  const [, text, bound] = signature.split(".");
  if (text !== hash(textOf(block.thinking))) return "text";
  return bound === prefix ? "yes" : "prefix";
}
