import type { Format } from "compact-context/internal/core/message";
import { checkAnthropic } from "./provider-checks-anthropic.ts";
import { checkItems } from "./provider-checks-items.ts";
import { checkAiSdk, checkChat, checkGemini, checkLangchain, checkPi } from "./provider-checks-others.ts";
import type { Check } from "./provider-checks-shared.ts";

/**
 * Faults that a provider would reject, as `<invariant> <detail>`, and invalid changes of a shortened list
 * compared with `original`. Reads the provider's format directly, without the codecs and `lint`, so that
 * neither can hide a fault of the other.
 */
export function checkProvider(
  format: Format,
  list: readonly unknown[],
  original: readonly unknown[],
): string[] {
  return [...new Set(CHECKS[format](list, original))];
}

const CHECKS: Readonly<Record<Format, Check>> = {
  anthropic: checkAnthropic,
  "openai-responses": (list, original) => checkItems(list, original, "call_id"),
  "openai-agents": (list, original) => checkItems(list, original, "callId"),
  "openai-chat": checkChat,
  gemini: checkGemini,
  "ai-sdk": checkAiSdk,
  langchain: checkLangchain,
  pi: checkPi,
};
