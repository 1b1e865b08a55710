import type { MemoryTrust } from "./changes/operation.ts";
import type { RecallCandidate } from "./ranking/units.ts";

/** Where a memory comes from; the two logs are cold and searched only when asked for. */
export type MemorySource =
  | "channel-session"
  | "channel-memory"
  | "workspace-memory"
  | "channel-history"
  | "channel-log"
  | "channel-context";

/** What a section is about, from its heading. */
export type SectionKind =
  | "title"
  | "current-state"
  | "user-intent"
  | "active-files"
  | "decisions"
  | "constraints"
  | "errors"
  | "next-steps"
  | "open-loops"
  | "worklog"
  | "update"
  | "other";

/** A section of a memory file, ready to be ranked. */
export interface MemoryCandidate extends RecallCandidate {
  readonly source: MemorySource;
  readonly path: string;
  readonly title: string;
  /** ISO 8601; when it was noted, as far as the text or, for the session, the file says. */
  readonly timestamp?: string;
  readonly sectionKind: SectionKind;
  /** Higher comes first where two are equally relevant. */
  readonly priority: number;
  /** Of a single item its id, where the runtime wrote it. */
  readonly item?: string;
  /** How far it may be believed, where that was noted, and the name of the tool or person it is from. */
  readonly trust?: MemoryTrust;
  readonly from?: string;
  /** The line its content begins on, from 1. */
  readonly line: number;
}

const KINDS: readonly (readonly [SectionKind, RegExp])[] = [
  ["current-state", /current state|状态|現状/i],
  ["next-steps", /next|todo|to do|下一步|次の/i],
  ["errors", /error|correction|lesson|错误|エラー/i],
  ["constraints", /constraint|rule|preference|约束|制約/i],
  ["user-intent", /intent|goal|目标|目的/i],
  ["decisions", /decision|决定|決定/i],
  ["open-loops", /open (?:loop|question)|pending|blocker|待办/i],
  ["active-files", /active file|文件/i],
  ["worklog", /work ?log|日志/i],
  ["update", /^update\b/i],
  ["title", /^(?:session )?title$/i],
];

export function sectionKindOf(headings: readonly string[]): SectionKind {
  for (const heading of headings.toReversed()) {
    const known = KINDS.find(([, pattern]) => pattern.test(heading));
    if (known !== undefined) return known[0];
  }
  return "other";
}

const SOURCE_PRIORITY: Readonly<Record<MemorySource, number>> = {
  "channel-session": 100,
  "channel-memory": 80,
  "workspace-memory": 60,
  "channel-history": 40,
  "channel-log": 20,
  "channel-context": 20,
};
const KIND_PRIORITY: Partial<Readonly<Record<SectionKind, number>>> = {
  "current-state": 9,
  "next-steps": 8,
  errors: 7,
  constraints: 7,
  decisions: 6,
  "user-intent": 5,
  "open-loops": 4,
};

/** The source decides, the kind only among sections of one source. */
export function priorityOf(source: MemorySource, kind: SectionKind): number {
  return SOURCE_PRIORITY[source] + (KIND_PRIORITY[kind] ?? 0);
}
