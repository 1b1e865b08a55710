import { CompactError, errorMessage, requireOptions } from "../errors.ts";

/** One thing that is wrong, for people: what, where, and what to do next. */
export interface Diagnostic {
  /** A stable word, such as `bad-frontmatter`. */
  readonly code: string;
  readonly message: string;
  /** `file:line`, or a path in a document. */
  readonly place?: string;
  readonly hint?: string;
}

/** The diagnostic of whatever was thrown. */
export function diagnosticOf(error: unknown, code = "failed"): Diagnostic {
  if (CompactError.isInstance(error)) {
    const { place, hint } = error;
    return { code: error.code, message: error.message, place, hint: hint || undefined };
  }
  return { code, message: wordsOf(error) };
}

/** The diagnostic in one line. */
export function diagnosticText(diagnostic: Diagnostic): string {
  requireOptions(
    diagnostic,
    "diagnostic",
    "Pass one of the problems that loadSkills and loadSubAgents give.",
  );
  const { message, place, hint } = diagnostic;
  return `${place === undefined ? "" : `${place}: `}${message}${hint === undefined ? "" : `. ${hint}`}`;
}

/** What an error says; the first line of it. */
export function wordsOf(error: unknown): string {
  return errorMessage(error).split("\n", 1)[0] ?? "";
}
