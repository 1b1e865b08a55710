import { CompactError } from "../errors.ts";

/** The word that names the transcript; throws where there is none. */
export function wordOf(words: readonly string[], command: string): string {
  const [word] = words;
  if (word !== undefined) return word;
  throw new CompactError("InvalidUsage", `compact ${command} needs a transcript`, {
    hint: `Write compact ${command} FILE, or a number of the list that \`compact\` alone prints.`,
  });
}
