import { expect, it } from "vitest";
import { englishStem } from "./units.ts";

it.each([
  ["consign", "consigned", "consigning", "consignment", "consigns"],
  ["deploy", "deploys", "deployed", "deployments", "deploying"],
  ["hop", "hopping", "hopped", "hops"],
  ["hope", "hoped", "hopes"],
  ["cry", "cries", "cried"],
  ["agree", "agreed", "agreement"],
  ["happy", "happily", "happiness"],
  ["migrate", "migrated", "migrating", "migration"],
  ["beauty", "beautiful"],
  ["relation", "relations", "relational"],
])("the forms of %s have one stem", (...forms) => {
  expect(new Set(forms.map(englishStem)).size).toBe(1);
});

it.each(["by", "say", "gas", "this", "bus", "thing", "red", "deploy2", "über"])(
  "%s is left as it is",
  (word) => {
    expect(englishStem(word)).toBe(word);
  },
);
