import { CompactError } from "../errors.ts";

/** Arguments of a tool call made by a model. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Per text; any real query is shorter. */
const MOST_CHARACTERS = 10_000;

/** Arguments as an object, from a value or JSON text. Throws `InvalidArgument`, worded for the model. */
function readArguments(args: unknown): Arguments {
  const value = typeof args === "string" ? parsed(args) : args;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Arguments;
  throw refused("the arguments must be a JSON object");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw refused("the arguments are no JSON");
  }
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

/** The error as a message for the model. */
function wordsOfError(error: unknown): string {
  if (!CompactError.isInstance(error)) return "the archive could not be read.";
  const hint = error.hint === "" ? "" : ` ${error.hint}`;
  return `${error.message}.${hint}`;
}

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
    return `${FAILED}${wordsOfError(error)}`;
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
