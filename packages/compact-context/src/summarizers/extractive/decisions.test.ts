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
