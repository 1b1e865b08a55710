import { type Message, toolCalls, toolResults } from "../messages/message.ts";
import { builtinSummarizer } from "../summarizers/builtin.ts";
import type { SummarizeOptions, Summarizer, Summary } from "../summarizers/summarizer.ts";

/** What summaries of one compaction are told beside the messages. */
export interface ToldWith {
  /** The list that is compacted. */
  readonly view: readonly Message[];
  /** The archive step that holds it; none where nothing was archived. */
  readonly step: number | undefined;
  countText(text: string): number;
}

/**
 * The summarizers, so that each text ends by naming the archive steps of its sources, and the built-in one knows the
 * calls of outputs that were emptied while their calls stay.
 */
export function toldWith(summarizers: readonly Summarizer[], told: ToldWith): Summarizer[] {
  return summarizers.map((summarizer) => ({
    ...summarizer,
    summarize: async (messages, options) => {
      const input = summarizer === builtinSummarizer ? withCalls(messages, told.view) : messages;
      return pointing(told, options, (inner) => summarizer.summarize(input, inner));
    },
  }));
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

/** The messages, and before each output whose call is not among them a copy of that call's message with nothing but calls. */
function withCalls(messages: readonly Message[], view: readonly Message[]): readonly Message[] {
  const known = new Set(messages.flatMap((message) => toolCalls(message).map((call) => call.id)));
  const homes = new Map(
    view.flatMap((message) => toolCalls(message).map((call) => [call.id, message] as const)),
  );
  return messages.flatMap((message) => {
    const missing = toolResults(message).filter(({ id }) => !known.has(id) && homes.has(id));
    const calls = missing.flatMap(({ id }) =>
      toolCalls(homes.get(id) ?? message).filter((call) => call.id === id),
    );
    if (calls.length === 0) return [message];
    for (const { id } of calls) known.add(id);
    const home = homes.get(calls[0]?.id ?? "");
    const copy: Message = {
      id: home?.id ?? message.id,
      role: "assistant",
      parts: calls,
      meta: { synthetic: true },
    };
    return [copy, message];
  });
}
