export type PropertyType = "string" | "integer" | "number" | "boolean" | "object" | "strings" | "objects";

/** One property of an event, or of an object inside of it. */
export interface PropertySchema {
  readonly type: PropertyType;
  /** Of a number: `token`, `message`, `ms`, `USD`, `ratio` (0 to 1 unless told otherwise), `count`. */
  readonly unit?: string;
  readonly meaning: string;
  /** Left out where it has no value. */
  readonly optional?: true;
  /** Words that it may be, with what they mean. */
  readonly values?: Readonly<Record<string, string>>;
  /** Whether other words may come as well. */
  readonly open?: true;
  /** What an object, or each object of a list, holds. */
  readonly properties?: Properties;
}

export type Properties = Readonly<Record<string, PropertySchema>>;

type Rest = Omit<PropertySchema, "type" | "meaning">;

export const OPTIONAL: Rest = { optional: true };
export const MANY: Rest = { unit: "count" };

export function property(type: PropertyType, meaning: string, rest: Rest = {}): PropertySchema {
  return { type, meaning, ...rest };
}

export function optional(type: PropertyType, meaning: string, rest: Rest = {}): PropertySchema {
  return { type, meaning, ...rest, optional: true };
}
