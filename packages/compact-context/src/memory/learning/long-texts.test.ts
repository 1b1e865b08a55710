import { expect, test } from "vitest";
import type { Message } from "../../core/message.ts";
import { forgottenBy } from "../changes/forget.ts";
import { lessonsOf, tellable } from "../memory-task.ts";
import { emptySessionMemory } from "../session-memory.ts";
import { sessionStateOf } from "../session-update/state.ts";
import { durableStatements } from "./statements.ts";
import { forgetWishes } from "./wishes.ts";

const repeated = (unit: string) => (size: number) =>
  unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
const numbered = (line: (n: number) => string) => (size: number) =>
  Array.from({ length: Math.ceil(size / line(100).length) }, (_, n) => line(n)).join("");

/** Texts whose processing time was, or could be, superlinear. */
const TEXTS: Readonly<Record<string, (size: number) => string>> = {
  "one long word": repeated("a"),
  "one long line": repeated("lorem ipsum dolor sit amet "),
  "lines of one word": repeated("is\n"),
  "lines of a negation": repeated("not\n"),
  "lines with Windows ends": repeated("a\r\n"),
  "pronouns in eight languages": repeated("we\nwir\nnous\nnosotros\nnós\nмы\n我们\n私\n"),
  "function words on one line": repeated("not nicht pas no não не 不 ない the der le el o и 的 は "),
  quotes: repeated('"a" '),
  "quotes that are never closed": repeated("„a "),
  bullets: repeated("- a b\n"),
  numbers: repeated("1. a\n"),
  "unclosed brackets": repeated("(a [b {c "),
  dates: repeated("on Monday, March 3\n"),
  dashes: repeated("-"),
  dots: repeated(". "),
  "labels on one line": repeated("a: "),
  labels: repeated("name:\n"),
  "Chinese without spaces": repeated("我们现在改成用数据库部署窗口在星期四"),
  "Chinese sentences": repeated("我们部署。"),
  "Japanese without spaces": repeated("デプロイは木曜日です"),
  paths: repeated("/usr/lib/x.so\n"),
  "quoted lines": repeated("> > > a\n"),
  requests: repeated("forget that\n"),
  "requests of their own": numbered((n) => `Please forget what I said about ding${n}.\n`),
  "rules of their own": numbered((n) => `From now on never touch file${n}.\n`),
  "changes of their own": numbered((n) => `We moved thing${n} from a${n} to b${n}.\n`),
};

function messagesWith(text: string): readonly Message[] {
  return ["From now on never push to main.", text, "Forget my address."].map((said, index) => ({
    id: `m${index}`,
    role: "user",
    parts: [{ type: "text", text: said }],
  }));
}

/** Processor time of all steps a memory runs on a text. */
function timeFor(text: string): number {
  const messages = messagesWith(text);
  const before = process.cpuUsage();
  const lessons = lessonsOf(messages);
  durableStatements(lessons, ["We deploy on Thursdays."]);
  const topics = forgetWishes(lessons).map(({ topic }) => topic);
  sessionStateOf(tellable(lessons, forgottenBy([], topics.slice(0, 3))), emptySessionMemory());
  const { user } = process.cpuUsage(before);
  return user;
}

const SIZE = 12_000;
const LEAST_MICROSECONDS = 20_000;

test.each(Object.entries(TEXTS))("time grows with the length of a text, no faster: %s", (_, textOf) => {
  timeFor(textOf(SIZE));
  const ratio = (): number =>
    timeFor(`${textOf(4 * SIZE)} long`) / Math.max(LEAST_MICROSECONDS, timeFor(`${textOf(SIZE)} short`));
  // Four times the text; quadratic time would be sixteen times.
  expect(Math.min(ratio(), ratio())).toBeLessThan(8);
});

test("what is typed before and behind a long text is the user's own", () => {
  const text = `From now on never push to main.\n${"lorem ipsum dolor. ".repeat(3_000)}\nFrom now on always squash commits.`;
  const said = durableStatements(messagesWith(text).slice(1, 2), []).map((one) => one.text);
  expect(said).toEqual(["From now on never push to main.", "From now on always squash commits."]);
});
