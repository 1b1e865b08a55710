import { CompactError } from "../errors.ts";
import type { CompactConfig } from "./config.ts";
import { defaultConfig } from "./config.ts";

const SECTIONS: ReadonlySet<string> = new Set([...Object.keys(defaultConfig), "model", "maxContextTokens"]);

/** Checks what was passed in code: sections and policy keys must exist, numbers be in range. Throws `InvalidConfig`. */
export function checkConfigObject(config: CompactConfig): void {
  for (const key of Object.keys(config)) {
    if (SECTIONS.has(key)) continue;
    const inPolicy = key in defaultConfig.policy ? ` Did you mean policy.${key}?` : "";
    throw invalid(key, `is not a setting.${inPolicy}`);
  }
  const { policy } = config;
  if (!(policy.triggerPct > 0 && policy.triggerPct <= 1))
    throw invalid("policy.triggerPct", "must be 0.0-1.0");
  for (const name of ["coldTriggerPct", "backgroundTriggerPct"] as const) {
    const share = policy[name];
    if (share !== undefined && !(share > 0 && share <= 1)) throw invalid(`policy.${name}`, "must be 0.0-1.0");
  }
  whole("policy.maxToolResultTokens", policy.maxToolResultTokens, 64);
  whole("policy.maxRequestBytes", policy.maxRequestBytes, 1);
  whole("policy.cacheTtlSeconds", policy.cacheTtlSeconds, 0);
  whole("policy.hardCapBuffer", policy.hardCapBuffer, 0);
  whole("policy.keepRecentTurns", policy.keepRecentTurns, 1);
  whole("policy.keepToolIoPairs", policy.keepToolIoPairs, 0);
  whole("policy.keepRecentMessages", policy.keepRecentMessages, 1);
  whole("policy.maxTokens", policy.maxTokens, 1);
  whole("policy.maxTokensBeforeSummary", policy.maxTokensBeforeSummary, 1);
  whole("policy.targetContextTokens", policy.targetContextTokens, 1);
  whole("maxContextTokens", config.maxContextTokens, 1);
  whole("summarizer.maxSummaryTokens", config.summarizer.maxSummaryTokens, 1);
  const { memoryRecall, sessionMemory } = config;
  whole("memoryRecall.maxCandidates", memoryRecall.maxCandidates, 1);
  whole("memoryRecall.maxInjected", memoryRecall.maxInjected, 0);
  whole("memoryRecall.maxChars", memoryRecall.maxChars, 0);
  whole("sessionMemory.minTurnsBetweenUpdate", sessionMemory.minTurnsBetweenUpdate, 1);
  whole("sessionMemory.minToolCallsBetweenUpdate", sessionMemory.minToolCallsBetweenUpdate, 1);
}

function whole(path: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= least)) return;
  throw invalid(path, `must be a whole number of at least ${least}`);
}

function invalid(path: string, problem: string): CompactError {
  return new CompactError("InvalidConfig", `${path} ${problem}`, {
    place: path,
    hint: "docs/configuration.md lists the settings and their ranges.",
  });
}
