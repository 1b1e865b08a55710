import type { Format } from "../core/message.ts";
import { ANTHROPIC_RULES } from "./anthropic.ts";
import type { Rule, RuleInfo } from "./entries.ts";
import { GEMINI_RULES } from "./gemini.ts";
import { GENERIC_RULES, REASONING_RULES } from "./generic.ts";
import { AI_SDK_RULES, LANGCHAIN_RULES, PI_RULES } from "./hosts.ts";
import { ITEM_RULES, OPENAI_CHAT_RULES } from "./openai.ts";

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
