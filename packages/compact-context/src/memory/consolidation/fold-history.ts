import { clipEnd, oneLine } from "../../summarizers/extractive/text.ts";
import { asData } from "../../summarizers/llm/prompts.ts";
import type { MemoryDocument, MemorySection } from "../changes/document.ts";
import { linesOf } from "../markdown.ts";
import { runTask, type TaskContext } from "../memory-task.ts";
import { RULES_OF_RECORDS, textsOf } from "../session-update/by-model.ts";
import type { SidecarTask } from "../sidecar/task.ts";

/** When the history is folded: so many entries, or so many characters of them; the newest stay as they are. */
export const FOLDING = { entries: 40, characters: 48_000, kept: 20 } as const;

const DATED = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d/;
const LONGEST = 240;
const MOST_CHARACTERS = 16_000;

/** Makes one section of the oldest entries, a line for each; the entries themselves go to the history's archive. */
export async function foldHistory(
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const { writer } = context;
  const history = await writer.read("HISTORY.md");
  const old = entriesToFold(history);
  if (old.length === 0) return "unchanged";
  const first = dayOf(old[0]);
  const last = dayOf(old.at(-1));
  return runTask<readonly string[]>(
    {
      name: "history-folding",
      byModel: () => foldingTask(history, old),
      byProgram: () => old.map(lineOf),
    },
    async (lines) => {
      const fold = {
        op: "foldSections",
        sections: old.map(({ id }) => id),
        heading: `${first} to ${last}`,
        text: lines.map((line) => `- ${clipEnd(oneLine(line), LONGEST)}`).join("\n"),
      } as const;
      const note = { author: "history", reason: `${old.length} older entries became one section` } as const;
      return (await writer.apply([fold], note)).changeId !== undefined;
    },
    context,
    signal,
  );
}

/** Dated entries but the newest, oldest first; none while the history is short. Sections of people and folds stay. */
function entriesToFold({ sections }: MemoryDocument): readonly MemorySection[] {
  const entries = sections.filter(({ heading, level }) => level === 2 && DATED.test(heading));
  const characters = entries.reduce(
    (sum, { items }) => sum + items.reduce((all, { text }) => all + text.length, 0),
    0,
  );
  if (entries.length < FOLDING.entries && characters < FOLDING.characters) return [];
  return entries.slice(0, Math.max(0, entries.length - FOLDING.kept));
}

function dayOf(section: MemorySection | undefined): string {
  return DATED.exec(section?.heading ?? "")?.[1] ?? "";
}

/** Its date, its name, and what was decided or else what was done last. */
function lineOf(section: MemorySection): string {
  const title = section.heading.replace(/^\S+\s*/, "");
  const telling = section.items.filter(({ text }) => /^Decided: /.test(text));
  const [said] = telling.length > 0 ? telling : section.items.slice(-1);
  return `${dayOf(section)} ${title}${said === undefined ? "" : `: ${said.text}`}`;
}

const SYSTEM = `You keep the history of a channel in which a user works with an AI agent. Older entries are to become short: one line for each entry, beginning with its date, that says what was done, how it ended and what was decided.

${RULES_OF_RECORDS}

The object has one field, "lines": a list of texts, oldest first, at most one for each entry.`;

function foldingTask(
  { text }: MemoryDocument,
  old: readonly MemorySection[],
): SidecarTask<readonly string[]> {
  const all = linesOf(text);
  const entries = old.map(({ line, lastLine }) => all.slice(line - 1, lastLine).join("\n"));
  return {
    name: "history-folding",
    systemPrompt: SYSTEM,
    prompt: `<records>\n${asData(entries.join("\n")).slice(0, MOST_CHARACTERS)}\n</records>`,
    shape: "object",
    parse: (answer) => {
      const lines = textsOf((JSON.parse(answer) as { readonly lines?: unknown }).lines ?? [], "lines");
      if (lines.length === 0 || lines.length > old.length)
        throw new Error(`lines must have 1 to ${old.length} texts`);
      const days = new Set(old.map(dayOf));
      const stray = lines.find((line) => !days.has(line.slice(0, 10)));
      if (stray !== undefined) throw new Error("every line must begin with the date of its entry");
      return lines;
    },
  };
}
