import { isRecord, type JsonRecord, listOf, recordOf, stringOf } from "../transcripts/json.ts";
import { headOf } from "./folders.ts";

/** Enough for the instructions that some tools put before the first message. */
const HEAD_BYTES = 512 * 1024;

/** What a record of a session file says about the title: a name of its own, or words of the user. */
export interface TitleHint {
  readonly name?: string;
  readonly words?: string;
}

/** A title from the first lines of a file of records: a name where one is given, else the user's first words. */
export async function titleFromLines(
  path: string,
  hintOf: (record: JsonRecord) => TitleHint,
): Promise<string | undefined> {
  let words: string | undefined;
  for (const line of (await headOf(path, HEAD_BYTES)).split("\n")) {
    const record = parse(line);
    if (record === undefined) continue;
    const hint = hintOf(record);
    if (hint.name !== undefined) return hint.name;
    words ??= spoken(hint.words);
  }
  return words;
}

/** A title from the beginning of a JSON document, which need not be read to its end. */
export async function titleFromDocument(path: string): Promise<string | undefined> {
  const head = await headOf(path, HEAD_BYTES);
  const own = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(head)?.[1];
  const words =
    /"type"\s*:\s*"user"[^{}]{0,400}?"(?:content|text)"\s*:\s*(?:\[\s*\{\s*"text"\s*:\s*)?("(?:[^"\\]|\\.)*")/.exec(
      head,
    )?.[1];
  return stringIn(own) ?? spoken(stringIn(words));
}

function stringIn(json: string | undefined): string | undefined {
  if (json === undefined) return undefined;
  try {
    return stringOf(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function parse(line: string): JsonRecord | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The words themselves, unless a program put them there: those begin with a tag or a file's heading. */
function spoken(words: string | undefined): string | undefined {
  const text = words?.trim() ?? "";
  return text === "" || /^(?:<[a-z]|# AGENTS\.md|Caveat:)/i.test(text) ? undefined : text;
}

/** The text of a message's content, whichever of the usual shapes it has. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  const texts = listOf(content).flatMap((block) => stringOf(recordOf(block).text) ?? []);
  return texts.length === 0 ? undefined : (texts.find((text) => spoken(text) !== undefined) ?? texts[0]);
}
