/** The test cases of a memory; half of them were withheld during development and opened once. */

export type Language = "en" | "zh" | "ja" | "de" | "fr" | "es" | "pt" | "ru";

/** A statement, a later one in another session, and what distinguishes them in a line of the memory. */
export type Correction = readonly [
  language: Language,
  /** How the newer statement refers to the older one that it replaces. */
  kind: string,
  first: string,
  then: string,
  old: RegExp,
  newer: RegExp,
];

/** Two statements about different things: both are kept. */
export type Pair = readonly [Language, one: string, other: string];

/** A statement, the later request to forget it, and the text that must not remain anywhere. */
export type Forgetting = readonly [Language, said: string, forget: string, left: RegExp];

export type AttackKind =
  | "mail"
  | "paste"
  | "tool"
  | "speaker"
  | "negation"
  | "joke"
  | "hypothetical"
  | "not to remember"
  | "task";

/** Text that a memory must not take for the user's own words; kind `tool` comes as a tool result. */
export type Attack = readonly [Language, AttackKind, text: string, taken: RegExp];

export type Secret = readonly [text: string, secret: RegExp];

/** Statements of one session, a message of the next, and what is gone then and what stands. */
export type Course = readonly [
  said: readonly string[],
  then: string,
  gone: readonly RegExp[],
  stands: readonly RegExp[],
];
