import type { CompactEvent, Exporter } from "../../core/ports.ts";

/** Hands every event to a function of the caller's; what it throws never reaches the run. */
export function createCallbackExporter(receive: (event: CompactEvent) => void | Promise<void>): Exporter {
  return { export: (event) => receive(event) };
}
