import { expect, it } from "vitest";
import { redact } from "../../packages/compact-context/src/redaction/redactor.ts";
import classes from "./classes.json" with { type: "json" };
import eighth from "./eighth.json" with { type: "json" };
import fifth from "./fifth.json" with { type: "json" };
import fourth from "./fourth.json" with { type: "json" };
import ninth from "./ninth.json" with { type: "json" };
import seventh from "./seventh.json" with { type: "json" };
import sixth from "./sixth.json" with { type: "json" };
import tenth from "./tenth.json" with { type: "json" };
import { HARMLESS, SECRETS } from "./unseen.ts";

function isLeft(text: string, secret: string): boolean {
  const run = Math.min(8, secret.length);
  for (let at = 0; at + run <= secret.length; at += 1)
    if (text.includes(secret.slice(at, at + run))) return true;
  return false;
}

const sets: readonly (readonly [string, readonly (readonly [string, string])[], readonly string[]])[] = [
  ["the third set", SECRETS, HARMLESS],
  ["the fourth set", fourth.secrets as unknown as readonly (readonly [string, string])[], fourth.harmless],
  ["the fifth set", fifth.secrets as unknown as readonly (readonly [string, string])[], fifth.harmless],
  ["the sixth set", sixth.secrets as unknown as readonly (readonly [string, string])[], sixth.harmless],
  ["the seventh set", seventh.secrets as unknown as readonly (readonly [string, string])[], seventh.harmless],
  ["the eighth set", eighth.secrets as unknown as readonly (readonly [string, string])[], eighth.harmless],
  ["the ninth set", ninth.secrets as unknown as readonly (readonly [string, string])[], ninth.harmless],
  ["the tenth set", tenth.secrets as unknown as readonly (readonly [string, string])[], tenth.harmless],
];

it.each(sets)(
  "RED-2 finds at least 93 %% of the secrets of %s, written without a look at the patterns, and touches no other line",
  (_, secrets, harmless) => {
    const missed = secrets.filter(([text, secret]) => isLeft(redact(text), secret)).map(([text]) => text);
    expect(missed.length / secrets.length, missed.join("\n")).toBeLessThanOrEqual(0.07);
    expect(harmless.filter((line) => redact(line) !== line)).toEqual([]);
  },
);

it("RED-2 finds the neighbours of what earlier sets missed, and leaves what looks like them", () => {
  const pairs = classes.secrets as unknown as readonly (readonly [string, string])[];
  expect(pairs.filter(([text, secret]) => isLeft(redact(text), secret))).toEqual([]);
  expect(classes.harmless.filter((line) => redact(line) !== line)).toEqual([]);
});
