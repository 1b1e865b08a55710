// What the agent writes into the copy. The first version is wrong where the story needs it to be.

export const explainSource = `import type { Policy } from "./policy.ts";
import { budgetOf, TriggerInput, type TriggerReason } from "./trigger.ts";

interface Distance {
  readonly reason: TriggerReason;
  readonly tokens: number;
}

/** How far a request is from its next compaction, in one sentence for a person. */
export function explainTrigger(input: TriggerInput, policy: Policy): string {
  const distances: Distance[] = [{ reason: "trigger_pct", tokens: Math.ceil(policy.triggerPct * input.maxContextTokens) - input.tokens }, { reason: "hard_cap", tokens: budgetOf(input.maxContextTokens, policy) - input.tokens }];
  if (policy.maxTokens !== undefined) distances.push({ reason: "max_tokens", tokens: policy.maxTokens - input.tokens });
  if (policy.maxTokensBeforeSummary !== undefined) {
    distances.push({ reason: "max_tokens_before_summary", tokens: policy.maxTokensBeforeSummary - input.messageTokens });
  }
  const nearest = distances.sort((a, b) => a.tokens - b.tokens)[0];
  if (nearest.tokens <= 0) return \`over \${nearest.reason}: the next request is compacted\`;
  return \`\${nearest.tokens} tokens below \${nearest.reason}\`;
}
`;

export const explainTest = `import { describe, expect, it } from "vitest";
import { explainTrigger } from "./explain.ts";
import { defaultPolicy, type Policy } from "./policy.ts";
import { decideTrigger } from "./trigger.ts";

const at = (tokens: number) => ({ tokens, messageTokens: tokens, maxContextTokens: 128_000 });

describe("explainTrigger", () => {
  it("names the nearest threshold and how far it is", () => {
    expect(explainTrigger(at(96_000), defaultPolicy)).toBe("12800 tokens below trigger_pct");
    expect(explainTrigger(at(40_000), { ...defaultPolicy, maxTokens: 50_000 })).toBe(
      "10000 tokens below max_tokens",
    );
    expect(explainTrigger(at(40_000), { ...defaultPolicy, maxTokensBeforeSummary: 45_000 })).toBe(
      "5000 tokens below max_tokens_before_summary",
    );
  });

  it("is over a threshold exactly when a compaction starts", () => {
    const policy: Policy = { ...defaultPolicy, triggerPct: 1 };
    for (const tokens of [126_499, 126_500, 126_501]) {
      const over = explainTrigger(at(tokens), policy).startsWith("over");
      expect(over, \`\${tokens} tokens\`).toBe(decideTrigger(at(tokens), policy).triggered);
    }
  });
});
`;

export const percentageTest = `  it("agrees with decideTrigger at every whole percentage", () => {
    for (const maxContextTokens of [8192, 32_000, 128_000, 200_000, 1_000_000]) {
      for (let percent = 1; percent <= 100; percent += 1) {
        const policy: Policy = { ...defaultPolicy, triggerPct: percent / 100 };
        const share = Math.round((maxContextTokens * percent) / 100);
        for (const tokens of [share - 1, share, share + 1]) {
          const input = { tokens, messageTokens: tokens, maxContextTokens };
          const over = explainTrigger(input, policy).startsWith("over");
          expect(over, \`\${tokens} of \${maxContextTokens} at \${percent} %\`).toBe(
            decideTrigger(input, policy).triggered,
          );
        }
      }
    }
  });
`;

export const headroomSource = `import type { Policy } from "./policy.ts";
import { budgetOf, type TriggerInput, type TriggerReason } from "./trigger.ts";

/** The threshold that a growing request reaches first. */
export interface TriggerHeadroom {
  readonly reason: TriggerReason;
  /** Tokens that are missing to it; 0 once it is reached and a compaction is due. */
  readonly tokens: number;
}

/** Least tokens whose share of the window reaches the given one, by the division that \`decideTrigger\` makes. */
function tokensAtShare(share: number, maxContextTokens: number): number {
  const tokens = Math.ceil(share * maxContextTokens);
  return (tokens - 1) / maxContextTokens >= share ? tokens - 1 : tokens;
}

/** How far a request is from its next compaction, and by which threshold. */
export function triggerHeadroom(input: TriggerInput, policy: Policy): TriggerHeadroom {
  const { tokens, messageTokens, maxContextTokens } = input;
  const thresholds: TriggerHeadroom[] = [
    { reason: "trigger_pct", tokens: tokensAtShare(policy.triggerPct, maxContextTokens) - tokens },
    { reason: "hard_cap", tokens: budgetOf(maxContextTokens, policy) + 1 - tokens },
  ];
  if (policy.maxTokens !== undefined) {
    thresholds.push({ reason: "max_tokens", tokens: policy.maxTokens - tokens });
  }
  if (policy.maxTokensBeforeSummary !== undefined) {
    const missing = policy.maxTokensBeforeSummary - messageTokens;
    thresholds.push({ reason: "max_tokens_before_summary", tokens: missing });
  }
  return thresholds
    .map((each) => ({ ...each, tokens: Math.max(0, each.tokens) }))
    .reduce((least, each) => (each.tokens < least.tokens ? each : least));
}
`;

export const headroomTest = `import { describe, expect, it } from "vitest";
import { triggerHeadroom } from "./headroom.ts";
import { defaultPolicy, type Policy } from "./policy.ts";
import { decideTrigger } from "./trigger.ts";

const at = (tokens: number) => ({ tokens, messageTokens: tokens, maxContextTokens: 128_000 });

describe("triggerHeadroom", () => {
  it("names the nearest threshold and how far it is", () => {
    expect(triggerHeadroom(at(96_000), defaultPolicy)).toEqual({ reason: "trigger_pct", tokens: 12_800 });
    expect(triggerHeadroom(at(40_000), { ...defaultPolicy, maxTokens: 50_000 })).toEqual({
      reason: "max_tokens",
      tokens: 10_000,
    });
    expect(triggerHeadroom(at(40_000), { ...defaultPolicy, maxTokensBeforeSummary: 45_000 })).toEqual({
      reason: "max_tokens_before_summary",
      tokens: 5000,
    });
  });

  it("is 0 exactly when a compaction starts, at every whole percentage", () => {
    for (const maxContextTokens of [8192, 32_000, 128_000, 200_000, 1_000_000]) {
      for (let percent = 1; percent <= 100; percent += 1) {
        const policy: Policy = { ...defaultPolicy, triggerPct: percent / 100 };
        const share = Math.round((maxContextTokens * percent) / 100);
        for (const tokens of [share - 1, share, share + 1]) {
          const input = { tokens, messageTokens: tokens, maxContextTokens };
          const due = triggerHeadroom(input, policy).tokens === 0;
          expect(due, \`\${tokens} of \${maxContextTokens} at \${percent} %\`).toBe(
            decideTrigger(input, policy).triggered,
          );
        }
      }
    }
  });

  it("leaves a request alone that fills the budget exactly", () => {
    const policy: Policy = { ...defaultPolicy, triggerPct: 1 };
    expect(triggerHeadroom(at(126_500), policy)).toEqual({ reason: "hard_cap", tokens: 1 });
    expect(triggerHeadroom(at(126_501), policy)).toEqual({ reason: "hard_cap", tokens: 0 });
  });

  it("names the threshold that decideTrigger names when several are reached", () => {
    for (const triggerPct of [0.85, 1]) {
      const policy: Policy = { ...defaultPolicy, triggerPct, maxTokens: 50_000, maxTokensBeforeSummary: 45_000 };
      expect(triggerHeadroom(at(127_000), policy).reason, \`triggerPct \${triggerPct}\`).toBe(
        decideTrigger(at(127_000), policy).reason,
      );
    }
  });
});
`;
