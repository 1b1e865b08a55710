import { z } from "zod";
import { CompactError } from "../errors.ts";
import { compilePatterns } from "../redaction/custom-patterns.ts";

/** How a setting is written in an environment variable. */
export type SettingKind = "text" | "number" | "boolean" | "list" | "json";

/**
 * Holds back a setting in a file that was found and not asked for, since its author may be a stranger:
 * `inside` must be a path below the working directory, `never` cannot be set there at all.
 */
export type Guard = "inside" | "never";

/** What a schema says about itself, for error messages and documentation. */
export interface SettingNote {
  /** What it does, one sentence. */
  readonly description: string;
  /** What a value must be, such as `0.0-1.0`. */
  readonly values: string;
  readonly kind: SettingKind;
  readonly guard?: Guard;
}

const notes = z.registry<SettingNote>();
const NOT_ZERO = "must be more than 0";

/** The note of a schema made here; nothing for other schemas. */
export function noteOf(schema: z.ZodType): SettingNote | undefined {
  return notes.get(schema);
}

/** A number above 0, up to 1. */
export function share(description: string): z.ZodType<number> {
  const values = "0.0-1.0";
  const error = `must be ${values}`;
  const above = z.number({ error }).min(0, { error }).max(1, { error }).gt(0, { error: NOT_ZERO });
  return noted(above, {
    description,
    values,
    kind: "number",
  });
}

/** A whole number, `least` or more. */
export function whole(least: number, description: string): z.ZodType<number> {
  const values = `a whole number, ${least} or more`;
  const error = `must be ${values}`;
  return noted(z.int({ error }).min(least, { error }), { description, values, kind: "number" });
}

export function flag(description: string, guard?: Guard): z.ZodType<boolean> {
  const values = "true or false";
  const note = { description, values, kind: "boolean" as const };
  const schema = z.boolean({ error: `must be ${values}` });
  return noted(schema, guard === undefined ? note : { ...note, guard });
}

/** Text that is not empty. */
export function words(description: string, guard?: Guard): z.ZodType<string> {
  const values = "text that is not empty";
  const error = `must be ${values}`;
  const note = { description, values, kind: "text" as const };
  return noted(z.string({ error }).min(1, { error }), guard === undefined ? note : { ...note, guard });
}

export function oneOf<const T extends readonly string[]>(
  values: T,
  description: string,
): z.ZodType<T[number]> {
  const allowed = oneOfWords(values);
  const schema = z.enum(values, { error: `must be ${allowed}` });
  return noted(schema, { description, values: allowed, kind: "text" });
}

export function listOf<const T extends readonly string[]>(
  values: T,
  description: string,
): z.ZodType<T[number][]> {
  const allowed = oneOfWords(values);
  const schema = z.array(z.enum(values, { error: `must be ${allowed}` }), { error: "must be a list" });
  return noted(schema, { description, values: `a list, each ${allowed}`, kind: "list" });
}

/** Regular expressions that the redactor accepts. */
export function patterns(description: string): z.ZodType<string[]> {
  const entry = z.string({ error: "must be text" }).check((checked) => {
    const fault = patternFault(checked.value);
    if (fault !== undefined) {
      checked.issues.push({
        code: "custom",
        input: checked.value,
        message: fault,
      });
    }
  });
  const values = "a list of regular expressions";
  return noted(z.array(entry, { error: "must be a list" }), { description, values, kind: "list" });
}

/** Groups under names that the user chooses. */
export function named<T>(entry: z.ZodType<T>, description: string): z.ZodType<Record<string, T>> {
  const schema = z.record(z.string(), entry, { error: "must be a group of names" });
  return noted(schema, { description, values: "a group of names", kind: "json" });
}

/** A group of the given settings, each of which may be left out. */
export function group<T>(fields: Record<string, z.ZodType>): z.ZodType<T> {
  // The shape comes from the field table, whose type already ties every key and value to `T`.
  return z.strictObject(fields, { error: groupError }).partial() as unknown as z.ZodType<T>;
}

function groupError(issue: { code?: string }): string | undefined {
  return issue.code === "invalid_type" ? "must be a group of settings" : undefined;
}

function noted<T extends z.ZodType>(schema: T, note: SettingNote): T {
  notes.add(schema, note);
  return schema;
}

function oneOfWords(values: readonly string[]): string {
  return `one of ${values.join(", ")}`;
}

/** Why the redactor would refuse a pattern. */
function patternFault(source: string): string | undefined {
  if (source === "") return "must not be empty";
  try {
    compilePatterns([source]);
    return undefined;
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    // The message begins with a place that the problem has already.
    const fault = error.message.slice(error.message.indexOf(" ") + 1);
    return error.cause instanceof Error ? `${fault}: ${error.cause.message}` : fault;
  }
}
