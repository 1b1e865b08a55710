/** Encodings whose vocabulary is public and comes with the package. */
export type EncodingName = "cl100k_base" | "o200k_base";

/** Counts the tokens of text exactly; special-token strings are text like any other. */
export interface Encoding {
  readonly name: string;
  /** Throws when the vocabulary cannot be unpacked. */
  count(text: string): number;
}
