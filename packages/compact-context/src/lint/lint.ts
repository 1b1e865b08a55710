import { codecFor } from "../codecs/formats.ts";
import { readNative } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { requireList, requireOptions } from "../errors.ts";
import { ANTHROPIC_RULES } from "./anthropic.ts";
import { readEntries } from "./entries.ts";
import { GEMINI_RULES } from "./gemini.ts";
import { GENERIC_RULES, REASONING_RULES } from "./generic.ts";
import { AI_SDK_RULES, LANGCHAIN_RULES, PI_RULES } from "./hosts.ts";
import { ITEM_RULES, OPENAI_CHAT_RULES } from "./openai.ts";
import type { LintOptions, Rule, RuleInfo, Violation } from "./rule.ts";

/** Every rule, the ones for all formats first. */
const RULES: readonly Rule[] = [
  ...GENERIC_RULES,
  ...REASONING_RULES,
  ...OPENAI_CHAT_RULES,
  ...ITEM_RULES,
  ...ANTHROPIC_RULES,
  ...GEMINI_RULES,
  ...AI_SDK_RULES,
  ...LANGCHAIN_RULES,
  ...PI_RULES,
];

/** The rules that hold for a format. */
export function rulesFor(format: Format): Rule[] {
  return RULES.filter((rule) => rule.formats.includes(format));
}

/** Every rule in words, in the order of the documentation. */
export function describeRules(): RuleInfo[] {
  return RULES.map(({ check: _check, fix: _fix, ...info }) => ({ ...info }));
}

/**
 * Every rule of the format that the list breaks, in order of place. Entries of the wrong shape are violations too;
 * throws `UnknownFormat` only for a format that does not exist.
 */
export function lint(list: readonly unknown[], format: Format, options: LintOptions = {}): Violation[] {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => broken(list, format, options));
}

function broken(list: readonly unknown[], format: Format, options: LintOptions): Violation[] {
  const read = readEntries(list, format);
  return rulesFor(format)
    .flatMap(({ id, severity, explanation, link, check }) =>
      check(read, options).map(({ position, path, problem }): Violation => {
        return { rule: id, severity, index: position, path, explanation: problem ?? explanation, link };
      }),
    )
    .toSorted((a, b) => a.index - b.index);
}
