import type { Policy } from "../policy/policy.ts";
import { defaultPolicy } from "../policy/policy.ts";
import type { SummaryStrategy } from "../summarizers/summarizer.ts";

/** Facts about a model that a user states; they win over the ones that come with the package. */
export interface ModelOverride {
  /** Tokens of prompt and answer together. */
  readonly window?: number;
  /** Most tokens of one answer. */
  readonly maxOutput?: number;
  /** Name of a public encoding, such as `o200k_base`. */
  readonly encoding?: string;
  /** US dollars per million tokens. */
  readonly prices?: {
    readonly input?: number;
    readonly output?: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
  };
}

/** Everything that can be set; files say the same in snake_case. */
export interface CompactConfig {
  readonly model?: string;
  readonly maxContextTokens?: number;
  readonly policy: Policy & {
    readonly strategy: SummaryStrategy;
    readonly onOverflow: "error" | "elide";
  };
  readonly summarizer: {
    readonly kind: "builtin";
    readonly maxSummaryTokens?: number;
    readonly summaryRole: "assistant" | "user" | "system";
    readonly fallback: "builtin" | "pruning-only";
  };
  readonly storage: {
    readonly kind: "fs" | "memory";
    readonly root: string;
    readonly onFailure: "stop" | "continue";
  };
  readonly redaction: { readonly enabled: boolean; readonly patterns: readonly string[] };
  readonly tracing: { readonly console: boolean; readonly jsonl?: string };
  readonly models: Readonly<Record<string, ModelOverride>>;
}

/** What holds when nothing is set. */
export const defaultConfig: CompactConfig = {
  policy: { ...defaultPolicy, strategy: "task_state", onOverflow: "error" },
  summarizer: { kind: "builtin", summaryRole: "assistant", fallback: "builtin" },
  storage: { kind: "fs", root: ".compact/archive", onFailure: "stop" },
  redaction: { enabled: true, patterns: [] },
  tracing: { console: false },
  models: {},
};
