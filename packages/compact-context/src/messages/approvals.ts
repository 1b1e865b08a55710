import type { Message } from "./message.ts";
import { filled, isBlockList, isObject, type NativeObject } from "./native.ts";

/** Ids of approvals that a message asks for, and of those it answers or acts on. */
export interface Approvals {
  readonly asked: readonly string[];
  readonly answered: readonly string[];
}

const NONE: Approvals = { asked: [], answered: [] };

/**
 * Approvals have no part of their own in a message: they stand in parts of the AI SDK and in items of hosted MCP
 * tools. A provider refuses the answer without the request, so both are kept or dropped together.
 */
export function approvalsOf({ native, format }: Message): Approvals {
  if (!isObject(native)) return NONE;
  if (format === "ai-sdk") return inParts(native.content);
  return format === "openai-responses" || format === "openai-agents" ? inItem(native) : NONE;
}

function inParts(content: unknown): Approvals {
  if (!isBlockList(content)) return NONE;
  const ids = (type: string): string[] =>
    content.flatMap((block) => (block.type === type ? (filled(block.approvalId) ?? []) : []));
  return { asked: ids("tool-approval-request"), answered: ids("tool-approval-response") };
}

/** The Agents SDK keeps the wire's own item in `providerData`. */
function inItem(native: NativeObject): Approvals {
  const item = isObject(native.providerData) ? { ...native, ...native.providerData } : native;
  if (item.type === "mcp_approval_request") return { asked: listOf(filled(item.id)), answered: [] };
  const request = filled(item.approval_request_id);
  return request === undefined ? NONE : { asked: [], answered: [request] };
}

/** True for a granted approval of a hosted tool: the provider calls the tool next, and must find the request. */
export function grantsCall({ native, format }: Message): boolean {
  if (!isObject(native) || (format !== "openai-responses" && format !== "openai-agents")) return false;
  const item = isObject(native.providerData) ? { ...native, ...native.providerData } : native;
  return item.type === "mcp_approval_response" && item.approve === true;
}

function listOf(id: string | undefined): string[] {
  return id === undefined ? [] : [id];
}
