/** The faults of a list, and of the parts that it kept of the original. */
export type Check = (list: readonly unknown[], original: readonly unknown[]) => string[];

/** An object in a provider's request; a missing field is undefined. */
export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function objects(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Ids that occur more than once. */
export function repeated(ids: readonly string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}

/** Calls and results in the order of a list; a result names its call. */
export interface Pairing {
  readonly calls: readonly string[];
  readonly results: readonly string[];
  /** Calls at the end of the list, which may still be pending. */
  readonly waiting: ReadonlySet<string>;
}

/** Every call has one result, every result has its call, ids are unique. */
export function checkPairing(name: string, { calls, results, waiting }: Pairing): string[] {
  const asked = new Set(calls);
  const answered = new Set(results);
  return [
    ...calls.filter((id) => !answered.has(id) && !waiting.has(id)).map((id) => `${name} no result for ${id}`),
    ...results.filter((id) => !asked.has(id)).map((id) => `${name} no call for ${id}`),
    ...repeated(calls).map((id) => `${name} call ${id} twice`),
    ...repeated(results).map((id) => `${name} result ${id} twice`),
  ];
}

/** Blocks that were present before and have changed. */
export function changedBlocks(name: string, now: readonly Fields[], before: readonly Fields[]): string[] {
  if (now.length === 0) return [];
  const known = new Set(before.map((block) => JSON.stringify(block)));
  return now
    .map((block) => JSON.stringify(block))
    .filter((text) => !known.has(text))
    .map((text) => `${name} ${text.slice(0, 120)}`);
}
