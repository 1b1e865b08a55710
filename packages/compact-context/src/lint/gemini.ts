import { objectOf } from "../codecs/native.ts";
import { isObject } from "../errors.ts";
import { leadingSystem, startsWrong, trailingSystem } from "./anthropic.ts";
import type { Entry, ReadList } from "./entries.ts";
import { misplacedResults } from "./openai.ts";
import { batchesOf, firstInterloper, holdersOf, isOutOfOrder, isSplit } from "./pairs.ts";
import { at, atEntry, drop, type Finding, type Rule, rulesOf } from "./rule.ts";

const FORMATS = ["gemini"] as const;
const FUNCTION_CALLING = 'Gemini API: "Function calling with the Gemini API"';
const CONTENTS = 'Gemini API reference: "GenerateContent", contents';

/** Gemini contents. */
export const GEMINI_RULES: readonly Rule[] = rulesOf(FORMATS, [
  {
    id: "gemini/responses-match",
    explanation:
      "The turn behind function calls holds as many responses as there were calls, in their order.",
    link: FUNCTION_CALLING,
    mend: "The responses are moved into that turn and put in order.",
    check: (list) => [
      ...misplacedResults(list),
      ...batchesOf(list).flatMap((batch): Finding[] => {
        const found = firstInterloper(batch);
        if (found !== undefined) return [at(found.entry, found.path, "stands before function responses")];
        const [host, split] = isSplit(batch) ? holdersOf(batch) : batch.hosts.slice(0, 1);
        if (split !== undefined) return [atEntry(split, "the responses are spread over several contents")];
        return host !== undefined && isOutOfOrder(batch)
          ? [atEntry(host, "the responses stand in another order than their calls")]
          : [];
      }),
    ],
  },
  {
    id: "gemini/starts-with-user",
    explanation: "The first content must be the user's, and no function response.",
    link: CONTENTS,
    mend: "A synthetic user content opens the conversation.",
    check: (list) => startsWrong(list).map((entry) => atEntry(entry)),
  },
  {
    id: "gemini/system-in-contents",
    severity: "warning",
    explanation:
      "System text leads the list: the host has to lift it into the request's own `systemInstruction`, because it is refused among the contents.",
    link: CONTENTS,
    check: (list) => leadingSystem(list).map((entry) => atEntry(entry)),
  },
  {
    id: "gemini/system-leads",
    explanation:
      "System text stands behind other contents, where it cannot be lifted without changing the order.",
    link: CONTENTS,
    mend: "The content is moved to the front, from where the host lifts it into `systemInstruction`.",
    check: (list) => trailingSystem(list).map((entry) => atEntry(entry)),
  },
  {
    id: "gemini/thought-signature",
    severity: "warning",
    explanation: "A function call of the current turn has lost the thought signature that others have.",
    link: 'Gemini API: "Thought signatures"',
    check: (list) => unsignedCalls(list),
  },
  {
    id: "gemini/empty-parts",
    explanation: "A content must have parts.",
    link: CONTENTS,
    mend: "The content is dropped.",
    check: ({ entries }) =>
      entries.filter((entry) => entry.cells.length === 0).map((entry) => atEntry(entry)),
    fix: drop,
  },
]);

/** Only the first call of a step carries a signature; models that sign none are left alone. */
function unsignedCalls({ entries }: ReadList): Finding[] {
  const start = entries.findLastIndex((entry) => entry.message.role === "user");
  const steps = entries.slice(start + 1).flatMap((entry) => {
    const first = entry.cells.find(({ value }) => isCall(value));
    return first === undefined ? [] : [{ entry, cell: first }];
  });
  const unsigned = steps.filter(({ cell }) => !isSigned(cell.value));
  const anySigned = entries.some((entry) =>
    entry.cells.some(({ value }) => isCall(value) && isSigned(value)),
  );
  return anySigned
    ? unsigned.map(({ entry, cell }: { entry: Entry; cell: { path: string } }) => at(entry, cell.path))
    : [];
}

function isCall(value: unknown): boolean {
  return isObject(value) && (isObject(value.functionCall) || isObject(value.function_call));
}

function isSigned(value: unknown): boolean {
  const { thoughtSignature, thought_signature: other } = objectOf(value);
  return typeof (thoughtSignature ?? other) === "string";
}
