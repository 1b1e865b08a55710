import { expect, it } from "vitest";
import { decisionsIn, readSentences } from "./statements.ts";

const said = (text: string, speaker: "user" | "assistant" = "assistant"): string[] =>
  decisionsIn(readSentences(text), speaker);

it.each([
  "Fix: weigh the crate before it is sealed.",
  "let's also add a second scale at the gate",
  "then let's drop the printed labels",
  "okay, pack this batch first; let's tackle #4",
  "Yes, please go ahead and cancel the pick-up.",
  "In that case, use the smaller crate.",
  "I don't want insurance on this one",
])("a person decides: %s", (text) => expect(said(text, "user")).toHaveLength(1));

it.each([
  "let's keep going",
  "let's move on to the labels",
  "let's add it",
  "let's look at the crates together",
  "let's say the crate is empty",
  "yes, please do",
  "can we fix: the labels?",
])("a person only goes on or asks: %s", (text) => expect(said(text, "user")).toEqual([]));

it.each([
  "I'll use a plain list for the crates.",
  "Got it, I’ll leave the label as it is.",
  "I'll keep the crate sealed for this run.",
  "We should not copy that name for our scale.",
])("an assistant says what it takes: %s", (text) => expect(said(text)).toHaveLength(1));

it.each([
  "I'll use the packing skill for this.",
  "I'll use a reviewer agent to look at the crates.",
  "I'll keep waiting for the scale.",
  "I'll keep an eye on the scale.",
  "I'll keep the bounded wait active.",
])("an assistant says how it goes on: %s", (text) => expect(said(text)).toEqual([]));

it("an item that puts one way in the place of another is a decision, a report of it is none", () => {
  expect(said("- For parcels, set the limit to grams instead of pounds")).toHaveLength(1);
  expect(said("- Read the weight from the label rather than from the scale")).toHaveLength(1);
  expect(said("- Weights are now in grams instead of pounds")).toEqual([]);
  expect(said("- The scale reads pounds instead of grams")).toEqual([]);
});
