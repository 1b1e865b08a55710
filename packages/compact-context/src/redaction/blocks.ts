import { endsInsideKey } from "./private-keys.ts";

const BLOCK = 262_144;
/** Beyond this a line or a key without end is cut where it is. */
const LONGEST_BLOCK = 16_777_216;

/** Redacts a long text that arrives in chunks, with bounded memory. */
export interface BlockRedactor {
  /** What is settled so far; the rest waits for more. */
  push(chunk: string): string;
  /** What was waiting. */
  end(): string;
}

/**
 * Blocks of whole lines, some 256 K characters each and never cut inside a private key; a secret whose name
 * stands on the last line of one block and whose value on the first line of the next is not seen.
 * Text shorter than a block is redacted as a whole.
 */
export function createBlockRedactor(redactText: (text: string) => string): BlockRedactor {
  let waiting = "";
  return {
    push(chunk) {
      waiting += chunk;
      if (waiting.length < BLOCK) return "";
      const cut = waiting.length > LONGEST_BLOCK ? waiting.length : waiting.lastIndexOf("\n") + 1;
      const block = waiting.slice(0, cut);
      if (cut === 0 || (endsInsideKey(block) && waiting.length <= LONGEST_BLOCK)) return "";
      waiting = waiting.slice(cut);
      return redactText(block);
    },
    end() {
      const rest = waiting;
      waiting = "";
      return rest === "" ? "" : redactText(rest);
    },
  };
}
