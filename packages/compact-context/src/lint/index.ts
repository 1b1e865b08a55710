export { describeRules, lint } from "./lint.ts";
export { repair } from "./repair.ts";
export type { LintOptions, Mend, Repaired, RuleInfo, Violation } from "./rule.ts";
