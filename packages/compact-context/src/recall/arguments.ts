import { CompactError, isObject } from "../errors.ts";
import { parsedJson } from "../summarizers/extractive/text.ts";

/** Arguments of a tool call made by a model. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Per text; any real query is shorter. */
const MOST_CHARACTERS = 10_000;

/** Arguments as an object, from a value or JSON text. Throws `InvalidArgument`, worded for the model. */
function readArguments(args: unknown): Arguments {
  const value = typeof args === "string" ? parsedJson(args) : args;
  if (isObject(value)) return value;
  throw refused("the arguments must be a JSON object");
}

export function textIn(given: Arguments, name: string): string {
  const value = given[name];
  if (typeof value === "string" && value.length > MOST_CHARACTERS) {
    throw refused(`${name} must have at most ${MOST_CHARACTERS} characters`);
  }
  if (typeof value === "string" && value.trim() !== "") return value;
  throw refused(`${name} must be a non-empty string`);
}

/** A whole number, also accepted as text. */
export function numberIn(
  given: Arguments,
  name: string,
  { least, otherwise }: { readonly least: number; readonly otherwise: number },
): number {
  const value = given[name] ?? otherwise;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= least) return number;
  throw refused(`${name} must be a whole number from ${least}`);
}

/** Prefix of every failed tool answer, and of no other. */
export const FAILED = "Error: ";

function refused(message: string): CompactError {
  return new CompactError("InvalidArgument", message, {
    hint: "Call the tool again with corrected arguments.",
  });
}

/** Runs a tool on its arguments; errors become its answer. */
export async function safely(args: unknown, work: (given: Arguments) => Promise<string>): Promise<string> {
  try {
    return await work(readArguments(args));
  } catch (error) {
    if (!CompactError.isInstance(error)) return `${FAILED}the archive could not be read.`;
    return `${FAILED}${error.message}. ${error.hint}`.trimEnd();
  }
}

/** Whether a tool answer reports a failure. */
export function isFailure(answer: string): boolean {
  return answer.startsWith(FAILED);
}

export const EXPAND_TOOL = "compact_expand";
export const COMPACT_TOOL = "compact_context";
export const SEARCH_TOOL = "compact_search";
export const SESSIONS_TOOL = "compact_sessions";
/** Reads the notes of a memory; see `memoryTool` of the MCP adapter. */
export const MEMORY_TOOL = "compact_recall";
