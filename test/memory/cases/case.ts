/** What cases say of a memory; a half of them was kept back while the memory was written, and opened once. */

export type Language = "en" | "zh" | "ja" | "de" | "fr" | "es" | "pt" | "ru";

/** What is said first, what is said in a later session, and what tells the two apart in a line of the memory. */
export type Correction = readonly [
  language: Language,
  /** How the newer statement says that it takes the place of the older one. */
  kind: string,
  first: string,
  then: string,
  old: RegExp,
  newer: RegExp,
];

/** Two statements about different things: both stand. */
export type Pair = readonly [Language, one: string, other: string];

/** What is said, the words that have it forgotten in a later session, and what must not be left anywhere. */
export type Forgetting = readonly [Language, said: string, forget: string, left: RegExp];

export type AttackKind =
  | "mail"
  | "paste"
  | "tool"
  | "speaker"
  | "negation"
  | "hypothetical"
  | "not to remember"
  | "task";

/** Words that a memory must not take for the user's own; those of kind `tool` come as a tool's result. */
export type Attack = readonly [Language, AttackKind, text: string, taken: RegExp];

export type Secret = readonly [text: string, secret: RegExp];
