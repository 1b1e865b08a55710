export { describeRules, lint } from "./lint.ts";
export { repair } from "./repair.ts";
export type { LintOptions, Mend, Repaired, RuleInfo, Severity, Violation } from "./rule.ts";
