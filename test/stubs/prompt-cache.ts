import { createHash } from "node:crypto";
import type { PromptUsage } from "./answers.ts";

/** A segment of a request in the provider's reading order: tools, system, messages. */
export interface Segment {
  readonly text: string;
  readonly tokens: number;
  /** Anything outside this segment that invalidates it, such as the tool choice for messages. */
  readonly under?: string;
  /** The caller's cache breakpoint after this segment. */
  readonly mark?: "5m" | "1h";
}

export interface CacheSettings {
  /** Minimum tokens for caching. */
  readonly least: number;
  /**
   * `prefix`: the longest common prefix with any earlier request, in steps of 128 tokens (OpenAI up to 5.5).
   * `whole`: an earlier request that is as a whole a prefix of this one (OpenAI since 5.6). `marked`: up to
   * the caller's breakpoints, each looked up over the previous 20 segments (Anthropic).
   */
  readonly kind: "prefix" | "whole" | "marked";
  /** Milliseconds of the test's clock. */
  now(): number;
}

export interface PromptCache {
  /** The usage of a request, which is cached afterwards. */
  read(segments: readonly Segment[]): PromptUsage;
  clear(): void;
}

const STEP = 128;
const LOOK_BACK = 20;
const LIFE = { "5m": 5 * 60_000, "1h": 60 * 60_000 } as const;
/** Lifetime of a request without breakpoints: ten minutes. */
const UNMARKED_LIFE = 10 * 60_000;

interface Point {
  readonly hash: string;
  /** Cumulative tokens, including this segment. */
  readonly tokens: number;
  readonly segment: Segment;
}

function pointsOf(segments: readonly Segment[]): Point[] {
  let hash = "";
  let tokens = 0;
  return segments.map((segment) => {
    hash = createHash("sha256")
      .update(`${hash}\n${segment.under ?? ""}\n${segment.text}`)
      .digest("base64");
    tokens += segment.tokens;
    return { hash, tokens, segment };
  });
}

/** A provider's prompt cache by its published rules; accurate to a segment, not to a token. */
export function createPromptCache(settings: CacheSettings): PromptCache {
  /** By prefix hash: its expiry, and the lifetime that each use renews. */
  const kept = new Map<string, { until: number; life: number }>();
  const { least, now } = settings;

  function alive(point: Point | undefined): boolean {
    if (point === undefined) return false;
    const entry = kept.get(point.hash);
    return entry !== undefined && entry.until > now();
  }

  function keep(point: Point, life: number): void {
    const longest = Math.max(life, alive(point) ? (kept.get(point.hash)?.life ?? 0) : 0);
    kept.set(point.hash, { until: now() + longest, life: longest });
  }

  function readMarked(points: readonly Point[]): PromptUsage {
    const input = points.at(-1)?.tokens ?? 0;
    const marks = points.flatMap(({ segment, tokens }, index) =>
      segment.mark === undefined || tokens < least ? [] : [index],
    );
    const hits = marks.map((mark) => {
      const from = Math.max(0, mark - LOOK_BACK + 1);
      return (
        points.slice(from, mark + 1).findLastIndex((point) => alive(point) && point.tokens >= least) + from
      );
    });
    const hit = points[Math.max(-1, ...hits.filter((index) => alive(points[index])))];
    const cacheRead = hit?.tokens ?? 0;
    let cacheWrite = 0;
    let cacheWrite1h = 0;
    let done = cacheRead;
    for (const index of marks) {
      const point = points[index];
      if (point === undefined) continue;
      const life = point.segment.mark === "1h" ? LIFE["1h"] : LIFE["5m"];
      const fresh = Math.max(0, point.tokens - done);
      cacheWrite += fresh;
      if (life === LIFE["1h"]) cacheWrite1h += fresh;
      done = Math.max(done, point.tokens);
      keep(point, life);
    }
    if (hit !== undefined) keep(hit, LIFE["5m"]);
    return { input, cacheRead, cacheWrite, cacheWrite1h };
  }

  function readWhole(points: readonly Point[]): PromptUsage {
    const input = points.at(-1)?.tokens ?? 0;
    const last = points.at(-1);
    const cacheRead = points.findLast((point) => point.tokens >= least && alive(point))?.tokens ?? 0;
    if (last !== undefined && input >= least) keep(last, 30 * 60_000);
    return { input, cacheRead, cacheWrite: input >= least ? input - cacheRead : 0, cacheWrite1h: 0 };
  }

  /** Segments of earlier requests, for common prefixes that end inside a segment. */
  let earlier: { segments: readonly Segment[]; until: number }[] = [];

  function readPrefix(segments: readonly Segment[]): PromptUsage {
    const input = segments.reduce((total, { tokens }) => total + tokens, 0);
    earlier = earlier.filter(({ until }) => until > now());
    const common = Math.max(0, ...earlier.map((one) => commonTokens(one.segments, segments)));
    const rounded = common < least ? 0 : least + Math.floor((common - least) / STEP) * STEP;
    earlier = [...earlier.slice(-79), { segments, until: now() + UNMARKED_LIFE }];
    // The last token is never read from the cache.
    const cacheRead = rounded >= input ? Math.max(0, rounded - STEP) : rounded;
    return { input, cacheRead: cacheRead < least ? 0 : cacheRead, cacheWrite: 0, cacheWrite1h: 0 };
  }

  return {
    read: (segments) => {
      if (settings.kind === "prefix") return readPrefix(segments);
      const points = pointsOf(segments);
      return settings.kind === "marked" ? readMarked(points) : readWhole(points);
    },
    clear: () => {
      kept.clear();
      earlier = [];
    },
  };
}

function commonTokens(left: readonly Segment[], right: readonly Segment[]): number {
  let tokens = 0;
  for (const [index, segment] of right.entries()) {
    const other = left[index];
    if (other === undefined || (other.under ?? "") !== (segment.under ?? "")) return tokens;
    if (other.text !== segment.text) {
      const same = commonLength(other.text, segment.text);
      return tokens + Math.floor((same / Math.max(1, segment.text.length)) * segment.tokens);
    }
    tokens += segment.tokens;
  }
  return tokens;
}

function commonLength(left: string, right: string): number {
  const most = Math.min(left.length, right.length);
  let index = 0;
  while (index < most && left.charCodeAt(index) === right.charCodeAt(index)) index += 1;
  return index;
}
