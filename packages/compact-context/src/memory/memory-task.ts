import { errorMessage } from "../errors.ts";
import type { ForgottenIn } from "./changes/operation.ts";
import type { MemoryWriter } from "./changes/writer.ts";
import type { Sidecar, SidecarTask } from "./sidecar/task.ts";

/** What became of one task of the memory. */
export interface MemoryTaskRecord {
  /** `session-update`, `consolidation`, `promotion`, `history-folding`, `cleanup` or `rerank`. */
  readonly name: string;
  /** `model` where a model's answer was taken, `program` where the program's own was. */
  readonly by: "model" | "program";
  /** `nothing`: there was nothing to change. */
  readonly outcome: "done" | "nothing" | "failed";
  readonly milliseconds: number;
  /** Requests to the model, and its tokens. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Why it failed, or why a model's answer was not taken. */
  readonly detail?: string;
}

/** What the tasks of one channel's memory share; none of it is theirs to change. */
export interface TaskContext {
  readonly writer: MemoryWriter;
  /** Without it every task is done by program. */
  readonly sidecar?: Sidecar;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a steady clock. */
  clock(): number;
  onTask(record: MemoryTaskRecord): void;
  /** Told what was taken out of which file because the user wanted it forgotten. */
  onForgotten?(forgotten: readonly ForgottenIn[]): void;
  /** Told of a model's failure that the program made good. */
  onWarning?(message: string): void;
}

/** Work that a model may do better and a program does well enough. */
export interface TwoForms<T> {
  readonly name: string;
  /** Made only when there is a model to ask. */
  readonly byModel: () => SidecarTask<T>;
  readonly byProgram: () => T;
}

/** Writes down what a task decided; false where nothing had to change. Rejects when it could not. */
export type Settle<T> = (output: T, by: MemoryTaskRecord["by"]) => Promise<boolean>;

/**
 * Does a task: asks the model where there is one, falls back to the program, writes the outcome down and tells of it.
 * What a model decided and could not be written is decided again by program. Rejects only when that failed too.
 */
export async function runTask<T>(
  forms: TwoForms<T>,
  settle: Settle<T>,
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const attempt: Attempt<T> = { forms, settle, context, started: context.clock(), spent: NOTHING_SPENT };
  return (await byModel(attempt, signal)) ?? byProgram(attempt);
}

const NOTHING_SPENT = { requests: 0, inputTokens: 0, outputTokens: 0 };

interface Attempt<T> {
  readonly forms: TwoForms<T>;
  readonly settle: Settle<T>;
  readonly context: TaskContext;
  readonly started: number;
  spent: typeof NOTHING_SPENT;
  detail?: string;
}

/** Undefined where the program has to do it. */
async function byModel<T>(
  attempt: Attempt<T>,
  signal: AbortSignal | undefined,
): Promise<"written" | "unchanged" | undefined> {
  const { forms, settle, context } = attempt;
  if (context.sidecar === undefined) return undefined;
  const asked = await context.sidecar.run(forms.byModel(), signal);
  const { requests, inputTokens, outputTokens, detail } = asked.record;
  attempt.spent = { requests, inputTokens, outputTokens };
  if (detail !== undefined) attempt.detail = detail;
  if (!asked.done) {
    context.onWarning?.(
      `${forms.name}: the model's answer was not taken, the program did it: ${detail ?? asked.record.outcome}`,
    );
    return undefined;
  }
  try {
    return ended(attempt, "model", await settle(asked.output, "model"));
  } catch (error) {
    attempt.detail = errorMessage(error);
    return undefined;
  }
}

async function byProgram<T>(attempt: Attempt<T>): Promise<"written" | "unchanged"> {
  try {
    return ended(attempt, "program", await attempt.settle(attempt.forms.byProgram(), "program"));
  } catch (error) {
    attempt.detail = errorMessage(error);
    tell(attempt, "program", "failed");
    throw error;
  }
}

function ended<T>(
  attempt: Attempt<T>,
  by: MemoryTaskRecord["by"],
  written: boolean,
): "written" | "unchanged" {
  tell(attempt, by, written ? "done" : "nothing");
  return written ? "written" : "unchanged";
}

function tell<T>(
  { forms, context, started, spent, detail }: Attempt<T>,
  by: MemoryTaskRecord["by"],
  outcome: MemoryTaskRecord["outcome"],
): void {
  const milliseconds = context.clock() - started;
  context.onTask({ name: forms.name, by, outcome, milliseconds, ...spent, detail });
}
