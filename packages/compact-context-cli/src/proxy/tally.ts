import { createLruMap } from "compact-context/internal/errors";
import {
  dollarsOf,
  lookUpModel,
  type ModelOverrides,
  type PromptUse,
} from "compact-context/internal/tokens/models";
import { normalizeUsage } from "compact-context/internal/tokens/usage";
import { formatCount, formatPercent, formatShort, plural } from "../render/text.ts";

/** One call, as it is recorded in the tally. */
interface TalliedCall {
  readonly session: string;
  readonly model: string | undefined;
  readonly compacted: boolean;
  /** Bytes of the body before and after compaction. */
  readonly bytesGiven: number;
  readonly bytesSent: number;
}

/** Totals of all calls. Usage is the provider's own; savings are estimated. */
interface Totals {
  requests: number;
  compactions: number;
  /** Calls sent unchanged because compaction failed. */
  unmodified: number;
  /** Calls whose list the provider does not take. */
  refused: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Prompt tokens saved. */
  savedTokens: number;
  /** Estimated cost of the calls with the full prompt and a warm cache, minus their actual cost. */
  savedDollars: number;
}

export interface Tally {
  readonly totals: Readonly<Totals>;
  readonly sessions: number;
  /** Records a call that is sent. */
  sent(call: TalliedCall): void;
  /** Records the usage of the session's newest call; a later record of the same call replaces it. */
  used(session: string, usage: unknown): void;
  /** Counts what `sent` does not: of a call without a session only that it was sent. */
  count(what: "requests" | "unmodified" | "refused"): void;
}

/** A session's newest call, and its share of the totals. */
interface Newest {
  call: TalliedCall;
  /** Prompt tokens of the whole list at the previous call. */
  before: number;
  whole: number;
  added: Pick<Totals, "inputTokens" | "cachedTokens" | "outputTokens" | "savedTokens" | "savedDollars">;
}

const NOTHING: Newest["added"] = {
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  savedTokens: 0,
  savedDollars: 0,
};

const MOST_SESSIONS = 1000;
const MOST_TOKENS = 100_000_000;

export function createTally(models: ModelOverrides): Tally {
  const newest = createLruMap<Newest>(MOST_SESSIONS);
  let sessions = 0;
  const totals: Totals = { requests: 0, compactions: 0, unmodified: 0, refused: 0, ...NOTHING };
  const change = (added: Newest["added"], sign: 1 | -1): void => {
    for (const name of Object.keys(NOTHING) as (keyof Newest["added"])[]) totals[name] += sign * added[name];
  };

  return {
    totals,
    get sessions() {
      return sessions;
    },
    sent(call) {
      totals.requests += 1;
      if (call.compacted) totals.compactions += 1;
      const before = newest.get(call.session);
      if (before === undefined) sessions += 1;
      // The whole is 0 for a call that was refused or is not answered.
      const grownFrom = before?.whole || before?.before || 0;
      newest.set(call.session, { call, before: grownFrom, whole: 0, added: NOTHING });
    },
    used(session, usage) {
      const entry = newest.get(session);
      const read = normalizeUsage(usage);
      // Usage above any model's limit, or with more cached tokens than total tokens, is ignored.
      if (entry === undefined || read === undefined || read.input > MOST_TOKENS) return;
      if (read.cacheRead + read.cacheWrite > read.input || read.output > MOST_TOKENS) return;
      const { bytesGiven, bytesSent, model = "" } = entry.call;
      const saved = Math.max(0, Math.round((read.input * (bytesGiven - bytesSent)) / Math.max(1, bytesSent)));
      const writes = read.cacheWrite > 0;
      const rest = read.input - read.cacheRead - read.cacheWrite;
      const facts = lookUpModel(model, models);
      entry.whole = Math.min(read.input + saved, facts.window);
      const grown = Math.max(0, entry.whole - entry.before);
      const without: PromptUse = {
        cached: entry.whole - grown,
        written: writes ? grown : 0,
        uncached: writes ? 0 : grown,
      };
      const own: PromptUse = { cached: read.cacheRead, written: read.cacheWrite, uncached: rest };
      const kept = dollarsOf(without, 0, facts);
      const paid = dollarsOf(own, 0, facts);
      change(entry.added, -1);
      entry.added = {
        inputTokens: read.input,
        cachedTokens: read.cacheRead,
        outputTokens: read.output,
        savedTokens: saved,
        // A call that was not compacted costs the same either way.
        savedDollars: saved === 0 || kept === undefined || paid === undefined ? 0 : kept - paid,
      };
      change(entry.added, 1);
    },
    count(what) {
      totals[what] += 1;
    },
  };
}

/** `12 requests · 2 compactions · 310k tokens saved (≈ $0.41) · 91% from the cache`. */
export function tallyLine({ totals }: Tally): string {
  const { requests, compactions, savedTokens, savedDollars, inputTokens, cachedTokens, unmodified } = totals;
  const amount = `≈ $${Math.abs(savedDollars).toFixed(2)}`;
  const sign = savedDollars < 0 ? ` (${amount} more than with all of it cached)` : ` (${amount})`;
  const dollars = Math.abs(savedDollars) < 0.005 ? "" : sign;
  return [
    plural(requests, "request"),
    plural(compactions, "compaction"),
    // Known only once the provider has reported a compacted call.
    ...(savedTokens > 0 ? [`${formatShort(savedTokens)} tokens saved${dollars}`] : []),
    ...(inputTokens > 0 ? [`${formatPercent(cachedTokens, inputTokens)} from the cache`] : []),
    ...(unmodified > 0 ? [`${formatCount(unmodified)} sent unmodified`] : []),
  ].join(" · ");
}

/** The same for Prometheus, text format 0.0.4; totals only grow. */
export function tallyMetrics({ totals, sessions }: Tally, storageUp: boolean): string {
  const { inputTokens, cachedTokens } = totals;
  const share = inputTokens === 0 ? 0 : cachedTokens / inputTokens;
  const metrics: readonly (readonly [name: string, help: string, value: number])[] = [
    ["requests_total", "Model calls that were sent on.", totals.requests],
    ["compactions_total", "Compactions.", totals.compactions],
    ["sent_unmodified_total", "Calls sent as they came because compacting failed.", totals.unmodified],
    ["refused_total", "Calls whose list the provider does not take.", totals.refused],
    ["sessions", "Sessions seen since the start.", sessions],
    ["input_tokens_total", "Prompt tokens as the provider reports them.", inputTokens],
    ["cached_input_tokens_total", "Prompt tokens read from the provider's cache.", cachedTokens],
    ["output_tokens_total", "Answer tokens as the provider reports them.", totals.outputTokens],
    [
      "saved_tokens_estimated_total",
      "Prompt tokens that were not sent, estimated by bytes.",
      totals.savedTokens,
    ],
    [
      "saved_dollars_estimated",
      "Dollars saved against sending everything with a warm cache.",
      totals.savedDollars,
    ],
    ["cache_share", "Share of prompt tokens read from the cache, 0 to 1.", share],
    ["storage_up", "1 when the archive can be written, 0 when not.", storageUp ? 1 : 0],
  ];
  const lines = metrics.map(([name, help, value]) => {
    const type = name.endsWith("_total") ? "counter" : "gauge";
    return `# HELP compact_proxy_${name} ${help}\n# TYPE compact_proxy_${name} ${type}\ncompact_proxy_${name} ${value}\n`;
  });
  return lines.join("");
}
