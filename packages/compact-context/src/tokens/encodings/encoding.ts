/** A public byte-pair encoding that counts, but does not produce, tokens. */
export interface Encoding {
  /** As OpenAI writes it, such as `o200k_base`. */
  readonly name: string;
  /**
   * Tokens of any text: special-token strings count as plain text, a lone surrogate as U+FFFD. Equal to tiktoken's
   * `encode_ordinary` as long as no single piece (a run without any break) is longer than 2^20 UTF-16 units; each further
   * such stretch may add a few tokens. The first call unpacks the vocabulary and throws an Error if that is corrupt.
   */
  count(text: string): number;
  /** The exact count if it is at most `limit`; otherwise some number above `limit`, found without reading all of the text. */
  countUpTo(text: string, limit: number): number;
}
