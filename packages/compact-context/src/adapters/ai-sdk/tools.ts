import { objectOf } from "../../providers/request.ts";

/**
 * A tool set as a list that can be counted: name, description and JSON schema, the schema where the SDK keeps it
 * (`jsonSchema(...)`), or the description alone where only the SDK could make one (zod).
 */
export function toolList(tools: Readonly<Record<string, unknown>> | undefined): object[] {
  return Object.entries(tools ?? {}).map(([name, tool]) => {
    const { description, inputSchema, parameters } = objectOf(tool);
    const schema = objectOf(inputSchema ?? parameters);
    return { name, description, parameters: schema.jsonSchema ?? plainSchema(schema) };
  });
}

/** zod 4 schemas turn into JSON schema by themselves; plain objects are one already. */
function plainSchema(schema: object): unknown {
  if ("type" in schema && "properties" in schema && !("_zod" in schema)) return schema;
  const convert = (schema as { toJSONSchema?: unknown }).toJSONSchema;
  if (typeof convert !== "function") return undefined;
  try {
    return convert.call(schema) as unknown;
  } catch {
    return undefined;
  }
}
