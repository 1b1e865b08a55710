import { escapeControl } from "./escape.ts";

/** Tells a problem of an exporter in one line, with what was thrown where something was; never throws. */
export type Report = (name: string, problem: string, error?: unknown) => void;

const LONGEST_REASON = 300;

/** Lines like `[Ariadne] an exporter fails: the server answered 500`, without secrets and control characters. */
export function createReport(
  onError: (line: string) => void,
  redact: { redactValue(value: unknown): unknown } | undefined,
): Report {
  const reasonOf = (error: unknown): string => {
    const reason = error instanceof Error ? error.message : String(error);
    const safe = String(redact === undefined ? reason : redact.redactValue(reason));
    return `: ${escapeControl(safe).replace(/\s+/g, " ").slice(0, LONGEST_REASON)}`;
  };
  return (name, problem, error) => {
    try {
      onError(`[${name}] ${problem}${error === undefined ? "" : reasonOf(error)}`);
    } catch {
      // A reporter that fails has nobody left to tell; the run goes on.
    }
  };
}
