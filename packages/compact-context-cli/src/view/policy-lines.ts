import type { KeepCounts, Policy } from "compact-context/internal/core/policy";

type Lines = readonly { readonly name: string; readonly value: string }[];

/** The settings that a reader looks for, with the keep counts that were really used. */
export function policyLines(policy: Policy, used: KeepCounts | undefined): Lines {
  const keep = used ?? policy;
  const lines: [string, string | number | undefined][] = [
    ["trigger", `${Math.round(policy.triggerPct * 1000) / 10} % of the window`],
    ["kept free", `${policy.hardCapBuffer} tokens`],
    ["strategy", policy.strategy],
    keep.keepRecentMessages === undefined
      ? ["recent turns", relaxed(policy.keepRecentTurns, keep.keepRecentTurns)]
      : ["recent messages", keep.keepRecentMessages],
    ["tool pairs", relaxed(policy.keepToolIoPairs, keep.keepToolIoPairs)],
    ["never pruned", policy.rolesNeverPrune.join(", ")],
    ["target", policy.targetContextTokens === undefined ? undefined : `${policy.targetContextTokens} tokens`],
  ];
  return lines.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: String(value) }]));
}

function relaxed(wanted: number, used: number): string {
  return wanted === used ? String(wanted) : `${used}, lowered from ${wanted}`;
}
