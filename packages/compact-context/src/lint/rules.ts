import type { Format } from "../core/message.ts";
import type { Rule } from "./rule.ts";
import { ANTHROPIC_RULES } from "./rules/anthropic.ts";
import { GEMINI_RULES } from "./rules/gemini.ts";
import { GENERIC_RULES } from "./rules/generic.ts";
import { AI_SDK_RULES, LANGCHAIN_RULES, PI_RULES } from "./rules/hosts.ts";
import { ITEM_RULES } from "./rules/items.ts";
import { OPENAI_CHAT_RULES } from "./rules/openai-chat.ts";
import { REASONING_RULES } from "./rules/reasoning.ts";
import type { RuleInfo } from "./violation.ts";

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
  return RULES.map(({ check: _check, ...info }) => ({ ...info }));
}
