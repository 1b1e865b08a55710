import { escapeSummaryTags, type Message, toolResults } from "../../core/message.ts";
import type { LiveConversation, ProviderCompaction, SummarizeOptions, Summarizer } from "../../core/ports.ts";
import { CompactError, errorMessage, platform } from "../../errors.ts";
import { redact as redactText } from "../../redaction/redactor.ts";
import { o200kBase } from "../../tokens/encodings/o200k-base.ts";
import { normalizeUsage } from "../../tokens/usage.ts";
import { readInput } from "../extractive/builtin.ts";
import { WRITTEN_INTRODUCTION } from "../extractive/format.ts";
import { oneLine } from "../extractive/text.ts";
import { factsOf } from "./complete.ts";

// The provider compacts by itself. Reasoning that is bound to its prefix stays valid only behind what the provider made;
// what that leaves out of requests, rules, tasks and files stands beside it.

const NAME = "provider";
/** Said where the provider's text holds all that a program finds. */
const NOTHING_LOST = "The provider's own compaction, which opens this list, tells what came before.";

/**
 * A summarizer that has the provider of the call compact its own list. `summarize` throws `SummarizerFailed` where the
 * provider cannot or does not, and where its text holds a secret: it must be sent back unchanged, and is stored.
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
          tell(options, { started, error });
          throw error;
        });
      tell(options, { started, made });
      if (redact(made.text) !== made.text) throw unable("its text holds a secret, which may not be stored");
      const text = await whatIsLost(messages, options, made.text);
      const tokens = (options.countText ?? countO200k)(text);
      const opening = { entry: made.entry, covers };
      return { text, tokens, summarizer: NAME, messagesRead: messages.length, coverage: 1, opening };
    },
  };
}

function countO200k(text: string): number {
  return o200kBase.count(text);
}

function unable(why: string): CompactError {
  return new CompactError("SummarizerFailed", `${NAME}: ${why}`, {
    hint: "Calls through compactFetch, a compacted client or the proxy to a model whose provider compacts on demand can be; the built-in summarizer stands in for the others.",
  });
}

/** How many entries of the live list the provider is given: to the last that leaves, with the results of its calls. */
function coveredBy(messages: readonly Message[], live: LiveConversation): number {
  const ids = new Set(messages.map(({ id }) => id));
  let covers =
    live.messages.findLastIndex(({ id, meta }) => ids.has(id) || meta?.summaryVersion !== undefined) + 1;
  for (;;) {
    const next = live.messages[covers];
    if (next === undefined || toolResults(next).length === 0) return covers;
    covers += 1;
  }
}

/** The lines of what a program finds in the messages that the provider's text does not hold. */
async function whatIsLost(
  messages: readonly Message[],
  options: SummarizeOptions,
  said: string,
): Promise<string> {
  const { reading, previous, strategy, countText } = await readInput(messages, options);
  const { maxTokens } = options;
  const facts = factsOf(reading, { strategy, requests: true, previous, countText });
  const room = maxTokens - countText(`${WRITTEN_INTRODUCTION}\n`);
  const lines = room <= 0 ? [] : withoutSaid(facts(room, said), oneLine(said).toLowerCase());
  const text = [WRITTEN_INTRODUCTION, ...lines].map(escapeSummaryTags).join("\n");
  return lines.length > 0 && countText(text) <= maxTokens ? text : NOTHING_LOST;
}

/** Without the items that a text holds word for word, and without sections that are empty then. */
function withoutSaid(lines: readonly string[], said: string): string[] {
  const left = lines.filter((line) => {
    const item = /^(?:- |> )(.*)$/.exec(line)?.[1];
    return item === undefined || !said.includes(oneLine(item).toLowerCase());
  });
  return left.filter(
    (line, index) => !line.startsWith("## ") || !(left[index + 1] ?? "## ").startsWith("## "),
  );
}

interface Asked {
  readonly started: number;
  readonly made?: ProviderCompaction;
  readonly error?: unknown;
}

function tell({ onAttempt, maxTokens, strategy = "task_state", live }: SummarizeOptions, asked: Asked): void {
  const { made, error, started } = asked;
  const usage = normalizeUsage(made?.usage);
  onAttempt?.({
    model: made?.model ?? NAME,
    prompt: "provider",
    strategy,
    input: "prefix",
    part: 1,
    parts: 1,
    maxTokens,
    outcome: made === undefined ? "error" : "accepted",
    detail: made === undefined ? errorMessage(error) : undefined,
    error,
    durationMs: platform.clock() - started,
    inputTokens: live?.tokens ?? 0,
    outputTokens: countO200k(made?.text ?? ""),
    usage,
  });
}
