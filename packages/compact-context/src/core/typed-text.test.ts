import { expect, it } from "vitest";
import { typedText } from "./units.ts";

it.each([
  ["a skill", "<skill>\n<name>x</name>\n</skill>\ngo on", "go on"],
  ["a hook", "<user-prompt-submit-hook>\nchecked\n</user-prompt-submit-hook>\ngo on", "go on"],
  ["a session's facts", "<session_context>\nToday is Friday.\n</session_context>\ngo on", "go on"],
  ["files of an editor", "<attached_files>\na.ts\n</attached_files>\ngo on", "go on"],
  [
    "a note beside a plan",
    "go on\n\nIf you need specific details from before exiting plan mode (like code), read x",
    "go on",
  ],
  ["a block that never closes", "<skill>\ngo on", "<skill>\ngo on"],
  ["a word of the same sound", "skill issue: go on", "skill issue: go on"],
])("leaves out %s", (_, text, typed) => {
  expect(typedText(text)).toBe(typed);
});
