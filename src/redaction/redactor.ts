import { compilePatterns } from "./custom-patterns.ts";
import { redactJson } from "./json-values.ts";
import { redactKeyValues } from "./key-values.ts";
import { redactPrivateKeys } from "./private-keys.ts";
import { redactShapes } from "./token-shapes.ts";

/** Takes secrets out of what leaves the process; never changes what it is given. */
export interface Redactor {
  readonly enabled: boolean;
  redactText(text: string): string;
  /** JSON-like values, by field name and inside strings; gives the same object back where nothing was found. */
  redactValue(value: unknown): unknown;
}

export interface RedactorOptions {
  /** True when left out. */
  readonly enabled?: boolean;
  /** More to take out, beside the built-in patterns: each whole match is replaced. */
  readonly patterns?: readonly (string | RegExp)[];
  /** Told `REDACTION_OFF_WARNING` at once when redaction is switched off. */
  readonly onWarning?: (warning: string) => void;
}

/** What a user must hear, with severity high, before the first export when redaction is switched off. */
export const REDACTION_OFF_WARNING =
  "redaction is switched off: secrets in the conversation are written to the archive, the traces and the logs as they are";

/** The text with every secret that the built-in patterns know replaced by `<REDACTED>`; linear time, idempotent. */
export function redact(text: string): string {
  return redactShapes(redactKeyValues(redactPrivateKeys(text)));
}

/** A redactor with the built-in patterns and the caller's; throws `InvalidConfig` for a pattern that cannot be used. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const { enabled = true, patterns = [], onWarning } = options;
  const redactCustom = compilePatterns(patterns);
  if (!enabled) {
    onWarning?.(REDACTION_OFF_WARNING);
    return { enabled, redactText: (text) => text, redactValue: (value) => value };
  }
  const redactText = (text: string): string => redactCustom(redact(text));
  return { enabled, redactText, redactValue: (value) => redactJson(value, redactText) };
}
