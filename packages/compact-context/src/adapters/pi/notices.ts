import { errorMessage } from "../../errors.ts";
import type { PiContext } from "./sdk.ts";

/** Tells a person what went wrong. */
export function tell(context: PiContext, error: unknown): void {
  context.ui.notify(`compact: ${errorMessage(error)}`, "warning");
}

/** What a handler gives; one that throws would end pi's turn, so that what goes wrong is a notice. */
export async function shielded<T>(context: PiContext, work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    tell(context, error);
    return undefined;
  }
}
