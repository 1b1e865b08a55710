import { type Diagnostic, diagnosticText } from "compact-context/internal/agent/diagnostic";

/** What it means for the chat, where the message itself does not say it. */
const MEANING: Readonly<Record<string, string>> = {
  "session-not-saved": "the session is not stored for now, and goes on in memory",
  "model-failed": "the model failed",
};

/** A diagnostic as a person reads it, with paths relative to the folder. */
export function problemText(diagnostic: Diagnostic, folder: string): string {
  const meaning = MEANING[diagnostic.code];
  const text = diagnosticText(diagnostic).replaceAll(`${folder}/`, "");
  return meaning === undefined ? text : `${meaning}: ${text}`;
}
