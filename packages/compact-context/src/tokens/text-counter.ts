import { errorMessage } from "../errors.ts";
import type { TextEncoding } from "./encoding.ts";
import { createTextMemo } from "./memo.ts";

/** floor(length / 4), at least 1 for any text: what is counted when no encoding can be loaded. */
export function fallbackTokens(text: string): number {
  return text === "" ? 0 : Math.max(1, Math.floor(text.length / 4));
}

/** Counts text in one encoding, each text once; from the encoding's first failure on by length. Never throws. */
export interface TextCounter {
  count(text: string): number;
  /** False once the encoding failed to load; it is loaded by the first count, not by asking. */
  works(): boolean;
}

/** A text counter that tells `warn` once when the encoding fails. */
export function createTextCounter(encoding: TextEncoding, warn: (message: string) => void): TextCounter {
  const memo = createTextMemo();
  let failed = false;
  const compute = (text: string): number => (failed ? fallbackTokens(text) : encoding.count(text));

  function count(text: string): number {
    if (text === "") return 0;
    try {
      return memo.get(text, compute);
    } catch (error) {
      failed = true;
      memo.clear();
      warn(
        `compact-context: ${encoding.name} cannot be loaded, counting characters/4 instead (${errorMessage(error)})`,
      );
      return memo.get(text, compute);
    }
  }

  return { count, works: () => !failed };
}
