import type { AgentToolCallPart } from "./agent-message.ts";
import { wordsOf } from "./diagnostic.ts";

/** The arguments of a call, or why they cannot be read. */
export interface ReadInput {
  readonly value: unknown;
  readonly problem?: string;
}

/** Models hand over arguments as a value, or as JSON text. */
export function argumentsOf({ input }: AgentToolCallPart): ReadInput {
  if (input === undefined || input === "") return { value: {} };
  if (typeof input !== "string") return { value: input };
  try {
    return { value: JSON.parse(input) as unknown };
  } catch (error) {
    return {
      value: input,
      problem: `The arguments are no JSON (${wordsOf(error)}). Nothing was run; call again.`,
    };
  }
}
