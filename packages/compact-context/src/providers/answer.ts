import type { TextModelAnswer } from "../core/ports.ts";
import { objectOf, textOf } from "./json.ts";

/** Models behind plain servers think aloud before they answer. */
const THINKING = /^\s*<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>\s*|$)/;

/** An answer in common terms; thinking that opens the text is no part of it. */
export function answerOf(text: string, stop: TextModelAnswer["stop"], usage: unknown): TextModelAnswer {
  const spoken = text.replace(THINKING, "");
  return { text: spoken, stop, usage: usage ?? undefined };
}

/** Why a model stopped, in common terms; `other` for a word that `known` does not hold. */
export function stopOf(
  known: Readonly<Record<string, TextModelAnswer["stop"]>>,
  word: unknown,
): TextModelAnswer["stop"] {
  const reason = textOf(word);
  return (Object.hasOwn(known, reason) ? known[reason] : undefined) ?? "other";
}

/** Throws what a server reports in the body of an answer that it calls a success. */
export function throwReported(body: unknown): void {
  const { error, status } = objectOf(body);
  if (error === undefined || error === null) return;
  const said = typeof error === "string" ? error : textOf(objectOf(error).message);
  throw Object.assign(
    new Error(said === "" ? `The model answered with an error (${status ?? "none named"}).` : said),
    {
      error,
    },
  );
}
