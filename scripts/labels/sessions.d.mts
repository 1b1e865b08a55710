export interface LabelRow {
  readonly file: string;
  readonly section: string;
}

export interface Sentence {
  readonly lang: string;
  readonly kind: string;
  readonly text: string;
}

export function readLabels(set: string): Map<string, LabelRow[]>;
export function readSentences(set: string): Sentence[];
