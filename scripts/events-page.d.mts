/** The modules that make the examples, built or as source. */
export interface Library {
  readonly createJsonlExporter: typeof import("../packages/compact-context/src/tracing/exporters/http-post.ts").createJsonlExporter;
  readonly CompactManager: typeof import("../packages/compact-context/src/create-manager.ts").CompactManager;
  readonly createMemoryDriver: typeof import("../packages/compact-context/src/storage/memory/driver.ts").createMemoryDriver;
}
export function eventsSection(library: Library, session: unknown): Promise<string>;
export function metricsTable(metrics: object): string;
export function fill(text: string, name: string, content: string): string;
