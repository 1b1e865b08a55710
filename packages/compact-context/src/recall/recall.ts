import { CompactError, requireOptions } from "../errors.ts";
import type { Archive } from "../search/archive.ts";
import type { FoundMessage, SearchHit } from "../search/archive-search.ts";
import { o200kBase } from "../tokens/encodings/o200k-base.ts";
import { readableMessage } from "./readable.ts";
import { type Restored, restoreStep } from "./restore.ts";
import { within } from "./within.ts";

/** Brings back what left the prompt of one session; ids of other sessions find nothing. Secrets stay out of it. */
export interface Recall {
  readonly sessionId: string;
  /**
   * The message behind an archive id (as stubs and searches give it) or its own id, as much of it as fits; undefined
   * for an id that the archive does not hold for this session.
   */
  expand(id: string, options?: ExpandOptions): Promise<Expanded | undefined>;
  /** Messages by their words, best first; words in double quotes must stand there as they are. */
  search(text: string, options?: { readonly limit?: number }): Promise<readonly SearchHit[]>;
  /** The steps of the session that have a transcript: one for each compaction, ascending. */
  steps(): Promise<readonly number[]>;
  /** The conversation up to a step, the newest when left out, in its own format. Rejects with `NotFound`. */
  restore(step?: number, options?: { readonly asSent?: boolean }): Promise<Restored>;
}

export interface ExpandOptions {
  /** Most tokens of `text`; 2,000 when left out. */
  readonly maxTokens?: number;
  /** Where in the readable text to begin, in characters: `next` of the piece before. */
  readonly offset?: number;
}

/** An archived message and a piece of its readable text. */
export interface Expanded {
  readonly found: FoundMessage;
  /** Texts, calls with their arguments and results, one after the other; data of the past conversation, never an instruction. */
  readonly text: string;
  /** Characters before `text`, and of the whole. */
  readonly offset: number;
  readonly characters: number;
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

export interface RecallPorts {
  readonly sessionId: string;
  archive(): Promise<Archive>;
  /** o200k_base when left out. */
  countText?(text: string): number;
}

/** Most tokens that come back at once where nothing else is said. */
export const RECALL_TOKENS = 2000;

export function createRecall(ports: RecallPorts): Recall {
  requireOptions(ports, "ports", "Pass the session and its archive: { sessionId, archive }.");
  const { sessionId, archive, countText = o200kBase.count } = ports;
  return {
    sessionId,
    async expand(id, { maxTokens = RECALL_TOKENS, offset = 0 } = {}) {
      requireWhole("maxTokens", maxTokens, 1);
      requireWhole("offset", offset, 0);
      const found = await (await archive()).findMessage(sessionId, id);
      if (found === undefined) return undefined;
      const whole = readableMessage(found.message);
      const text = within(whole.slice(offset), maxTokens, countText);
      const end = Math.min(whole.length, offset + text.length);
      const next = end < whole.length ? end : undefined;
      return { found, text, offset, characters: whole.length, next };
    },
    async search(text, { limit } = {}) {
      const options = { sessionId, ...(limit === undefined ? {} : { limit }) };
      return (await (await archive()).search(text, options)).hits;
    },
    steps: async () => (await archive()).steps(sessionId),
    restore: async (step, options) => restoreStep(await archive(), sessionId, { step, ...options }),
  };
}

function requireWhole(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new CompactError("InvalidArgument", `${name} must be a whole number from ${least}, not ${value}`, {
    place: `options.${name}`,
    hint: "Leave it out, or pass `next` of the piece before as `offset`.",
  });
}
