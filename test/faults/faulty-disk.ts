import type { FileHandle } from "node:fs/promises";

type Operations = typeof import("node:fs/promises");

/** Which of the disk's operations fail, counted from 1. */
interface Plan {
  from: number;
  /** All after it fail as well. */
  lasting: boolean;
  code: "EIO" | "ENOSPC";
}

interface Disk {
  /** Operations counted so far. */
  steps: number;
  /** What happens to those to come. */
  plan: Plan | undefined;
  /** Called right before each operation with its number. */
  before: ((step: number) => void) | undefined;
}

/** One per process, since a module is mocked once. */
export const disk: Disk = { steps: 0, plan: undefined, before: undefined };

const WRITES = new Set(["write", "writeFile"]);

/** The module with every operation, also those of open files, failing as `disk.plan` says; a failing write does half. */
export function faultyDisk(real: Operations): Operations {
  return wrapped(real as unknown as Record<string, unknown>) as unknown as Operations;
}

function wrapped(target: object): object {
  const own = target as Record<string, unknown>;
  return new Proxy(own, {
    get(_, name) {
      const member = own[name as string];
      // A handle that cannot be closed would only leak: nothing is written by it.
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
    // The module's own names, for the copy that an import makes.
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
