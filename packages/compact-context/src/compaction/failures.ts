import { CompactError, type CompactErrorCode } from "../errors.ts";
import type { TriggerReason } from "../policy/trigger.ts";

/** True for an error of ours with this code. */
export function isError(error: unknown, code: CompactErrorCode): boolean {
  return CompactError.isInstance(error) && error.code === code;
}

/** Failures that a list which fits as it is can live with. */
export function reasonToGoOn(error: unknown): TriggerReason | undefined {
  if (isError(error, "StorageFailed")) return "attempts_failed";
  return isError(error, "InsufficientBudget") ? "nothing_eligible" : undefined;
}
