/**
 * Every number that decides which lines a summary tells. Set by hand, once, from what a study of real agent sessions
 * found to come back later; fitting them to sessions made other sessions worse.
 */
export const WEIGHTS = {
  /** Log-odds of a fact to be written again by the agent. */
  likely: {
    base: -3.6,
    /** By ln(1 + messages that have it); by the share of the conversation between its first and last; by how late its last is. */
    messages: 0.9,
    spread: 1.0,
    recency: 0.5,
    /** By ln(1 + fewest facts in a message that has it) beyond `companyMean`: in a small message it is the point. */
    company: -0.45,
    companyMean: 3,
    /** By ln(1 + calls that have it); by the shares beside hot facts and in messages about files worked on. */
    calls: 0.4,
    hotBeside: 0.7,
    nearWork: 0.6,
    saidFirstByAssistant: 0.9,
    saidByUser: 0.5,
    superseded: -0.5,
    inLastRequest: 0.4,
    inLastError: 0.3,
    edited: 0.4,
    fromSummary: 1.0,
  },
  /** What a reader loses to a fact that is never needed: a bare one pays from 1 in 11 on, about the share that comes back. */
  distraction: 0.1,
  /** Worth of saying something about a fact, against its bare name, and how it sinks with each telling. */
  telling: 2.5,
  tellings: [1, 0.6, 0.4],
  /** From so many plain words on a line says something. */
  tellingWords: 8,
  /** Worth of what people and the assistant say without naming any fact. */
  speech: 0.02,
  /** Worth of each word of a person's wish, up to three. */
  wish: 1.5,
  /** By who a line comes from. */
  source: {
    assistant: 3,
    user: 2,
    summary: 3,
    call: 0.7,
    read: 0.6,
    output: 1,
    note: 1,
  },
  /** Worth is divided by tokens to this power: long lines are a little better than their price. */
  price: 0.7,
} as const;
