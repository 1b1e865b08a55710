import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Finding, findAround, joinFindings, replaceFindings } from "./finding.ts";
import { findInLines, findKubernetesSecrets } from "./lines.ts";
import { findKeyValues } from "./named.ts";
import { findNear } from "./near.ts";
import { findPlaces } from "./places.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { redact } from "./redactor.ts";
import { findTokens } from "./tokens.ts";

const FINDERS = [
  findPrivateKeys,
  findTokens,
  findKeyValues,
  findNear,
  findPlaces,
  findInLines,
  findKubernetesSecrets,
];
const LINE = "for (const item of list) console.log(item.name, 42); // nothing to see here\n";
const FILLER = LINE.repeat(200);

/** Searches the whole text in every round. */
function redactedAtLength(text: string): string {
  let before = text;
  for (let round = 0; round < 6; round += 1) {
    const found = joinFindings(FINDERS.flatMap((finder): Finding[] => [...finder(before)]));
    before = replaceFindings(before, found);
  }
  return before;
}

const piece = fc.constantFrom(
  "token=a1b2c3d4e5f6g7h8i9",
  "password: hunter2!x",
  "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
  "sk-",
  "=",
  'api_key="',
  '"',
  " ",
  "\n",
  "://user:",
  "@host",
  "Bearer ",
  "eyJhbGciOiJIUzI1NiJ9.",
  "secret",
  "&key=",
  "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n",
  "-----END PRIVATE KEY-----",
  "curl -u a:",
);
const dense = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
const long = fc
  .array(fc.tuple(dense, fc.constantFrom(FILLER, LINE, FILLER.replaceAll("\n", " "))), {
    minLength: 1,
    maxLength: 5,
  })
  .map((parts) => `See: ${parts.flat().join("")}`);

describe("later rounds over a long text", () => {
  it("RED-2 find what they would find over all of it", () => {
    fc.assert(
      fc.property(long, (text) => {
        expect(redact(text)).toBe(redactedAtLength(text));
      }),
      { numRuns: 40 },
    );
  });

  it("read the lines around what was replaced, not the whole", () => {
    const text = LINE.repeat(14_000);
    let read = 0;
    const places = [0, 1000, 500_000, text.length - 10].map((start) => ({ start, end: start + 10 }));
    const found = findAround(text, places, (part) => {
      read += part.length;
      expect(text).toContain(part);
      return [{ start: 200, end: 210, kind: "here" }];
    });
    expect(found).toHaveLength(3);
    for (const { start, end } of found ?? []) expect(end - start).toBe(10);
    expect(read).toBeLessThan(50_000);
  });

  it("read all of it where what they find may go on", () => {
    const text = LINE.repeat(2000);
    const atEdge = (part: string): Finding[] => [{ start: part.length - 5, end: part.length, kind: "here" }];
    expect(findAround(text, [{ start: 70_000, end: 70_010 }], atEdge)).toBeUndefined();
  });
});
