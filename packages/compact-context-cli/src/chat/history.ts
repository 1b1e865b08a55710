import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** What was typed in earlier chats, newest first, kept in a file that only its owner reads. */
export interface InputHistory {
  readonly entries: readonly string[];
  /** Takes a message in; its secrets stay out of the file. */
  add(text: string): void;
  /** Resolves when the file is written; rejects when it cannot be. */
  saved(): Promise<void>;
}

const MOST = 500;

export async function openHistory(file: string, redact: (text: string) => string): Promise<InputHistory> {
  const text = await readFile(file, "utf8").catch(() => "");
  let entries = text.split("\n").filter((line) => line !== "");
  let saving: Promise<void> = Promise.resolve();
  const save = async (): Promise<void> => {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.tmp`, `${entries.join("\n")}\n`, { mode: 0o600 });
    await rename(`${file}.tmp`, file);
  };
  return {
    get entries() {
      return entries;
    },
    add(typed) {
      // A pasted text is one entry of one line, which readline can show.
      const entry = redact(typed.replace(/\s*\n\s*/g, " ").trim());
      if (entry === "" || entry === entries[0]) return;
      entries = [entry, ...entries.filter((one) => one !== entry)].slice(0, MOST);
      saving = saving.then(save, save);
      saving.catch(() => undefined);
    },
    saved: () => saving,
  };
}
