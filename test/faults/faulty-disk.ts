type Operations = typeof import("../../packages/compact-context/src/storage/fs/disk.ts");

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
  const faulty = Object.entries(real).map(([name, operation]) => {
    // Closing never fails here: it writes nothing, and a failure would only leak the descriptor.
    if (name === "close") return [name, operation];
    const mayFail = async (...args: unknown[]): Promise<unknown> => {
      const failure = next();
      if (failure !== undefined && WRITES.has(name)) await half(real, args);
      if (failure !== undefined) throw failure;
      return (operation as (...args: unknown[]) => Promise<unknown>)(...args);
    };
    return [name, mayFail];
  });
  return Object.fromEntries(faulty) as Operations;
}

function next(): Error | undefined {
  disk.steps += 1;
  disk.before?.(disk.steps);
  const { plan, steps } = disk;
  if (plan === undefined) return undefined;
  const fires = steps === plan.from || (plan.lasting && steps > plan.from);
  return fires ? Object.assign(new Error(`${plan.code}: planned`), { code: plan.code }) : undefined;
}

async function half({ write }: Operations, [file, data]: unknown[]): Promise<void> {
  const bytes = Buffer.from(data as string);
  await write(file as number, bytes.subarray(0, bytes.length >> 1));
}
