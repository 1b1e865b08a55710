import { CompactError } from "compact-context/internal/errors";
import { objectOf } from "compact-context/internal/providers/request";

/** A text among a call's arguments; throws `InvalidArgument`, in words for the model. */
export function textArgument(args: unknown, name: string): string {
  const value = objectOf(args)[name];
  if (typeof value === "string") return value;
  throw wrong(name, "a text");
}

/** A whole number from `least`, also where it is given as text. */
export function numberArgument(args: unknown, name: string, otherwise: number, least = 1): number {
  const value = objectOf(args)[name] ?? otherwise;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= least) return number;
  throw wrong(name, `a whole number from ${least}`);
}

function wrong(name: string, wanted: string): CompactError {
  return new CompactError("InvalidArgument", `${name} must be ${wanted}`, {
    place: name,
    hint: "Call the tool again with corrected arguments.",
  });
}

/** The JSON schema of an object; every property is a text unless it says otherwise. */
export function objectSchema(
  properties: Readonly<Record<string, { readonly type?: string; readonly description: string }>>,
  required: readonly string[],
): object {
  const typed = Object.entries(properties).map(([name, one]) => [name, { type: "string", ...one }]);
  return { type: "object", properties: Object.fromEntries(typed), required, additionalProperties: false };
}
