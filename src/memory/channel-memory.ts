import type { CompactConfigInput } from "../compaction/config.ts";
import type { MemoryFlushHook } from "../compaction/flush-delivery.ts";
import type { Message } from "../messages/message.ts";
import type { TextModel } from "../model.ts";
import type { RecallRequest, RecallResult } from "./recall.ts";

/** The sections of the settings that a memory reads; a whole configuration will do. */
export type MemorySettingsInput = Pick<CompactConfigInput, "memory" | "memoryRecall" | "sessionMemory">;

export interface ChannelMemoryOptions {
  readonly workspaceDir: string;
  readonly channelDir: string;
  /** Writes better notes than the program does; asked beside the run only, and never needed. */
  readonly model?: TextModel | undefined;
  readonly settings?: MemorySettingsInput | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** Told of what failed or works less well than it could; a failure never reaches the run. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Told of every task as it ends, whoever did it. */
  readonly onTask?: ((record: MemoryTaskRecord) => void) | undefined;
}

/** What became of one task of the memory. */
export interface MemoryTaskRecord {
  /** Such as `session-update`, `consolidation`, `promotion`, `history-folding`, `cleanup`. */
  readonly name: string;
  /** `model` where a model's answer was taken, `program` where the program's own was. */
  readonly by: "model" | "program";
  readonly outcome: "done" | "nothing" | "failed" | "timeout" | "aborted";
  readonly milliseconds: number;
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Why it failed, or why a model's answer was not taken. */
  readonly detail?: string | undefined;
}

/** What a boundary of the work did: each step by itself, since each may fail alone. */
export interface MemoryBoundary {
  readonly session: "written" | "unchanged" | "failed" | "off";
  readonly consolidation: "written" | "unchanged" | "failed" | "off" | "in_background";
}

export interface MemoryTurn {
  /** Tells conversations of one channel apart; `default` when left out. */
  readonly sessionId?: string | undefined;
  /** The user changed the direction while the agent was at work. */
  readonly steered?: boolean | undefined;
}

export interface MemoryBoundaryOptions extends MemoryTurn {
  /** The messages that leave the list; all of them when left out. */
  readonly discarded?: readonly Message[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The memory of one channel, as a host's run uses it. Nothing of it rejects because a memory could not be kept. */
export interface ChannelMemory {
  /** What the memory says to a user's text; put `renderedText` before it with `injectRuntimeContext`. */
  recall(
    userText: string,
    options?: Partial<Omit<RecallRequest, "query" | "workspaceDir" | "channelDir">>,
  ): Promise<RecallResult>;
  /**
   * After every turn, with the conversation so far: begins an update of SESSION.md beside the run where one is due,
   * and answers at once whether it did.
   */
  afterTurn(messages: readonly Message[], turn?: MemoryTurn): boolean;
  /** Refreshes SESSION.md, then consolidates what leaves; a manager does it by itself through `ports`. */
  beforeCompaction(messages: readonly Message[], options?: MemoryBoundaryOptions): Promise<MemoryBoundary>;
  /** The same before a new session begins in the channel. */
  beforeNewSession(messages: readonly Message[], options?: MemoryBoundaryOptions): Promise<MemoryBoundary>;
  /** For the ports of a `CompactManager`: `new CompactManager(config, { ...ports, ...memory.ports })`. */
  readonly ports: {
    readonly memoryFlushHook: MemoryFlushHook;
    readonly beforeCompaction: (
      messages: readonly Message[],
      moment: {
        readonly sessionId: string;
        readonly discarded: readonly Message[];
        readonly signal: AbortSignal;
      },
    ) => Promise<void>;
  };
  /** Resolves when no work of the memory is under way. */
  settled(): Promise<void>;
  /** Takes in what was not taken in yet, with the messages where they are given, and waits for work under way. */
  close(messages?: readonly Message[], options?: MemoryTurn): Promise<void>;
}
