import { expect, it } from "vitest";
import { createRedactor } from "./redactor.ts";

const { redactText } = createRedactor();
const WORDS = "apple brick candle delta early forest grape hotel iris jungle kite lemon";

it.each([
  ["use hunter2 as the password for the admin account", "hunter2"],
  ["The db user is app and its password changed from oldpass1 to newpass2.", "newpass2"],
  [`The seed words of my wallet: ${WORDS}. Please add a footer.`, "brick candle"],
  [`My seed phrase is ${WORDS}.`, "brick candle"],
  [`Remember that the recovery phrase is ${WORDS}. Thanks.`, "brick candle"],
  ["Mein Entsperrcode ist 2580.", "2580"],
])("RED-1 takes a secret out that a sentence tells: %s", (text, secret) => {
  expect(redactText(text)).not.toContain(secret);
});

it.each([
  "We use sha256 as the password hash.",
  "The hash of the password changed from sha1 to argon2.",
  "Use argon2 as the password hash for new accounts.",
  "The recovery phrase is shown once when people create their wallets, then never again.",
  "My seed phrase is lost.",
])("RED-1 leaves a sentence about secrets: %s", (text) => {
  expect(redactText(text)).toBe(text);
});
