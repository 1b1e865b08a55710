import { codecFor } from "../codecs/formats.ts";
import { readNative } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { defined, requireList, requireOptions } from "../errors.ts";
import { ANTHROPIC_RULES, GEMINI_RULES } from "./anthropic-gemini.ts";
import { type CheckOptions, type LintOptions, type ReadList, readEntries } from "./entries.ts";
import { AI_SDK_RULES, LANGCHAIN_RULES, PI_RULES } from "./frameworks.ts";
import { GENERIC_RULES } from "./generic.ts";
import { ITEM_RULES, OPENAI_CHAT_RULES } from "./openai.ts";
import {
  type Done,
  Editor,
  type Finding,
  type Mend,
  type Rule,
  type RuleInfo,
  type Violation,
  type Working,
} from "./rule.ts";

export type { LintOptions } from "./entries.ts";
export type { Mend, RuleInfo, Violation } from "./rule.ts";

const RULES: readonly Rule[] = [
  ...GENERIC_RULES,
  ...OPENAI_CHAT_RULES,
  ...ITEM_RULES,
  ...ANTHROPIC_RULES,
  ...GEMINI_RULES,
  ...AI_SDK_RULES,
  ...LANGCHAIN_RULES,
  ...PI_RULES,
];

/** Rules that are mended before the others, in this order; those of one line are mended together. */
const FIRST: readonly (readonly string[])[] = [
  ["generic/unreadable-entry", "generic/unknown-role"],
  ["generic/duplicate-entry-id"],
  ["generic/call-without-id", "generic/result-without-id"],
  ["generic/orphan-result", "generic/duplicate-result", "generic/duplicate-call"],
  ["generic/refused-id"],
  ["anthropic/unique-call-ids"],
  [
    "generic/dead-call",
    "generic/result-before-call",
    "openai-chat/results-follow-call",
    "anthropic/result-in-next-message",
    "anthropic/results-first",
    "anthropic/results-split",
    "gemini/responses-match",
    "ai-sdk/results-before-next-ask",
  ],
];

const LAST: readonly (readonly string[])[] = [
  ["anthropic/system-leads", "gemini/system-leads"],
  ["openai-chat/strict-system-first"],
  ["generic/empty-list"],
  ["anthropic/first-user", "gemini/starts-with-user", "openai-chat/strict-needs-user"],
  ["openai-chat/strict-alternation"],
];

const ORDERED: ReadonlySet<string> = new Set([...FIRST, ...LAST].flat());

/** Every rule in the order of the repair. */
const STAGES: readonly (readonly Rule[])[] = [
  ...FIRST.map(rulesNamed),
  ...RULES.filter(({ id }) => !ORDERED.has(id)).map((rule) => [rule]),
  ...LAST.map(rulesNamed),
];

function rulesNamed(ids: readonly string[]): Rule[] {
  return ids.flatMap((id) => RULES.filter((rule) => rule.id === id));
}

export function rulesFor(format: Format): Rule[] {
  return RULES.filter((rule) => rule.formats.includes(format));
}

/** Descriptions of all rules, in the order of the documentation. */
export function describeRules(): RuleInfo[] {
  return RULES.map(({ check: _check, ...info }) => ({ ...info }));
}

/**
 * Every violation of the format's rules, by position. Entries of the wrong shape are violations too; throws
 * `UnknownFormat` for an unknown format.
 */
export function lint(list: readonly unknown[], format: Format, options: LintOptions = {}): Violation[] {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => violationsOf(readEntries(list, format, options), rulesFor(format)));
}

/** What is wrong with a list by these rules, in its order. */
export function violationsOf(list: ReadList, rules: readonly Rule[]): Violation[] {
  return rules
    .flatMap(({ id, severity, explanation, link, check }) =>
      check(list).map(({ position, path, problem }): Violation => {
        return { rule: id, severity, index: position, path, explanation: problem ?? explanation, link };
      }),
    )
    .toSorted((a, b) => a.index - b.index);
}

// ---- repair

export interface Repaired {
  /** A new array; unchanged entries are the caller's own objects. */
  readonly messages: unknown[];
  readonly mends: readonly Mend[];
}

/** Far more rounds than any list has needed; a guard against mends that undo each other. */
const MOST_ROUNDS = 100;

/**
 * Mends everything that can be mended without inventing content, and reports the mends. A valid list returns
 * the same objects and no mends. Throws `UnknownFormat` for an unknown format.
 */
export function repair(list: readonly unknown[], format: Format, options: LintOptions = {}): Repaired {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => mended(list, format, options));
}

/** `repair` without checks of its arguments. */
export function mended(list: readonly unknown[], format: Format, options: CheckOptions): Repaired {
  let working: readonly Working[] = list.map((native, index) => ({ native, index }));
  const mends: Mend[] = [];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const edited = mendStage(working, format, options, mends);
    if (edited === undefined) break;
    working = edited;
  }
  return {
    messages: working.map((one) => one.native),
    mends: mends.toSorted((a, b) => a.index - b.index),
  };
}

/** Mends the first stage that finds something; undefined if none does. */
function mendStage(
  working: readonly Working[],
  format: Format,
  options: CheckOptions,
  mends: Mend[],
): Working[] | undefined {
  const natives = working.map((one) => one.native);
  const list = readEntries(natives, format, options);
  for (const stage of STAGES) {
    const rules = stage.filter((rule) => rule.formats.includes(format));
    const found = rules.flatMap((rule) => rule.check(list).map((finding) => ({ rule, finding })));
    if (found.every(({ finding }) => finding.fix === undefined)) continue;
    const editor = new Editor(format);
    for (const { rule, finding } of found) {
      const done = finding.fix?.(editor);
      if (done !== undefined) mends.push(mendOf(rule, finding, done, working));
    }
    return editor.apply(working);
  }
  return undefined;
}

function mendOf(rule: Rule, finding: Finding, done: Done, working: readonly Working[]): Mend {
  const { position, path, problem: explanation = rule.explanation } = finding;
  const index = working[position]?.index ?? 0;
  const block = /^messages\[\d+\](.+)/.exec(path)?.[1];
  return defined({
    rule: rule.id,
    index,
    path: block && `messages[${index}]${block}`,
    explanation,
    ...done,
  });
}
