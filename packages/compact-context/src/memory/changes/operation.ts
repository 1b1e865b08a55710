/** The files of a channel that the runtime may change; those of a workspace are people's. */
export type MemoryFileName = "MEMORY.md" | "SESSION.md" | "HISTORY.md";

/** Who asks for a change. All but `person` are automatic: what people wrote is not theirs to change. */
export type MemoryAuthor =
  | "session-update"
  | "consolidation"
  | "promotion"
  | "cleanup"
  | "history"
  | "undo"
  | "person";

/** How many pieces were taken out of a file of the channel, by its path from there. */
export interface ForgottenIn {
  readonly file: string;
  readonly pieces: number;
}

/** How far a memory may be believed: said by a person, concluded by the agent, or read from what a tool gave. */
export type MemoryTrust = "person" | "agent" | "tool";

/** Where a memory comes from. */
export interface MemoryOrigin {
  /** `agent` when left out. */
  readonly trust?: MemoryTrust;
  /** Names the tool or the person; one word is best. */
  readonly source?: string;
}

/** What may be asked of a channel's memory. Items and sections are named by the ids that `read` gives. */
export type MemoryOperation =
  /** A new item in a section of MEMORY.md, named by heading or id, which is made where it is missing. */
  | ({ readonly op: "add"; readonly section: string; readonly text: string } & MemoryOrigin)
  /** A newer text in the place of an item; the old one goes to the list of retired items. */
  | ({ readonly op: "supersede"; readonly target: string; readonly text: string } & MemoryOrigin)
  /** Takes out an item that is no longer true; it goes to the list of retired items and is not learned again. */
  | { readonly op: "invalidate"; readonly target: string; readonly why?: string }
  /**
   * Takes out what must not be kept, wherever the channel's folder tells it: files, log, waiting messages. Only
   * fingerprints stay, so that it is not learned again; it cannot be undone.
   */
  | {
      readonly op: "forget";
      /** An item's id; left out for what is no item yet. */
      readonly target?: string;
      /** Words that name it: other lines that hold all of them go too. Never logged. */
      readonly topic?: string;
      /** A statement that tells it, word for word. Never logged. */
      readonly said?: string;
      readonly why?: string;
    }
  /** A new section at the end of HISTORY.md. */
  | { readonly op: "addSection"; readonly heading: string; readonly text: string }
  /** One section of HISTORY.md in place of several, which are moved to its archive. */
  | {
      readonly op: "foldSections";
      readonly sections: readonly string[];
      readonly heading: string;
      readonly text: string;
    }
  /**
   * Another text for SESSION.md. `ifVersion` is the file's `version` when it was read, `null` where there was none;
   * refused as `changed` when it is another one now.
   */
  | {
      readonly op: "replaceFile";
      readonly text: string;
      readonly ifVersion: string | null;
      readonly mayShrink?: boolean;
    };

/** The operations of one kind. */
export type Operation<Op extends MemoryOperation["op"]> = Extract<MemoryOperation, { readonly op: Op }>;

/** Why an operation was not done. */
export type RefusalReason =
  /** No item or section has that id. */
  | "not-found"
  /** Several sections have that name: use the id. */
  | "ambiguous"
  /** The same is said already. */
  | "duplicate"
  /** It was retired: forgotten, invalidated or superseded. */
  | "retired"
  /** A person wrote or edited it. */
  | "kept-by-people"
  /** It was changed since it was read. */
  | "changed"
  /** More would be lost than one change may take. */
  | "shrinks"
  /** A placeholder stands for text that would be lost, as in "[rest unchanged]". */
  | "placeholder"
  /** It says nothing. */
  | "empty"
  /** It is longer than an item or a file may be. */
  | "too-long"
  /** It could not be searched for secrets. */
  | "withheld";

export interface DoneOperation {
  /** As it was done: secrets taken out of its text. */
  readonly operation: MemoryOperation;
  /** Of the item that is new or gone; for sections theirs. */
  readonly id: string;
  /** True when a secret was taken out. */
  readonly redacted: boolean;
}

export interface RefusedOperation {
  readonly operation: MemoryOperation;
  readonly reason: RefusalReason;
  /** One sentence for people, or for the model that asked. */
  readonly message: string;
}

/** Who changes the memory and why: stands in the log. */
export interface ChangeNote {
  readonly author: MemoryAuthor;
  /** One sentence. */
  readonly reason: string;
  /** What it was learned from: archive ids, turn ranges, file names. */
  readonly sources?: readonly string[];
}

export interface MemoryChangeResult {
  /** Names the change in the log; undefined when nothing was changed. */
  readonly changeId: string | undefined;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
  /** What was forgotten, file by file; empty where nothing was to be. */
  readonly forgotten: readonly ForgottenIn[];
  /** Versions of the files that were changed, as `read` gives them. */
  readonly versions: Partial<Readonly<Record<MemoryFileName, string>>>;
}
