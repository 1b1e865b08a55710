import { applyOperation } from "./apply-operation.ts";
import type { ReadFiles } from "./channel-files.ts";
import type { DoneOperation, MemoryFileName, MemoryOperation, RefusedOperation } from "./operation.ts";
import { CHANGED_FILES, documentOf, type OperationContext, refuse, type Step, type Texts } from "./plan.ts";

export interface PlannedChange {
  readonly texts: Texts;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
}

/** Small memories may be emptied; of larger ones an automatic change takes out this share of the items at most. */
const FREE_ITEMS = 6;
const MOST_REMOVED = 0.5;

/** What the files will say after the operations, one after the other; what may not be done is left out, with its reason. */
export function planChange(
  files: ReadFiles,
  operations: readonly MemoryOperation[],
  context: OperationContext,
): PlannedChange {
  let texts = textsOf(files);
  const versions = Object.fromEntries(
    CHANGED_FILES.map((file) => [file, files[file]?.version ?? null]),
  ) as Readonly<Record<MemoryFileName, string | null>>;
  const done: DoneOperation[] = [];
  const refused: RefusedOperation[] = [];
  let removals = removalsAllowed(texts, context);
  for (const operation of operations) {
    const removes = operation.op === "invalidate" || operation.op === "forget";
    const step: Step =
      removes && removals <= 0
        ? refuse("shrinks", "One change may take out half of the items: look at the rest another time.")
        : applyOperation(texts, operation, { ...context, versions });
    if ("reason" in step) {
      refused.push({ operation, reason: step.reason, message: step.message });
      continue;
    }
    if (removes) removals--;
    texts = step.texts;
    done.push({ operation: step.operation, id: step.id, redacted: step.redacted });
  }
  return { texts, done, refused };
}

export function textsOf(files: ReadFiles): Texts {
  return Object.fromEntries(
    CHANGED_FILES.flatMap((file) => {
      const text = files[file]?.text;
      return text === undefined ? [] : [[file, text]];
    }),
  );
}

function removalsAllowed(texts: Texts, { author }: OperationContext): number {
  if (author === "person") return Number.POSITIVE_INFINITY;
  const items = documentOf(texts, "MEMORY.md").sections.flatMap((section) => section.items).length;
  return Math.max(FREE_ITEMS, Math.floor(items * MOST_REMOVED));
}
