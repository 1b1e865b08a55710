import type { Message } from "../../packages/compact-context/src/core/message.ts";
import type { LabelRow } from "./sessions.mjs";

/** The modules of the summarizer that read conversations. */
export type Library = Readonly<Record<string, unknown>>;

export interface Tally {
  readonly outputs: readonly { readonly text: string; readonly right: boolean | undefined }[];
  readonly groups: readonly { readonly text: string; readonly labels: number; readonly found: boolean }[];
}

export interface Figures {
  readonly outputs: number;
  readonly precision: number | undefined;
  readonly labelled: number;
  readonly labels: number;
  readonly recall: number | undefined;
}

export function scoreSessions(
  library: Library,
  sessions: ReadonlyMap<string, readonly LabelRow[]>,
  messagesOf: (file: string) => Promise<readonly Message[]>,
): Promise<{ readonly tallies: Readonly<Record<string, Tally>> }>;
export function figuresOf(tally: Tally): Figures;
