export interface ReadText {
  readonly text: string;
  readonly plain: string;
  readonly words: ReadonlySet<string>;
}

export function readText(text: string): ReadText;
export function matches(one: ReadText, other: ReadText): boolean;
