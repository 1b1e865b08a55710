import { CompactError } from "../errors.ts";

/** The error of a put whose `ifVersion` no longer holds. */
export function conflict(key: string): CompactError {
  return new CompactError("Conflict", "the stored value was changed by somebody else", {
    place: key,
    hint: "Read it again and redo the change on what is there now.",
  });
}

/** False where somebody else was quicker; any other failure of the write goes on. */
export async function unlessOvertaken(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (CompactError.isInstance(error) && error.code === "Conflict") return false;
    throw error;
  }
}
