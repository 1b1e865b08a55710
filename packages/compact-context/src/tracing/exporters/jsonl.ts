import { eventLine } from "../../core/archive.ts";
import type { CompactEvent, Exporter } from "../../core/ports.ts";

/** Writes one JSON record a line through `append`, which gets the line with its newline. */
export function createJsonlExporter(options: {
  readonly append: (line: string) => void | Promise<void>;
}): Exporter {
  return { export: (event: CompactEvent) => options.append(eventLine(event)) };
}
