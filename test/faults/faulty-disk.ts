import type { FileHandle } from "node:fs/promises";

type Operations = typeof import("node:fs/promises");

/** Which disk operations fail, counted from 1. */
interface Plan {
  from: number;
  /** All later operations fail as well. */
  lasting: boolean;
  code: "EIO" | "ENOSPC";
}

interface Disk {
  /** Number of operations so far. */
  steps: number;
  /** The plan for the next operations. */
  plan: Plan | undefined;
  /** Called before each operation with its number. */
  before: ((step: number) => void) | undefined;
}

/** One per process, because a module is mocked once. */
export const disk: Disk = { steps: 0, plan: undefined, before: undefined };

const WRITES = new Set(["write", "writeFile"]);

/** The module with all operations failing as `disk.plan` says; a failing write writes half. */
export function faultyDisk(real: Operations): Operations {
  return wrapped(real as unknown as Record<string, unknown>) as unknown as Operations;
}

function wrapped(target: object): object {
  const own = target as Record<string, unknown>;
  return new Proxy(own, {
    get(_, name) {
      const member = own[name as string];
      // Closing never fails here: it writes nothing, and a failure would only leak the handle.
      if (typeof member !== "function" || name === "close") {
        return typeof member === "function" ? member.bind(own) : member;
      }
      return async (...args: unknown[]) => {
        const failure = next();
        if (failure !== undefined) {
          if (WRITES.has(String(name))) await half(own as unknown as FileHandle, args);
          throw failure;
        }
        const result: unknown = await member.apply(own, args);
        return name === "open" ? wrapped(result as object) : result;
      };
    },
    // The module's own exports, for an import of the copy.
    ownKeys: () => Reflect.ownKeys(own),
  });
}

function next(): Error | undefined {
  disk.steps += 1;
  disk.before?.(disk.steps);
  const { plan, steps } = disk;
  if (plan === undefined) return undefined;
  const fires = steps === plan.from || (plan.lasting && steps > plan.from);
  return fires ? Object.assign(new Error(`${plan.code}: planned`), { code: plan.code }) : undefined;
}

async function half(handle: FileHandle, [data]: unknown[]): Promise<void> {
  const bytes = Buffer.from(data as string);
  await handle.write(bytes, 0, bytes.length >> 1);
}
