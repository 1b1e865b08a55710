import { EVENT_VERSION } from "../../packages/compact-context/src/core/report.ts";
import { isObject } from "../../packages/compact-context/src/errors.ts";
import {
  eventSchema,
  type Properties,
  type PropertySchema,
  recordSchema,
} from "../../scripts/events-schema.mjs";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Violations of this version's event format in a record of `events.jsonl`: one line per problem with its
 * place, none for a valid record.
 */
export function recordProblems(record: unknown): string[] {
  if (!isObject(record)) return ["not an object"];
  const { payload, properties, ...fields } = record;
  const problems = problemsIn({ ...fields, properties }, recordSchema, "");
  if (fields.version !== EVENT_VERSION) problems.push(`version: not ${EVENT_VERSION}`);
  for (const name of ["started_at", "ended_at"]) {
    if (!TIME.test(String(fields[name]))) problems.push(`${name}: not a time`);
  }
  if (String(fields.ended_at) < String(fields.started_at)) problems.push("ended_at: before started_at");
  const schema = Object.entries(eventSchema).find(([name]) => name === fields.name)?.[1];
  if (schema === undefined) return [...problems, "name: no such event"];
  if (schema.status !== fields.status) problems.push(`status: not ${schema.status}`);
  if ((schema.payload === undefined) !== (payload === undefined))
    problems.push("payload: there, or not there");
  return isObject(properties)
    ? [...problems, ...problemsIn(properties, schema.properties, "properties.")]
    : problems;
}

function problemsIn(value: Record<string, unknown>, schema: Properties, place: string): string[] {
  const unknown = Object.keys(value)
    .filter((name) => !Object.hasOwn(schema, name))
    .map((name) => `${place}${name}: not in the schema`);
  const known = Object.entries(schema).flatMap(([name, rule]) =>
    problemsOf(value[name], rule, `${place}${name}`),
  );
  return [...unknown, ...known];
}

function problemsOf(value: unknown, rule: PropertySchema, place: string): string[] {
  if (value === undefined) return rule.optional === true ? [] : [`${place}: missing`];
  if (!isOfType(value, rule)) return [`${place}: not of type ${rule.type}`];
  if (rule.values !== undefined && rule.open !== true && !Object.hasOwn(rule.values, String(value))) {
    return [`${place}: ${String(value)} is no such word`];
  }
  const inner = rule.properties;
  if (inner === undefined) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      problemsIn(item as Record<string, unknown>, inner, `${place}[${index}].`),
    );
  }
  return problemsIn(value as Record<string, unknown>, inner, `${place}.`);
}

function isOfType(value: unknown, { type }: PropertySchema): boolean {
  if (type === "integer") return Number.isSafeInteger(value) && Number(value) >= 0;
  if (type === "number") return Number.isFinite(value) && Number(value) >= 0;
  if (type === "object") return isObject(value);
  if (type === "strings") return Array.isArray(value) && value.every((item) => typeof item === "string");
  if (type === "objects") return Array.isArray(value) && value.every(isObject);
  return typeof value === type;
}
