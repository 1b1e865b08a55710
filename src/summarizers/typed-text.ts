const BLOCK_OPENING =
  /^\s{0,24}<((?:system|environment|command|local-command|bash|ide|turn|runtime|task|hook|skill|permissions)[-_][a-z_-]{1,40}|user_instructions|INSTRUCTIONS)(?:\s[^>\n]*)?>/i;
const INJECTED_LINE =
  /^\s{0,8}(?:\[Request interrupted by user|Caveat: The messages below were generated|# AGENTS\.md instructions for )/;

/**
 * What a person typed in a user message: blocks that agent hosts put there (`<system-reminder>`,
 * `<environment_context>`, `<INSTRUCTIONS>` …) and their notices are left out, a block that never closes is kept.
 */
export function typedText(text: string): string {
  if (!text.includes("<") && !text.includes("[Request")) return text.trim();
  const kept: string[] = [];
  const unclosed = new Set<string>();
  let at = 0;
  while (at < text.length) {
    const line = lineAt(text, at);
    const end = blockEnd(text, at, unclosed);
    if (end !== undefined) {
      at = end;
      continue;
    }
    if (!INJECTED_LINE.test(line)) kept.push(line);
    at += line.length + 1;
  }
  return kept.join("\n").trim();
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
