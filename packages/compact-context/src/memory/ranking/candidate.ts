/** A piece of text that can be recalled: a message, a section of a note, a line of a list. */
export interface RecallCandidate {
  readonly id: string;
  readonly content: string;
  /** Its heading, with those above it; counts like content. */
  readonly title?: string;
  /** Who wrote or said it; a query that names them prefers what is theirs. */
  readonly author?: string;
  /** When it was written: ISO text, a date in English words, or milliseconds since 1970. */
  readonly timestamp?: string | number | Date;
  /**
   * What it is part of: a conversation, a file. Neighbours in one section explain each other. Left out everywhere, those
   * with an order or author are one section, those with only a timestamp one for each time.
   */
  readonly section?: string | number;
  /** Its place in the section; that in the list when left out. */
  readonly order?: number;
}

/** Where candidates come from: a list in memory, or a store that finds the likely ones first. */
export interface CandidateSource {
  /** All candidates, or those that may answer the query together with their neighbours in the section. */
  candidates(query: string): Promise<readonly RecallCandidate[]> | readonly RecallCandidate[];
}

export interface RecallHit {
  readonly id: string;
  /** Above 0; comparable within one search only. */
  readonly score: number;
}
