import { expect, it } from "vitest";
import { problemsText } from "./tools.ts";

it("tells how many lines of the archive could not be read, and nothing where all could", () => {
  expect([0, 1, 2].map(problemsText)).toEqual([
    "",
    "\nOne line of the archive could not be read and were left out.",
    "\n2 lines of the archive could not be read and were left out.",
  ]);
});
