/** What a session's working state holds; every list oldest first. */
export interface SessionMemoryState {
  readonly title: string;
  readonly currentState: readonly string[];
  readonly userIntent: readonly string[];
  readonly activeFiles: readonly string[];
  readonly decisions: readonly string[];
  readonly constraints: readonly string[];
  readonly errorsAndCorrections: readonly string[];
  readonly nextSteps: readonly string[];
  readonly worklog: readonly string[];
}

/** The lists of a state. */
export type SessionList = Exclude<keyof SessionMemoryState, "title">;

export interface SessionSection {
  readonly field: keyof SessionMemoryState;
  readonly heading: string;
  /** What belongs there; stands in the template as a comment. */
  readonly note: string;
  /** Shown even when empty: what the next turn must know, or know to be unknown. */
  readonly always: boolean;
  /** Which items stay where there are too many: those at the end, unless the first ones matter most. */
  readonly keeps: "first" | "last";
}

/** The sections of SESSION.md in their order. */
export const SESSION_SECTIONS: readonly SessionSection[] = [
  { field: "title", heading: "Session Title", note: "One line.", always: true, keeps: "first" },
  {
    field: "currentState",
    heading: "Current State",
    note: "Where the work stands.",
    always: true,
    keeps: "last",
  },
  { field: "userIntent", heading: "User Intent", note: "What the user wants.", always: true, keeps: "last" },
  {
    field: "activeFiles",
    heading: "Active Files",
    note: "Files being worked on.",
    always: false,
    keeps: "last",
  },
  {
    field: "decisions",
    heading: "Decisions",
    note: "Decided in this session.",
    always: false,
    keeps: "last",
  },
  {
    field: "constraints",
    heading: "Constraints",
    note: "What must not happen.",
    always: false,
    keeps: "first",
  },
  {
    field: "errorsAndCorrections",
    heading: "Errors & Corrections",
    note: "What went wrong and what is right.",
    always: false,
    keeps: "last",
  },
  {
    field: "nextSteps",
    heading: "Next Steps",
    note: "What comes next, in order.",
    always: true,
    keeps: "first",
  },
  {
    field: "worklog",
    heading: "Worklog",
    note: "What was done, oldest first.",
    always: false,
    keeps: "last",
  },
];
