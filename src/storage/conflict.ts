import { CompactError } from "../errors.ts";

/** The error of a put whose `ifVersion` no longer holds. */
export function conflict(key: string): CompactError {
  return new CompactError("Conflict", "the stored value was changed by somebody else", {
    place: key,
    hint: "Read it again and redo the change on what is there now.",
  });
}
