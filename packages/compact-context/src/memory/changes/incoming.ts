import type { Redactor } from "../../redaction/redactor.ts";
import { WITHHELD } from "../../redaction/redactor.ts";
import type { RefusalReason } from "./operation.ts";

/** Text as it may be written, or why it may not. */
export type Incoming =
  | { readonly text: string; readonly redacted: boolean }
  | { readonly reason: RefusalReason; readonly message: string };

export interface IncomingLimits {
  /** Characters of an item; longer ones are refused, never cut. */
  readonly maxItemChars: number;
  /** Characters of a section or file. */
  readonly maxFileChars: number;
}

export const INCOMING_LIMITS: IncomingLimits = { maxItemChars: 1_000, maxFileChars: 200_000 };

const RECALLED = /<runtime_context>[\s\S]*?<\/runtime_context>\s*/gi;
/** What stands where text was left out: writing it down would lose that text. */
const PLACEHOLDER =
  /(?:\.\.\.|…|\[)\s*\(?(?:the\s+)?(?:rest|remainder|remaining|other|previous|existing)\b[^\n]{0,40}\b(?:unchanged|same|omitted|as before|stays?|here)\b|\[\s*(?:\.\.\.|…)\s*(?:unchanged|omitted|truncated)?\s*\]|(?:其余|其他|以下)(?:内容)?(?:保持)?(?:不变|省略)/iu;

type Ports = { readonly redactor: Pick<Redactor, "redactText">; readonly limits: IncomingLimits };

/** One line for an item: nothing recalled, no secret, and no comment that could pass for a mark. */
export function incomingItem(text: string, { redactor, limits }: Ports): Incoming {
  const line = text.replace(RECALLED, "").replace(/\s+/g, " ").trim();
  const safe = line
    .replaceAll("<!--", "&lt;!--")
    .replaceAll("-->", "--&gt;")
    .replace(/^(?:[-*+]\s+)+/, "");
  return checked(safe, redactor.redactText(safe), limits.maxItemChars);
}

/** One line for a heading, without the marks of one; empty where nothing is left. */
export function incomingHeading(text: string, { redactor }: Pick<Ports, "redactor">): string {
  const line = text
    .replace(/^[#\s]+/, "")
    .replace(/\s+/g, " ")
    .trim();
  return redactor.redactText(line).replaceAll("<!--", "&lt;!--").slice(0, 200);
}

/** Text of several lines for a section or a file. */
export function incomingBlock(text: string, { redactor, limits }: Ports): Incoming {
  const plain = text.replace(RECALLED, "").replace(/^\n+|\s+$/g, "");
  if (PLACEHOLDER.test(plain)) {
    return {
      reason: "placeholder",
      message: "A placeholder stands where text would be lost: give the whole text.",
    };
  }
  return checked(plain, redactor.redactText(plain), limits.maxFileChars);
}

function checked(given: string, redacted: string, most: number): Incoming {
  if (redacted === WITHHELD) {
    return { reason: "withheld", message: "The text could not be searched for secrets, so it is not kept." };
  }
  if (!/[\p{L}\p{N}]/u.test(redacted)) return { reason: "empty", message: "The text says nothing." };
  if (redacted.length > most) {
    return {
      reason: "too-long",
      message: `The text has ${redacted.length} characters; ${most} are the most.`,
    };
  }
  return { text: redacted, redacted: redacted !== given };
}
