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
  const expiries = new Map<number, number>();
  return (request) => {
    const prefixes = prefixesOf(request.segments);
    if (rules.kind === "none") return { cached: 0, written: 0, uncached: prefixes.at(-1)?.tokens ?? 0 };
    const lookUp = rules.kind === "prefix" ? lookUpPrefix : lookUpBreakpoints;
    return lookUp(prefixes, request, { rules, expiries });
  };
}

interface Store {
  readonly rules: SimulatedRules;
  /** Expiry in seconds, by prefix key. */
  readonly expiries: Map<number, number>;
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

function isAlive({ key }: Prefix, time: number, { expiries }: Store): boolean {
  return (expiries.get(key) ?? Number.NEGATIVE_INFINITY) >= time;
}

function lookUpPrefix(prefixes: readonly Prefix[], { time }: CacheRequest, store: Store): PromptUse {
  const { minimum, lifetime } = store.rules;
  const missing = prefixes.findIndex((prefix) => !isAlive(prefix, time, store));
  const known = prefixes.at(missing < 0 ? -1 : missing - 1);
  const stored = missing === 0 || known === undefined ? 0 : known.tokens;
  const steps = Math.floor(stored / PREFIX_STEP) * PREFIX_STEP;
  const cached = steps < minimum ? 0 : steps;
  for (const { key } of prefixes) store.expiries.set(key, time + lifetime);
  return { cached, written: (prefixes.at(-1)?.tokens ?? 0) - cached, uncached: 0 };
}

function lookUpBreakpoints(
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

export function tokensOf(segments: readonly CacheSegment[]): number {
  return segments.reduce((total, segment) => total + segment.tokens, 0);
}
