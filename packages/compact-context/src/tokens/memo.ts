import { textHash } from "../core/message.ts";

/** Remembers one number per text, by the text's fingerprint: no text is kept alive. */
export interface TextMemo {
  get(text: string, compute: (text: string) => number): number;
  clear(): void;
}

/** A memo that forgets what was not asked for lately; two generations of `limit` texts are kept, of about 100 bytes each. */
export function createTextMemo(limit = 4_096): TextMemo {
  let recent = new Map<number, number>();
  let older = new Map<number, number>();

  function keep(key: number, value: number): void {
    if (recent.size >= limit) {
      older = recent;
      recent = new Map();
    }
    recent.set(key, value);
  }

  return {
    get(text, compute) {
      const key = textHash(text);
      const known = recent.get(key);
      if (known !== undefined) return known;
      const value = older.get(key) ?? compute(text);
      keep(key, value);
      return value;
    },
    clear() {
      recent = new Map();
      older = new Map();
    },
  };
}
