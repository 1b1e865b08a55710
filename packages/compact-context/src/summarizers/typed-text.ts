const BLOCK_OPENING =
  /^\s{0,24}<((?:system|environment|command|local-command|bash|ide|turn|runtime|task|hook|skill|permissions)[-_][a-z_-]{1,40}|(?:file|folder|url)_content|user_instructions|INSTRUCTIONS)(?:\s[^>\n]*)?>/i;
const INJECTED_LINE =
  /^\s{0,8}(?:\[Request interrupted by user|Caveat: The messages below were generated|# AGENTS\.md instructions for )/;

/** A run of lines of a user message. */
export interface Stretch {
  readonly text: string;
  /** False for what an agent host put there. */
  readonly typed: boolean;
}

/**
 * What a person typed in a user message: blocks that agent hosts put there (`<system-reminder>`,
 * `<environment_context>`, `<file_content>` …) and their notices are left out, a block that never closes is kept.
 */
export function typedText(text: string): string {
  const typed = stretches(text).filter((stretch) => stretch.typed);
  return typed
    .map((stretch) => stretch.text)
    .join("\n")
    .trim();
}

/** The whole text in its order, what a person typed told from what a host put there. */
export function stretches(text: string): Stretch[] {
  if (!text.includes("<") && !text.includes("[Request")) return [{ text, typed: true }];
  const found: { typed: boolean; pieces: string[] }[] = [];
  const add = (typed: boolean, piece: string): void => {
    const last = found.at(-1);
    if (last?.typed === typed) last.pieces.push(piece);
    else found.push({ typed, pieces: [piece] });
  };
  const unclosed = new Set<string>();
  let at = 0;
  while (at < text.length) {
    const end = blockEnd(text, at, unclosed);
    const piece = end === undefined ? lineAt(text, at) : text.slice(at, end);
    add(end === undefined && !INJECTED_LINE.test(piece), piece);
    at = end ?? at + piece.length + 1;
  }
  return found.map(({ typed, pieces }) => ({ typed, text: pieces.join("\n") }));
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at);
  return text.slice(at, end < 0 ? text.length : end);
}

function blockEnd(text: string, at: number, unclosed: Set<string>): number | undefined {
  const name = BLOCK_OPENING.exec(text.slice(at, at + 500))?.[1];
  if (name === undefined || unclosed.has(name)) return undefined;
  const closing = `</${name}>`;
  const end = text.indexOf(closing, at);
  if (end >= 0) return end + closing.length;
  // Remembered, so that a text full of openings is not searched to its end for each of them.
  unclosed.add(name);
  return undefined;
}
