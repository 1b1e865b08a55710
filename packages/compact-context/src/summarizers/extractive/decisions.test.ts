import { expect, it } from "vitest";
import { decisionsIn, readSentences } from "./statements.ts";

const said = (text: string): string[] => decisionsIn(readSentences(text), "user");

it.each([
  "then let's drop the printed labels",
  "let's also remove the second scale at the gate",
  "ok, let's stick with wooden crates",
])("a person decides: %s", (text) => expect(said(text)).toHaveLength(1));

it.each([
  "let's keep going",
  "let's rename it",
  "let's add a camera to see what happens",
  "let's look at the crates together",
  "yes, please do",
])("a person only goes on or asks: %s", (text) => expect(said(text)).toEqual([]));
