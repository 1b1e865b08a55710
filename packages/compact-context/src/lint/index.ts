export type { LintOptions, Mend, Repaired, RuleInfo, Violation } from "./entries.ts";
export { lint } from "./lint.ts";
export { repair } from "./repair.ts";
export { describeRules } from "./rules.ts";
