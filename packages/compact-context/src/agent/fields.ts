import type { Diagnostic } from "./diagnostic.ts";
import { type FrontmatterFile, splitList } from "./frontmatter.ts";

/** Reads fields of a frontmatter; what is wrong with them is collected. */
export interface FieldReader {
  readonly problems: Diagnostic[];
  readonly raw: FrontmatterFile["fields"];
  placeOf(field: string): string;
  /** Text of a field; undefined where it is missing. */
  text(field: string): string | undefined;
  /** A list of texts, also written as one text with commas. */
  list(field: string): readonly string[] | undefined;
  choice<T extends string>(field: string, choices: readonly T[]): T | undefined;
  /** A number over 0, no larger than `most`. */
  amount(field: string, most: number): number | undefined;
  wrong(field: string, message: string, hint: string): void;
  /** Tells of something that changes nothing. */
  remark(field: string, message: string, hint: string): void;
  /** Tells of fields that nobody knows; they change nothing. */
  tellOthers(known: readonly string[]): void;
}

export function readFields({ fields, placeOf, problems: found, lenient }: FrontmatterFile): FieldReader {
  const problems: Diagnostic[] = [...found];
  const telling =
    (code: string) =>
    (field: string, message: string, hint: string): void => {
      problems.push({ code, message: `${field}: ${message}`, place: placeOf(field), hint });
    };
  const wrong = telling("bad-frontmatter");
  const remark = telling("remark");
  /** A field that is there and could not be read is no field that was left out: what it says is not known. */
  const isSet = (field: string): boolean => {
    const value = fields[field];
    if (lenient && field in fields && value === undefined)
      wrong(field, "cannot be read", "Write it on one line, a list in brackets.");
    return value !== undefined && value !== null;
  };
  return {
    problems,
    raw: fields,
    placeOf,
    wrong,
    remark,
    text(field) {
      const value = fields[field];
      if (!isSet(field)) return undefined;
      if (typeof value === "string" || typeof value === "number") return String(value).trim();
      wrong(field, "a text is expected", "Write it on one line.");
      return undefined;
    },
    list(field) {
      const value = fields[field];
      if (!isSet(field)) return undefined;
      if (typeof value === "string") return splitList(value);
      if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value as string[];
      wrong(field, "a list of texts is expected", `Write ${field}: [one, two].`);
      return undefined;
    },
    choice(field, choices) {
      const value = fields[field];
      if (!isSet(field)) return undefined;
      const known = choices.find((choice) => choice === value);
      if (known === undefined)
        wrong(
          field,
          `"${String(value)}" is none of ${choices.join(", ")}`,
          `Use one of ${choices.join(", ")}.`,
        );
      return known;
    },
    amount(field, most) {
      if (!isSet(field)) return undefined;
      const value = Number(fields[field]);
      if (Number.isFinite(value) && value > 0 && value <= most) return value;
      wrong(
        field,
        `"${String(fields[field])}" is no number over 0, up to ${most}`,
        `Leave ${field} out for its default.`,
      );
      return undefined;
    },
    tellOthers(known) {
      for (const field of Object.keys(fields)) {
        if (!known.includes(field))
          remark(field, "is no field that is known here", `The fields are ${known.join(", ")}.`);
      }
    },
  };
}
