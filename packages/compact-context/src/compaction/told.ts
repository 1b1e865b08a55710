import type { SummarizeOptions, Summarizer, Summary } from "../summarizers/summarizer.ts";

/** What summaries of one compaction are told beside the messages. */
export interface ToldWith {
  /** The archive step that holds it; none where nothing was archived. */
  readonly step: number | undefined;
  countText(text: string): number;
}

/** The summarizers, so that each text ends by naming the archive steps of its sources. */
export function toldWith(summarizers: readonly Summarizer[], told: ToldWith): Summarizer[] {
  return summarizers.map((summarizer) => {
    // By name: members of a class do not spread.
    const { name, ridesLive = false, byProgram = false } = summarizer;
    return {
      ...{ name, ridesLive, byProgram },
      summarize: async (messages, options) =>
        pointing(told, options, (inner) => summarizer.summarize(messages, inner)),
    };
  });
}

/** A summary with less room says more by its own words. */
const LEAST_ROOM = 240;
const POINTER = /\n?^Originals: archive steps? [0-9-]{1,20}\.$/m;

async function pointing(
  { step, countText }: ToldWith,
  options: SummarizeOptions,
  summarize: (options: SummarizeOptions) => Promise<Summary>,
): Promise<Summary> {
  const { previous, maxTokens } = options;
  const inner = previous === undefined ? options : { ...options, previous: previous.replace(POINTER, "") };
  if (step === undefined || maxTokens < LEAST_ROOM) return summarize(inner);
  const pointer = step === 1 ? "Originals: archive step 1." : `Originals: archive steps 1-${step}.`;
  // One for how the texts join.
  const made = await summarize({ ...inner, maxTokens: maxTokens - countText(`\n${pointer}`) - 1 });
  if (made.text === "") return made;
  const text = `${made.text}\n${pointer}`;
  return { ...made, text, tokens: countText(text) };
}
