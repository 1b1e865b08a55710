import type { PromptUse } from "compact-context/internal/tokens/models";

/** The smallest unit of a request that is cached: one message, or the system prompt with the tools. */
export interface CacheSegment {
  /** Content hash. */
  readonly hash: string;
  readonly tokens: number;
  /** Content blocks; some providers limit the lookback from a breakpoint by them. */
  readonly blocks: number;
}

export interface CacheRequest {
  readonly segments: readonly CacheSegment[];
  /** Indexes of the segments that end a prefix to store, ascending. */
  readonly breakpoints: readonly number[];
  /** Seconds; never decreases from one request to the next. */
  readonly time: number;
}

/** How a provider's cache matches and expires prefixes. */
export interface SimulatedRules {
  /** What is cached: `breakpoints` only marked prefixes, `prefix` any prefix in steps of 128 tokens, `none` nothing. */
  readonly kind: "breakpoints" | "prefix" | "none";
  /** Minimum tokens of a stored prefix. */
  readonly minimum: number;
  /** Seconds from the last write or read of an entry until it expires; infinite if it never does. */
  readonly lifetime: number;
  /** Blocks before a breakpoint that are searched for a stored prefix; infinite for no limit. */
  readonly lookback: number;
}

const PREFIX_STEP = 128;

/** An empty cache. Each request, in order of time, returns where its prompt tokens came from. */
export function createCache(rules: SimulatedRules): (request: CacheRequest) => PromptUse {
  const { kind, minimum, lifetime, lookback } = rules;
  /** Expiry in seconds, by prefix key. */
  const expiries = new Map<number, number>();
  const isAlive = ({ key }: Prefix, time: number): boolean =>
    (expiries.get(key) ?? Number.NEGATIVE_INFINITY) >= time;

  function lookUpPrefix(prefixes: readonly Prefix[], time: number): number {
    const missing = prefixes.findIndex((prefix) => !isAlive(prefix, time));
    const known = prefixes.at(missing < 0 ? -1 : missing - 1);
    const stored = missing === 0 || known === undefined ? 0 : known.tokens;
    const steps = Math.floor(stored / PREFIX_STEP) * PREFIX_STEP;
    for (const { key } of prefixes) expiries.set(key, time + lifetime);
    return steps < minimum ? 0 : steps;
  }

  function lookUpBreakpoints(prefixes: readonly Prefix[], { breakpoints, time }: CacheRequest): PromptUse {
    let cached = 0;
    for (const index of breakpoints) {
      const reach = (prefixes[index]?.blocks ?? 0) - lookback;
      const found = prefixes
        .slice(0, index + 1)
        .findLast((prefix) => prefix.blocks >= reach && isAlive(prefix, time));
      if (found === undefined) continue;
      cached = Math.max(cached, found.tokens);
      expiries.set(found.key, time + lifetime);
    }
    let end = cached;
    for (const { key, tokens } of breakpoints.flatMap((index) => prefixes[index] ?? [])) {
      if (tokens < minimum) continue;
      expiries.set(key, time + lifetime);
      end = Math.max(end, tokens);
    }
    return { cached, written: end - cached, uncached: (prefixes.at(-1)?.tokens ?? 0) - end };
  }

  return (request) => {
    const prefixes = prefixesOf(request.segments);
    const total = prefixes.at(-1)?.tokens ?? 0;
    if (kind === "none") return { cached: 0, written: 0, uncached: total };
    if (kind === "breakpoints") return lookUpBreakpoints(prefixes, request);
    const cached = lookUpPrefix(prefixes, request.time);
    return { cached, written: total - cached, uncached: 0 };
  };
}

interface Prefix {
  readonly key: number;
  readonly tokens: number;
  readonly blocks: number;
}

/** The prefix that ends after each segment. Keys mix the hashes as cyrb53 does (bryc, public domain). */
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

export function tokensOf(segments: readonly CacheSegment[]): number {
  return segments.reduce((total, segment) => total + segment.tokens, 0);
}
