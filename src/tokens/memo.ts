/** Remembers one number per text; at most two generations of `limit` texts or `characters` characters are kept alive. */
export interface TextMemo {
  get(text: string, compute: (text: string) => number): number;
  clear(): void;
}

/** A memo that forgets what was not asked for lately. */
export function createTextMemo(limit = 4_096, characters = 4_000_000): TextMemo {
  let recent = new Map<string, number>();
  let older = new Map<string, number>();
  let held = 0;

  function keep(text: string, value: number): void {
    if (recent.size >= limit || held >= characters) {
      older = recent;
      recent = new Map();
      held = 0;
    }
    recent.set(text, value);
    held += text.length;
  }

  return {
    get(text, compute) {
      const known = recent.get(text);
      if (known !== undefined) return known;
      const value = older.get(text) ?? compute(text);
      keep(text, value);
      return value;
    },
    clear() {
      recent = new Map();
      older = new Map();
      held = 0;
    },
  };
}
