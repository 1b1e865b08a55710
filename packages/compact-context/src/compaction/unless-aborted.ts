import { CompactError } from "../errors.ts";

/** What `work` comes to, but waited for no longer than the caller does. Rejects with `Aborted`. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(asAborted(signal.reason));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The error of a call that its caller gave up. */
export function asAborted(cause: unknown): CompactError {
  if (CompactError.isInstance(cause) && cause.code === "Aborted") return cause;
  return new CompactError("Aborted", "The compaction was aborted by its caller.", {
    hint: "The history is as it was; call again to compact it.",
    cause,
  });
}
