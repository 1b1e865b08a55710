import { expect, it } from "vitest";
import { listedSteps } from "./state.ts";

it("the list below a heading goes on over indented lines and ends with the next text", () => {
  const said = [
    "Next steps:",
    "- Test the tabs",
    "  with files of both kinds",
    "",
    "- Write the changelog",
    "That is all from me.",
    "- The parser is quick",
  ];
  expect(listedSteps(said.join("\n"))).toEqual(["Test the tabs", "Write the changelog"]);
});

it("steps that are done and questions are none", () => {
  const said = "## What is left\n1. [x] Read the code\n2. ✅ Test it\n3. Shall I go on?\n4. Merge the branch";
  expect(listedSteps(said)).toEqual(["Merge the branch"]);
});
