import type { Steps } from "../../errors.ts";
import { QUESTION, type Sentence, textsOf } from "./statements.ts";
import type { OpenError, Step } from "./steps.ts";
import { oneLine } from "./text.ts";

// What people say fails, and whether it was solved.

const FAILS =
  /\bstill (?:not|broken|wrong|fail\w*|crash\w*|hang\w*|the same|see(?:ing)?|get(?:ting)?|doesn['’]t|does not|isn['’]t|can['’]t|happen\w*|throw\w*)\b|\b(?:(?:is|are|does|do|did)(?:n['’]t| not)|not) work(?:ing)?\b|\b(?:i['’]?m|i am|we['’]?re|we are|i|we) (?:still )?(?:see(?:ing)?|get(?:ting)?|hit(?:ting)?) (?:an? |the |this |these |following |now ){0,3}(?:\w+ ){0,2}(?:error|exception|failure|warning|crash|traceback|stack ?trace|timeout)s?\b|\bi(?:['’]m| am) seeing$|^but no \w+|\b(?:it|this|that|the \w+|\w+\(\)) (?:fails?|failed|crash(?:es|ed)|throws?|hangs?)(?: (?:with|on|when|because)\b|[.!]?$)/;
const NO_FAILURE =
  /\b(?:i (?:guess|think|suppose)|if|unless|should|would|could|might|can we|test(?:s)? (?:that|for)|make sure|ensure)\b/;
const IS_ERROR =
  /^[`"']?(?:\w{0,60}(?:Error|Exception)\b|error\b|fatal:|panic:|(?:--- )?FAIL(?:ED)?[: ]|failed to\b|cannot\b|traceback\b)/i;

/** Failures in the user's words, and the first line of a pasted error. */
export function reportsIn(all: readonly Sentence[]): string[] {
  return textsOf(all, ({ text, plain }) => {
    if (QUESTION.test(plain) || plain.length < 8 || plain.endsWith(":")) return false;
    return IS_ERROR.test(text) || (FAILS.test(plain) && !NO_FAILURE.test(plain));
  }).slice(0, 5);
}

const SOLVED =
  /\b(?:fixed|resolved|solved|works now|it works|works!|should (?:now )?work|no longer (?:fails?|happens?|crash\w*))\b/i;

/** What somebody said in a message. */
interface Said {
  readonly text: string;
  readonly sentences: readonly Sentence[];
  readonly own: { readonly sentences: readonly Sentence[] };
  readonly stays: "no" | "cut" | "whole";
}

/** What happened, as far as it concerns reports. */
type Told =
  | { readonly kind: "user" | "assistant"; readonly speech: Said }
  | { readonly kind: "step"; readonly step: Pick<Step, "outcome"> }
  | { readonly kind: "answer" | "foreign" };

/** Where a failure comes from that a person reports. */
export const BY_USER = "the user";

/** Failures that users report, until they say that they are solved, or the assistant says so and something passed. */
export function* openReports(entries: readonly Told[]): Steps<OpenError[]> {
  const reports: Report[] = [];
  let passed = false;
  for (const [index, entry] of entries.entries()) {
    if (index % 64 === 0) yield;
    if (entry.kind === "step") passed ||= entry.step.outcome.state === "passed";
    if (entry.kind === "assistant" && passed && SOLVED.test(entry.speech.text.slice(0, 4_000)))
      for (const report of reports) report.solved = true;
    if (entry.kind !== "user") continue;
    solveReports(entry.speech.own.sentences, reports);
    if (addReports(entry.speech, reports)) passed = false;
  }
  const open = reports.filter(({ solved, stays }) => !solved && !stays);
  return open.map(({ text }) => ({ text, from: BY_USER })).reverse();
}

interface Report {
  readonly text: string;
  readonly stays: boolean;
  solved: boolean;
}

/** What a person says of something that failed before. */
const CONTENT =
  /\b(?:works? (?:now|again|fine)|(?:is|are) (?:now )?(?:working|fixed|solved|resolved)(?: now)?|(?:errors?|warnings?|problems?|issues?|bugs?|crash(?:es)?|failures?) (?:is|are) gone|(?:it|that) works(?=[.!,]|$)|that (?:fixed|solved|did) it|never ?mind)(?![\w])/;
const NOT_CONTENT =
  /\b(?:not|no longer works?|but|still|only|if|when|until|make sure|should|must|almost)\b|n['’]t\b|[?？]/;
/** Words in which reports of different things are alike. */
const OF_ANY_REPORT = new Set(
  "work works working thanks thank great fixed solved resolved gone never mind still doesn't does not the and with now when error".split(
    " ",
  ),
);
const SHORT = 60;

/** Marks the reports that a person says are solved: those of the same thing, or the newest where nothing is named. */
function solveReports(sentences: readonly Sentence[], reports: readonly Report[]): void {
  for (const { plain } of sentences) {
    if (!CONTENT.test(plain) || NOT_CONTENT.test(plain)) continue;
    const words = namingWords(plain);
    const same = reports.filter(({ text }) =>
      [...namingWords(text.toLowerCase())].some((word) => words.has(word)),
    );
    const meant = same.length === 0 && plain.length <= SHORT ? reports.slice(-1) : same;
    for (const report of meant) report.solved = true;
  }
}

function namingWords(text: string): Set<string> {
  return new Set((text.match(/[\p{L}\p{N}_'’-]{3,}/gu) ?? []).filter((word) => !OF_ANY_REPORT.has(word)));
}

/** Adds what a user reports; what is still so was not solved. True where there is something. */
function addReports({ sentences, stays }: Said, reports: Report[]): boolean {
  const found = [...new Set(reportsIn(sentences).map(oneLine))];
  if (found.some((line) => /\b(?:still|again)\b/i.test(line)))
    for (const report of reports.slice(-3)) report.solved = false;
  for (const text of found) reports.push({ text, stays: stays === "whole", solved: false });
  return found.length > 0;
}
