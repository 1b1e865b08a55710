import { CompactError } from "../errors.ts";
import { type Message, resultText, toolResults } from "../messages/message.ts";
import { mediaBytes, wireBytes } from "../messages/wire-size.ts";
import { type Draft, draftOf, editContext, type PlanInput } from "./draft.ts";
import { applyEdit, type Edit, type EditContext } from "./edit.ts";
import { recallAnswers } from "./recalled.ts";

/** Media are taken down to this share of the byte budget at once, so that the next image does not ask again. */
const MEDIA_SHARE = 0.5;

/** Everything stays; nothing is edited yet. */
export function keepAll(input: PlanInput): Draft {
  const costs = input.messages.map((message) => input.counter.countMessage(message));
  return { ...draftOf(input, input.keep, { relaxed: 0, costs }), kept: new Set(input.messages.keys()) };
}

/**
 * Where the kept messages have more bytes than a request may have, media leave, oldest first; what is pinned
 * and the newest ask keep theirs. Throws `InsufficientBudget` when that is not enough.
 */
export function fitBytes(input: PlanInput, draft: Draft): Draft {
  const { messages, maxBytes = Number.POSITIVE_INFINITY } = input;
  let bytes = 0;
  for (const index of draft.kept) bytes += sizeAfter(input, index, draft.edits.get(index));
  if (bytes <= maxBytes) return draft;
  const found = new Map<number, Edit>();
  for (const index of [...draft.kept].sort((one, other) => one - other)) {
    const message = messages[index];
    if (message === undefined || mediaBytes(message) === 0) continue;
    if (draft.partition.layers[index] === "pinned" || index === draft.ask) continue;
    if (bytes <= maxBytes * MEDIA_SHARE) break;
    const edit: Edit = { ...draft.edits.get(index), dropMedia: true };
    bytes += sizeAfter(input, index, edit) - sizeAfter(input, index, draft.edits.get(index));
    found.set(index, edit);
  }
  if (bytes > maxBytes) throw tooManyBytes(bytes, maxBytes);
  return withEdits(input, draft, found);
}

function sizeAfter(input: PlanInput, index: number, edit: Edit | undefined): number {
  const message = input.messages[index];
  return message === undefined ? 0 : wireBytes(applyEdit(message, edit, editContext(input)));
}

/** Tool results that no model has seen yet and that are longer than `limit` tokens keep head and tail; what was recalled stays whole. */
export function shortenResults(input: PlanInput, limit: number): Draft {
  const found = new Map<number, Edit>();
  for (const index of unsentResults(input.messages, limit, editContext(input)))
    found.set(index, { resultsTo: limit });
  return withEdits(input, keepAll(input), found);
}

/**
 * Where the results longer than `limit` tokens are that stand behind everything the model said: they have never
 * been part of a request.
 */
export function unsentResults(
  messages: readonly Message[],
  limit: number,
  { countText }: Pick<EditContext, "countText">,
): number[] {
  const found: number[] = [];
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message === undefined || message.role === "assistant") break;
    const long = toolResults(message).filter((part) => {
      const text = resultText(part);
      return text.length > limit && countText(text) > limit;
    });
    if (long.length === 0 || message.meta?.protected === true) continue;
    const answersRecall = recallAnswers(messages);
    if (!long.every(({ id }) => answersRecall(id))) found.push(index);
  }
  return found.reverse();
}

function withEdits(input: PlanInput, draft: Draft, found: ReadonlyMap<number, Edit>): Draft {
  const edits = new Map(draft.edits);
  const costs = [...draft.costs];
  for (const [index, edit] of found) {
    const message = input.messages[index];
    if (message === undefined) continue;
    edits.set(index, edit);
    costs[index] = input.counter.countMessage(applyEdit(message, edit, editContext(input)));
  }
  return { ...draft, edits, costs };
}

function tooManyBytes(bytes: number, most: number): CompactError {
  return new CompactError(
    "InsufficientBudget",
    `the newest message and what is protected take ${bytes} bytes, but a request may have ${most}`,
    { hint: "Send smaller images, or raise policy.maxRequestBytes where the provider takes more." },
  );
}
