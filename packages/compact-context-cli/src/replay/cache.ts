import type { PromptUse } from "compact-context/internal/tokens/models";
/** A stretch of a request that is always sent as a whole: one message, or the system prompt with the tools. */
export interface CacheSegment {
  /** Equal for equal content. */
  readonly hash: string;
  readonly tokens: number;
  /** Content blocks, which some providers count when they look back for a stored prefix. */
  readonly blocks: number;
}

export interface CacheRequest {
  readonly segments: readonly CacheSegment[];
  /** Indexes of the segments after which the caller asks for the prefix to be stored, ascending. */
  readonly breakpoints: readonly number[];
  /** Seconds; must not fall from one request to the next. */
  readonly time: number;
}

/** How a provider's cache finds and keeps a prefix. */
export interface SimulatedRules {
  /** `breakpoints`: only where one was set; `prefix`: after any segment, in steps of 128 tokens; `none`: never. */
  readonly kind: "breakpoints" | "prefix" | "none";
  /** Fewest tokens of a stored prefix. */
  readonly minimum: number;
  /** Seconds that a prefix lives after it was last written or read; infinite for one that stays. */
  readonly lifetime: number;
  /** Blocks before a breakpoint within which a stored prefix is found; infinite for no limit. */
  readonly lookback: number;
}

const PREFIX_STEP = 128;

/** A cache, empty at first, that is asked one request at a time, in order of time: where the prompt tokens came from. */
export function createCache(rules: SimulatedRules): (request: CacheRequest) => PromptUse {
  const expiries = new Map<number, number>();
  return (request) => {
    const prefixes = prefixesOf(request.segments);
    if (rules.kind === "none") return { cached: 0, written: 0, uncached: prefixes.at(-1)?.tokens ?? 0 };
    const ask = rules.kind === "prefix" ? askPrefix : askBreakpoints;
    return ask(prefixes, request, { rules, expiries });
  };
}

interface Store {
  readonly rules: SimulatedRules;
  /** Second until which a prefix lives, by its key. */
  readonly expiries: Map<number, number>;
}

interface Prefix {
  readonly key: number;
  readonly tokens: number;
  readonly blocks: number;
}

/** The prefixes that end behind each segment. Keys mix the hashes as cyrb53 does (bryc, public domain). */
function prefixesOf(segments: readonly CacheSegment[]): Prefix[] {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  let tokens = 0;
  let blocks = 0;
  return segments.map((segment) => {
    for (let index = 0; index < segment.hash.length; index += 1) {
      const code = segment.hash.charCodeAt(index);
      high = Math.imul(high ^ code, 2654435761);
      low = Math.imul(low ^ code, 1597334677);
    }
    high = Math.imul(high ^ 0x10000 ^ (low >>> 15), 2246822507);
    low = Math.imul(low ^ 0x20000 ^ (high >>> 13), 3266489909);
    tokens += segment.tokens;
    blocks += segment.blocks;
    return { key: (high >>> 11) * 2 ** 32 + (low >>> 0), tokens, blocks };
  });
}

function isAlive({ key }: Prefix, time: number, { expiries }: Store): boolean {
  return (expiries.get(key) ?? Number.NEGATIVE_INFINITY) >= time;
}

function askPrefix(prefixes: readonly Prefix[], { time }: CacheRequest, store: Store): PromptUse {
  const { minimum, lifetime } = store.rules;
  const missing = prefixes.findIndex((prefix) => !isAlive(prefix, time, store));
  const known = prefixes.at(missing < 0 ? -1 : missing - 1);
  const stored = missing === 0 || known === undefined ? 0 : known.tokens;
  const steps = Math.floor(stored / PREFIX_STEP) * PREFIX_STEP;
  const cached = steps < minimum ? 0 : steps;
  for (const { key } of prefixes) store.expiries.set(key, time + lifetime);
  return { cached, written: (prefixes.at(-1)?.tokens ?? 0) - cached, uncached: 0 };
}

function askBreakpoints(
  prefixes: readonly Prefix[],
  { breakpoints, time }: CacheRequest,
  store: Store,
): PromptUse {
  const { minimum, lifetime, lookback } = store.rules;
  const total = prefixes.at(-1)?.tokens ?? 0;
  let cached = 0;
  for (const index of breakpoints) {
    const reach = (prefixes[index]?.blocks ?? 0) - lookback;
    const found = prefixes
      .slice(0, index + 1)
      .findLast((prefix) => prefix.blocks >= reach && isAlive(prefix, time, store));
    if (found === undefined) continue;
    cached = Math.max(cached, found.tokens);
    store.expiries.set(found.key, time + lifetime);
  }
  let end = cached;
  for (const { key, tokens } of breakpoints.flatMap((index) => prefixes[index] ?? [])) {
    if (tokens < minimum) continue;
    store.expiries.set(key, time + lifetime);
    end = Math.max(end, tokens);
  }
  return { cached, written: end - cached, uncached: total - end };
}

/** Tokens of all segments together. */
export function tokensOf(segments: readonly CacheSegment[]): number {
  return segments.reduce((total, segment) => total + segment.tokens, 0);
}
