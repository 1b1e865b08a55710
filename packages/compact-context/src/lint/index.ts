export type { LintOptions, Mend, Repaired, RuleInfo, Severity, Violation } from "./entries.ts";
export { describeRules, lint } from "./lint.ts";
export { repair } from "./repair.ts";
