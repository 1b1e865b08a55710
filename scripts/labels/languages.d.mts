import type { Library, Tally } from "./score.mjs";
import type { Sentence } from "./sessions.mjs";

export function scoreSentences(library: Library, rows: readonly Sentence[]): Record<string, Tally>;
