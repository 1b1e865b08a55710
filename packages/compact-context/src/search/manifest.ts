import { crc32Hex } from "../errors.ts";
import type { BlockPlace } from "./build.ts";
import { WORDS_VERSION } from "./words.ts";

/** What a session's index covers and which segments make it up: the one file of it that is written over. */
export interface Manifest {
  readonly steps: readonly CoveredStep[];
  readonly segments: readonly { readonly name: string; readonly blocks: readonly BlockPlace[] }[];
  readonly problems: readonly IndexProblem[];
}

/** A transcript that was read, and how many messages it said it has. */
export interface CoveredStep {
  readonly step: number;
  readonly messages: number;
}

/** A line that could not be read. */
export interface IndexProblem {
  readonly step: number;
  readonly line: number;
  readonly problem: string;
}

const FORMAT = 1;

/** The keys of a session's index, below the session's own folder. */
export const indexFiles: {
  manifest(folder: string): string;
  segment(folder: string, name: string): string;
  texts(folder: string, name: string): string;
} = {
  manifest: (folder) => `${folder}/search/index.json`,
  segment: (folder, name) => `${folder}/search/${name}.terms`,
  texts: (folder, name) => `${folder}/search/${name}.texts.json`,
};

export function writeManifest(manifest: Manifest): string {
  const body = { format: FORMAT, words: WORDS_VERSION, ...manifest };
  return `${JSON.stringify({ index: body, c: crc32Hex(JSON.stringify(body)) })}\n`;
}

/** Undefined for text that is damaged or of another version: the index is then built anew. */
export function readManifest(text: string): Manifest | undefined {
  try {
    const { index, c } = JSON.parse(text) as {
      index: Manifest & { format: unknown; words: unknown };
      c: unknown;
    };
    const { steps, segments, problems } = index;
    const current = index.format === FORMAT && index.words === WORDS_VERSION;
    const whole = c === crc32Hex(JSON.stringify(index));
    const named = segments.every(
      ({ name, blocks }) => isName(name) && blocks.every((one) => isName(one.name)),
    );
    return current && whole && named ? { steps, segments, problems } : undefined;
  } catch {
    return undefined;
  }
}

/** Names become keys: nothing but what a hash consists of. */
function isName(name: unknown): boolean {
  return typeof name === "string" && /^[0-9a-z]{6,20}$/.test(name);
}
