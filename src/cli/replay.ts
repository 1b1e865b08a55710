import { CompactManager } from "../compaction/manager.ts";
import type { CompactionResult } from "../compaction/report.ts";
import type { Message } from "../messages/message.ts";
import { createMemoryDriver } from "../storage/drivers/memory.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import type { Settings } from "./settings.ts";

/** One compaction in the course of a session. */
export interface Round {
  /** The model call before which it happened, from 1. */
  readonly call: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly elapsedMs: number;
}

export interface Replay {
  /** Model calls of the whole session. */
  readonly calls: number;
  readonly messages: number;
  readonly rounds: readonly Round[];
  /** Tokens of the largest request that was sent, and of the largest there would have been without compaction. */
  readonly mostSent: number;
  readonly mostRaw: number;
  /** Calls whose request was over the budget: as sent (must be 0), and as it would have been. */
  readonly overBudget: number;
  readonly rawOverBudget: number;
  /** Prompt tokens of all calls together, and those that a prefix cache had seen in the call before. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly rawPromptTokens: number;
  /** Milliseconds in calls that compacted, in all preflights, and of the whole replay. */
  readonly compactionMs: number;
  readonly preflightMs: number;
  readonly elapsedMs: number;
  /** Milliseconds that the session itself lasted, where its messages say so. */
  readonly sessionMs: number | undefined;
}

export interface ReplayPorts {
  clock(): number;
  onWarning(text: string): void;
  /** Hears how far the replay is, 0 to 1. */
  onProgress(share: number): void;
}

/** Every message in the order of the session, copies that its own compactions made left out. */
function wholeHistory({ segments }: Transcript): Message[] {
  return segments.flatMap((segment, index) =>
    index === 0 ? segment.messages : segment.messages.slice(segment.carried),
  );
}

/** Plays the session as a live agent would have run it: a preflight with the raw list before each model call. */
export async function replaySession(
  transcript: Transcript,
  settings: Settings,
  ports: ReplayPorts,
): Promise<Replay> {
  const history = wholeHistory(transcript);
  const manager = new CompactManager(managerConfig(settings), {
    storage: createMemoryDriver(),
    clock: ports.clock,
    onWarning: ports.onWarning,
  });
  const tally = createTally(settings);
  const started = ports.clock();
  const prompts = callStarts(history);
  for (const [number, end] of prompts.entries()) {
    const raw = history.slice(0, end);
    const before = ports.clock();
    const result = await manager.preflight<Message>("replay", raw, {
      ...(transcript.system === undefined ? {} : { system: transcript.system }),
      ...(transcript.tools === undefined ? {} : { tools: transcript.tools }),
    });
    tally.add(raw, result, { call: number + 1, elapsedMs: ports.clock() - before });
    ports.onProgress((number + 1) / prompts.length);
  }
  return {
    calls: prompts.length,
    messages: history.length,
    ...tally.sums(),
    elapsedMs: ports.clock() - started,
    sessionMs: durationOf(history),
  };
}

function managerConfig({
  config,
  model,
  window,
  onOverflow,
  strategy,
}: Settings): ConstructorParameters<typeof CompactManager>[0] {
  return {
    ...config,
    ...(model === undefined ? {} : { model }),
    maxContextTokens: window,
    policy: { ...config.policy, onOverflow, strategy },
    storage: { ...config.storage, kind: "memory" },
  };
}

/** Where each model call's prompt ends: before an assistant message that does not follow another. */
function callStarts(history: readonly Message[]): number[] {
  return history.flatMap((message, index) => {
    const answers = message.role === "assistant" && message.meta?.summaryVersion === undefined;
    return index > 0 && answers && history[index - 1]?.role !== "assistant" ? [index] : [];
  });
}

type Sums = Omit<Replay, "calls" | "messages" | "elapsedMs" | "sessionMs">;

function createTally({ counter, fixedTokens, budget }: Settings) {
  const rounds: Round[] = [];
  const sums = {
    ...{ mostSent: 0, mostRaw: 0, overBudget: 0, rawOverBudget: 0 },
    ...{ promptTokens: 0, cachedTokens: 0, rawPromptTokens: 0, compactionMs: 0, preflightMs: 0 },
  };
  let previous: readonly Message[] = [];
  const size = (messages: readonly Message[]): number =>
    messages.reduce((total, message) => total + counter.countMessage(message), fixedTokens);

  return {
    add(
      raw: readonly Message[],
      { messages, report }: CompactionResult<Message>,
      { call, elapsedMs }: { readonly call: number; readonly elapsedMs: number },
    ): void {
      const sent = size(messages);
      const whole = size(raw);
      const known = commonPrefix(previous, messages);
      sums.mostSent = Math.max(sums.mostSent, sent);
      sums.mostRaw = Math.max(sums.mostRaw, whole);
      sums.overBudget += sent > budget ? 1 : 0;
      sums.rawOverBudget += whole > budget ? 1 : 0;
      sums.promptTokens += sent;
      sums.rawPromptTokens += whole;
      sums.cachedTokens += previous.length === 0 ? 0 : size(messages.slice(0, known));
      sums.preflightMs += elapsedMs;
      previous = messages;
      if (!report.compacted) return;
      const { tokensBefore, tokensAfter, messagesBefore, messagesAfter } = report;
      sums.compactionMs += elapsedMs;
      rounds.push({ call, tokensBefore, tokensAfter, messagesBefore, messagesAfter, elapsedMs });
    },
    sums: (): Sums => ({ ...sums, rounds }),
  };
}

/** How many of the first messages are the very same: an edited message is another object. */
function commonPrefix(before: readonly Message[], now: readonly Message[]): number {
  let length = 0;
  while (length < before.length && length < now.length && before[length] === now[length]) length += 1;
  return length;
}

function durationOf(history: readonly Message[]): number | undefined {
  const times = history.flatMap(({ meta }) => {
    const time = Date.parse(meta?.timestamp ?? "");
    return Number.isNaN(time) ? [] : [time];
  });
  const [first] = times;
  const last = times.at(-1);
  return first === undefined || last === undefined || last <= first ? undefined : last - first;
}
