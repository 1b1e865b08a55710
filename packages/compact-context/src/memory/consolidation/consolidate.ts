import type { Message } from "../../core/message.ts";
import type { MemoryOperation } from "../changes/operation.ts";
import { lessonsOf } from "../lessons.ts";
import { runTask, type TaskContext } from "../memory-task.ts";
import { consolidationTask } from "./by-model.ts";
import { type Consolidation, consolidationOf } from "./by-program.ts";

/** Takes messages in: what is durable in them into MEMORY.md, what happened into HISTORY.md. */
export async function consolidate(
  { sessionId, messages }: { readonly sessionId: string; readonly messages: readonly Message[] },
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const lessons = lessonsOf(messages);
  if (lessons.length === 0) return "unchanged";
  const { writer } = context;
  const [memory, session, isForgotten] = await Promise.all([
    writer.read("MEMORY.md"),
    writer.read("SESSION.md"),
    writer.forgotten(),
  ]);
  const known = { memory, sessionId, isForgotten, at: context.now() };
  const program = consolidationOf(lessons, known);
  return runTask<Consolidation>(
    {
      name: "consolidation",
      byModel: () => consolidationTask(lessons, { ...known, session: session.text }),
      byProgram: () => program,
    },
    // What the user wants forgotten is forgotten whatever a model makes of the rest.
    (decided, by) =>
      write(by === "program" ? decided : withWishes(decided, program), by, { lessons, context }),
    context,
    signal,
  );
}

function withWishes(decided: Consolidation, program: Consolidation): Consolidation {
  const wishes = program.operations.filter(({ op }) => op === "forget");
  return { ...decided, operations: [...wishes, ...decided.operations] };
}

async function write(
  { operations, history }: Consolidation,
  by: "model" | "program",
  { lessons, context }: { readonly lessons: readonly Message[]; readonly context: TaskContext },
): Promise<boolean> {
  const all: MemoryOperation[] = [...operations];
  // A process may have died after writing and before it said so: the same entry is not written twice.
  const told = history === undefined ? "" : (await context.writer.read("HISTORY.md")).text;
  if (history !== undefined && !told.includes(history.text)) {
    all.push({ op: "addSection", heading: history.heading, text: history.text });
  }
  if (all.length === 0) return false;
  const first = lessons[0]?.id ?? "";
  const last = lessons.at(-1)?.id ?? "";
  const { changeId, forgotten } = await context.writer.apply(all, {
    author: "consolidation",
    reason: `${lessons.length} messages leave the conversation (${by})`,
    sources: [`${first}…${last}`],
  });
  if (forgotten.length > 0) context.onForgotten?.(forgotten);
  return changeId !== undefined || forgotten.length > 0;
}
