import { type NativeObject, objectOf } from "../codecs/native.ts";

/** Counts one piece of text in the encoding of the model. */
export type CountText = (text: string) => number;

/** Tokens that OpenAI spends around a function and its parts (cookbook, "How to count tokens with tiktoken"). */
const LINES = {
  function: 7,
  oldFunction: 10,
  properties: 3,
  property: 3,
  enumeration: -3,
  enumItem: 3,
  end: 12,
};

/** A tool's own fields, whichever provider's wrapper is around them. */
function functionOf(tool: unknown): NativeObject {
  const outer = objectOf(tool);
  return "function" in outer ? objectOf(outer.function) : outer;
}

function schemaOf(fields: NativeObject): NativeObject {
  return objectOf(fields.parameters ?? fields.input_schema ?? fields.inputSchema);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.replace(/\.$/, "") : "");

/**
 * Tools as OpenAI renders them: `name:description` and a line per property. Properties of nested objects and of
 * array items count like those of the top. `old`: the models before gpt-4o, with 10 instead of 7 per function.
 */
export function toolLinesTokens(tools: readonly unknown[], count: CountText, old: boolean): number {
  let total = LINES.end;
  for (const tool of tools) {
    const fields = functionOf(tool);
    if (typeof fields.name !== "string") {
      total += toolJsonTokens([tool], count);
      continue;
    }
    total += old ? LINES.oldFunction : LINES.function;
    total += count(`${fields.name}:${textOf(fields.description)}`);
    total += propertiesTokens(schemaOf(fields), count, 0);
  }
  return total;
}

/** Schemas nest rarely deeper; a cyclic one ends here. */
const DEEPEST = 16;

function propertiesTokens(schema: NativeObject, count: CountText, depth: number): number {
  const properties = Object.entries(objectOf(schema.properties));
  if (properties.length === 0 || depth > DEEPEST) return 0;
  let total = LINES.properties;
  for (const [name, value] of properties) {
    const property = objectOf(value);
    total += LINES.property + enumTokens(property.enum, count);
    total += count(`${name}:${typeName(property.type)}:${textOf(property.description)}`);
    total += propertiesTokens(property, count, depth + 1);
    total += propertiesTokens(objectOf(property.items), count, depth + 1);
  }
  return total;
}

const typeName = (type: unknown): string => (Array.isArray(type) ? type.join("|") : String(type ?? "any"));

function enumTokens(values: unknown, count: CountText): number {
  if (!Array.isArray(values)) return 0;
  let total = LINES.enumeration;
  for (const value of values) total += LINES.enumItem + count(String(value));
  return total;
}

/** Tools as JSON text; what cannot be written as JSON counts by its name alone. */
export function toolJsonTokens(tools: readonly unknown[], count: CountText): number {
  let total = 0;
  for (const tool of tools) total += count(jsonText(tool));
  return total;
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return textOf(functionOf(value).name);
  }
}
