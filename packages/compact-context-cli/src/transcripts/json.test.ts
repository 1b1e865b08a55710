import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isoTime, isTooDeep, MAX_DEPTH, parseLine } from "./json.ts";

describe("a line of JSON", () => {
  it("gives every record when newlines between them were lost", () => {
    const record = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.array(fc.string())));
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), (records) => {
        const line = records.map((one) => JSON.stringify(one)).join("");
        expect(parseLine(line)).toEqual({ values: JSON.parse(JSON.stringify(records)), rest: "" });
      }),
    );
  });

  it("gives the records before the broken end, and the end", () => {
    expect(parseLine('{"a":"}"} {"b":"\\"{"} {"c":')).toEqual({
      values: [{ a: "}" }, { b: '"{' }],
      rest: '{"c":',
    });
    expect(parseLine("plain words")).toEqual({ values: [], rest: "plain words" });
    expect(parseLine('{"a":1}, ')).toEqual({ values: [{ a: 1 }], rest: ", " });
  });

  it("that nests too deep is told without overflowing the stack", () => {
    const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    expect(isTooDeep(nested(MAX_DEPTH))).toBe(false);
    expect(isTooDeep(nested(MAX_DEPTH + 1))).toBe(true);
    expect(isTooDeep(nested(4000))).toBe(true);
  });

  it("may hold times that are none", () => {
    expect(isoTime(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(isoTime(1e300)).toBeUndefined();
    expect(isoTime("1")).toBeUndefined();
  });
});
