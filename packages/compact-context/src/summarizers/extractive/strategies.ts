import type { SummaryStrategy } from "../../core/ports.ts";
import type { HeadingKey } from "./headings.ts";

/** How a strategy spends its budget. */
export interface StrategyPlan {
  /** Sections in order of print, each with the most of the budget that it may take, and the least summary, in tokens, that has it. */
  readonly sections: readonly (readonly [HeadingKey, number, number?])[];
  /** Most of the budget that all sections may take together; the telling lines get the rest. */
  readonly sectionsShare: number;
  /** Part of these shares that sections take in a short summary, where lines tell more per token. */
  readonly lean: number;
  /** False: nothing beyond the sections. */
  readonly timeline: boolean;
}

/** The arrangements of the same facts. `task_state` keeps its sections near a third: lines of the conversation tell more per token. */
export const STRATEGIES: Readonly<Record<SummaryStrategy, StrategyPlan>> = {
  task_state: {
    sections: [
      ["request", 0.1],
      ["firstRequest", 0.04, 600],
      ["constraints", 0.06],
      ["inheritedRules", 0.04],
      ["todos", 0.05, 600],
      ["errors", 0.04, 600],
      ["decisions", 0.03, 600],
      ["files", 0.05, 600],
      ["commands", 0.03, 600],
      ["identifiers", 0.03, 600],
    ],
    sectionsShare: 0.32,
    lean: 0.4,
    timeline: true,
  },
  decision_log: {
    sections: [
      ["request", 0.12],
      ["constraints", 0.08],
      ["decisionLog", 0.5],
      ["todos", 0.08],
      ["files", 0.06],
      ["identifiers", 0.03],
    ],
    sectionsShare: 0.75,
    lean: 1,
    timeline: true,
  },
  code_delta: {
    sections: [
      ["request", 0.12],
      ["constraints", 0.06],
      ["codeDelta", 0.5],
      ["todos", 0.08],
      ["errors", 0.08],
      ["commands", 0.05],
    ],
    sectionsShare: 0.75,
    lean: 1,
    timeline: true,
  },
  brief: {
    sections: [
      ["request", 0.35],
      ["constraints", 0.15],
      ["todos", 0.15],
      ["errors", 0.12],
      ["files", 0.15],
    ],
    sectionsShare: 0.7,
    lean: 1,
    timeline: true,
  },
  step_ledger: {
    sections: [
      ["request", 0.12],
      ["constraints", 0.06],
      ["steps", 0.6],
      ["todos", 0.08],
    ],
    sectionsShare: 0.85,
    lean: 1,
    timeline: true,
  },
  requirements_ledger: {
    sections: [
      ["request", 0.15],
      ["requirements", 0.5],
      ["inheritedRules", 0.08],
      ["todos", 0.1],
      ["decisions", 0.08],
      ["files", 0.05],
    ],
    sectionsShare: 0.8,
    lean: 1,
    timeline: true,
  },
};
