import { requireText } from "../errors.ts";

/** The tags that set what the runtime adds apart from what the user wrote. */
const ANY_TAG = /<(?=\/?\s*(?:runtime_context|user_message|system)\b)/gi;
const OPEN = "<runtime_context>\n";
const CLOSE = "\n</runtime_context>";
const BLOCK = /^<runtime_context>\n[\s\S]*?\n<\/runtime_context>\n\n/;
const USER = /^<user_message>\n([\s\S]*)\n<\/user_message>$/;

/** Characters of the tags around a block. */
export const RUNTIME_CONTEXT_CHARS: number = OPEN.length + CLOSE.length;

/** Text in which none of the runtime's tags opens or closes: what was recalled cannot pretend to be the user. */
export function escapeRuntimeTags(text: string): string {
  requireText(text, "text", "Pass the text itself.");
  return text.replace(ANY_TAG, "&lt;");
}

/** A block of what was recalled; empty text for nothing, never empty tags. */
export function renderRuntimeContext(body: string): string {
  requireText(body, "body", "Pass the text itself.");
  return body.trim() === "" ? "" : `${OPEN}${body}${CLOSE}`;
}

/**
 * The user's turn with a `<runtime_context>` block before it. It goes into the user message and not into the system
 * prompt, which stays the same, byte by byte, from turn to turn. Without a block it is the user's own text, unchanged.
 */
export function injectRuntimeContext(userText: string, block: string): string {
  requireText(userText, "userText", "Pass the user's own text.");
  requireText(block, "block", "Pass what renderRuntimeContext gave back.");
  if (block.trim() === "") return userText;
  return `${block}\n\n<user_message>\n${userText}\n</user_message>`;
}

/** The user's own text again: what was recalled must not be learned a second time. */
export function stripRuntimeContext(text: string): string {
  requireText(text, "text", "Pass the text itself.");
  const rest = text.replace(BLOCK, "");
  return rest === text ? text : (USER.exec(rest)?.[1] ?? rest);
}
