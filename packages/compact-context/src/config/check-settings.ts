import type { Policy } from "../core/policy.ts";
import { CompactError } from "../errors.ts";
import { didYouMean } from "./did-you-mean.ts";
import { type CompactConfig, defaultConfig } from "./settings.ts";

type Sections = Omit<CompactConfig, "model" | "maxContextTokens" | "models">;
type Optional<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

/** The settings that have no default. */
const WITHOUT_DEFAULT: { readonly [S in keyof Sections]: Readonly<Record<Optional<Sections[S]>, true>> } = {
  policy: {
    keepRecentMessages: true,
    maxTokens: true,
    maxTokensBeforeSummary: true,
    targetContextTokens: true,
    maxToolResultTokens: true,
    coldTriggerPct: true,
    backgroundTriggerPct: true,
  },
  summarizer: { maxSummaryTokens: true, seed: true },
  storage: {
    bucket: true,
    prefix: true,
    region: true,
    endpoint: true,
    kmsKeyId: true,
    forcePathStyle: true,
    schema: true,
  },
  redaction: {},
  tracing: { jsonl: true, ariadne: true },
  memory: {},
  memoryRecall: {},
  sessionMemory: {},
};

/** Checks what was passed in code: every key must be a setting, numbers be in range. Throws `InvalidConfig`. */
export function checkConfigObject(config: CompactConfig): void {
  const known = ["model", "maxContextTokens", "models", ...Object.keys(WITHOUT_DEFAULT)];
  const unknown = Object.keys(config).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw invalid(unknown, `is not a setting${didYouMean(unknown, known, everySetting())}`);
  }
  for (const section of Object.keys(WITHOUT_DEFAULT) as (keyof Sections)[]) {
    if (section !== "policy") checkKeys(section, config[section]);
  }
  checkPolicy(config.policy);
  if (!["fs", "memory", "s3", "postgres"].includes(config.storage.kind)) {
    throw invalid("storage.kind", "must be one of fs, memory, s3, postgres");
  }
  whole("maxContextTokens", config.maxContextTokens, 1);
  whole("summarizer.maxSummaryTokens", config.summarizer.maxSummaryTokens, 1);
  whole("summarizer.deadlineSeconds", config.summarizer.deadlineSeconds, 1);
  whole("summarizer.seed", config.summarizer.seed, 0);
  for (const [name, { window, maxOutput }] of Object.entries(config.models)) {
    whole(`models.${name}.window`, window, 1);
    whole(`models.${name}.maxOutput`, maxOutput, 1);
  }
  const { memoryRecall, sessionMemory } = config;
  whole("memoryRecall.maxCandidates", memoryRecall.maxCandidates, 1);
  whole("memoryRecall.maxInjected", memoryRecall.maxInjected, 0);
  whole("memoryRecall.maxChars", memoryRecall.maxChars, 0);
  whole("sessionMemory.minTurnsBetweenUpdate", sessionMemory.minTurnsBetweenUpdate, 1);
  whole("sessionMemory.minToolCallsBetweenUpdate", sessionMemory.minToolCallsBetweenUpdate, 1);
}

/** Checks a policy that was passed in code. Throws `InvalidConfig`. */
export function checkPolicy(policy: Policy): void {
  checkKeys("policy", policy);
  for (const name of ["triggerPct", "coldTriggerPct", "backgroundTriggerPct"] as const) {
    const share = policy[name];
    if (share === 0) throw invalid(`policy.${name}`, "must be more than 0");
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
}

function checkKeys(section: keyof Sections, given: object): void {
  const unknown = Object.keys(given).find((key) => !isSetting(section, key));
  if (unknown === undefined) return;
  const suggestion = didYouMean(unknown, namesOf(section), everySetting());
  throw invalid(`${section}.${unknown}`, `is not a setting${suggestion}`);
}

function namesOf(section: keyof Sections): string[] {
  return Object.keys({ ...defaultConfig[section], ...WITHOUT_DEFAULT[section] });
}

function everySetting(): string[][] {
  const sections = Object.keys(WITHOUT_DEFAULT) as (keyof Sections)[];
  return sections.flatMap((section) => namesOf(section).map((name) => [section, name]));
}

function isSetting(section: keyof Sections, key: string): boolean {
  return Object.hasOwn(defaultConfig[section], key) || Object.hasOwn(WITHOUT_DEFAULT[section], key);
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
