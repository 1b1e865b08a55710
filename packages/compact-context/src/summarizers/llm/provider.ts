import { escapeSummaryTags, type Message, toolResults } from "../../core/message.ts";
import type {
  LiveConversation,
  ProviderCompaction,
  SummarizeOptions,
  Summarizer,
  Summary,
} from "../../core/ports.ts";
import { CompactError, errorMessage, platform } from "../../errors.ts";
import { redact as redactText } from "../../redaction/redactor.ts";
import { o200kBase } from "../../tokens/encodings/o200k-base.ts";
import { normalizeUsage } from "../../tokens/usage.ts";
import { readInput } from "../extractive/builtin.ts";
import { WRITTEN_INTRODUCTION } from "../extractive/format.ts";
import { oneLine } from "../extractive/text.ts";
import { factsOf } from "./complete.ts";

// The provider compacts its own list. Reasoning bound to its prefix stays valid only after the provider's
// output; requests, rules, tasks and files that the output omits are added next to it.

const NAME = "provider";
/** Used if the provider's text contains everything that was extracted. */
const NOTHING_LOST = "The provider's own compaction, which opens this list, tells what came before.";

/**
 * A summarizer that has the request's provider compact its own list. `summarize` throws `SummarizerFailed` if
 * the provider cannot or does not, or if its text contains a secret: it must be sent back unchanged, and is
 * stored.
 */
export function createProviderSummarizer(redact: (text: string) => string = redactText): Summarizer {
  return {
    name: NAME,
    usesLivePrefix: true,
    async summarize(messages, options) {
      const { live, signal } = options;
      if (live?.compact === undefined) throw unable("the provider of this call is not asked to compact");
      const covers = coveredBy(messages, live);
      const started = platform.clock();
      const made = await live
        .compact(live.prefix.messages.slice(0, covers), signal)
        .catch((error: unknown) => {
          tell(options, started, { error });
          throw error;
        });
      tell(options, started, made);
      if (redact(made.text) !== made.text) throw unable("its text holds a secret, which may not be stored");
      const lost = await whatIsLost(messages, options, made.text);
      const opening = { entry: made.entry, covers };
      return { ...lost, summarizer: NAME, messagesRead: messages.length, coverage: 1, opening };
    },
  };
}

function unable(why: string): CompactError {
  return new CompactError("SummarizerFailed", `${NAME}: ${why}`, {
    hint: "Calls through compactFetch, a compacted client or the proxy to a model whose provider compacts on demand can be; the built-in summarizer stands in for the others.",
  });
}

/**
 * How many entries of the live list the provider gets: up to the last one that leaves, with its tool results.
 */
function coveredBy(messages: readonly Message[], live: LiveConversation): number {
  const ids = new Set(messages.map(({ id }) => id));
  const last = live.messages.findLastIndex(
    ({ id, meta }) => ids.has(id) || meta?.summaryVersion !== undefined,
  );
  const behind = live.messages.slice(last + 1).findIndex((message) => toolResults(message).length === 0);
  return behind === -1 ? live.messages.length : last + 1 + behind;
}

/** The extracted lines that the provider's text lacks. */
async function whatIsLost(
  messages: readonly Message[],
  options: SummarizeOptions,
  said: string,
): Promise<Pick<Summary, "text" | "tokens">> {
  const input = await readInput(messages, options);
  const { countText } = input;
  const { maxTokens } = options;
  const facts = factsOf(input, true);
  const room = maxTokens - countText(`${WRITTEN_INTRODUCTION}\n`);
  const lines = room <= 0 ? [] : withoutSaid(facts(room, said), oneLine(said).toLowerCase());
  const whole = [WRITTEN_INTRODUCTION, ...lines].map(escapeSummaryTags).join("\n");
  const text = lines.length > 0 && countText(whole) <= maxTokens ? whole : NOTHING_LOST;
  return { text, tokens: countText(text) };
}

/** Removes the items that a text contains verbatim, and sections that become empty. */
function withoutSaid(lines: readonly string[], said: string): string[] {
  const left = lines.filter((line) => {
    const item = /^(?:- |> )(.*)$/.exec(line)?.[1];
    return item === undefined || !said.includes(oneLine(item).toLowerCase());
  });
  return left.filter(
    (line, index) => !line.startsWith("## ") || !(left[index + 1] ?? "## ").startsWith("## "),
  );
}

/** Reports the provider request; `made` is its output, or why there is none. */
function tell(
  { onAttempt, maxTokens, strategy = "task_state", live }: SummarizeOptions,
  started: number,
  made: ProviderCompaction | { readonly error: unknown },
): void {
  const failed = "error" in made;
  onAttempt?.({
    model: failed ? NAME : made.model,
    prompt: "provider",
    strategy,
    input: "prefix",
    part: 1,
    parts: 1,
    maxTokens,
    ...(failed
      ? { outcome: "error", detail: errorMessage(made.error), error: made.error }
      : { outcome: "accepted", usage: normalizeUsage(made.usage) }),
    durationMs: platform.clock() - started,
    inputTokens: live?.tokens ?? 0,
    outputTokens: failed ? 0 : o200kBase.count(made.text),
  });
}
