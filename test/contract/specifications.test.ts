import { describe, expect, it } from "vitest";
import { loadConfig } from "../../packages/compact-context/src/config/index.ts";
import {
  type CompactConfigInput,
  CompactError,
  CompactManager,
} from "../../packages/compact-context/src/index.ts";

// Every configuration that specifications 001 and 002 write out, from a file and in code.

interface Literal {
  readonly name: string;
  readonly yaml: string;
  readonly code: CompactConfigInput;
  /** What both come to. */
  readonly means: object;
}

const SECRETS = ["(?i)api[_-]?key\\s*[:=]\\s*\\S+", "(?i)password\\s*[:=]\\s*\\S+"];

const literals: readonly Literal[] = [
  {
    name: "001 a window of 128,000 tokens with a buffer of 1,500",
    yaml: "max_context_tokens: 128_000\npolicy:\n  hard_cap_buffer: 1_500\n",
    code: { maxContextTokens: 128_000, policy: { hardCapBuffer: 1500 } },
    means: { maxContextTokens: 128_000, policy: { hardCapBuffer: 1500 } },
  },
  {
    name: '001 CompactConfig(model="gpt-4", max_context_tokens=128_000)',
    yaml: "model: gpt-4\nmax_context_tokens: 128_000\n",
    code: { model: "gpt-4", maxContextTokens: 128_000 },
    means: { model: "gpt-4", maxContextTokens: 128_000 },
  },
  {
    name: "001 the defaults, written out",
    yaml: `policy:
  trigger_pct: 0.85
  hard_cap_buffer: 1500
  keep_recent_turns: 6
  keep_tool_io_pairs: 4
  roles_never_prune: ["system", "developer"]
  strategy: "task_state"
`,
    code: {
      policy: {
        triggerPct: 0.85,
        hardCapBuffer: 1500,
        keepRecentTurns: 6,
        keepToolIoPairs: 4,
        rolesNeverPrune: ["system", "developer"],
        strategy: "task_state",
      },
    },
    means: {
      policy: {
        triggerPct: 0.85,
        hardCapBuffer: 1500,
        keepRecentTurns: 6,
        keepToolIoPairs: 4,
        rolesNeverPrune: ["system", "developer"],
        strategy: "task_state",
      },
    },
  },
  ...(["task_state", "decision_log", "code_delta", "brief"] as const).map(
    (strategy): Literal => ({
      name: `001 strategy="${strategy}"`,
      yaml: `policy: {strategy: ${strategy}}`,
      code: { policy: { strategy } },
      means: { policy: { strategy } },
    }),
  ),
  {
    name: '001 storage adapter="fs"',
    yaml: "storage:\n  adapter: fs\n",
    code: { storage: { adapter: "fs" } },
    means: { storage: { kind: "fs", root: ".compact/archive" } },
  },
  {
    name: '001 storage adapter="s3", bucket, prefix, KMS',
    yaml: "storage:\n  adapter: s3\n  bucket: logs\n  prefix: agents\n  kms_key_id: alias/compact\n",
    code: { storage: { adapter: "s3", bucket: "logs", prefix: "agents", kmsKeyId: "alias/compact" } },
    means: { storage: { kind: "s3", bucket: "logs", prefix: "agents", kmsKeyId: "alias/compact" } },
  },
  {
    name: '001 storage adapter="memory"',
    yaml: "storage: {adapter: memory}",
    code: { storage: { adapter: "memory" } },
    means: { storage: { kind: "memory" } },
  },
  {
    name: "001 the redaction patterns",
    yaml: `redaction:\n  enabled: true\n  patterns:\n${SECRETS.map((one) => `    - '${one}'\n`).join("")}`,
    code: { redaction: { enabled: true, patterns: SECRETS } },
    means: { redaction: { enabled: true, patterns: SECRETS } },
  },
  {
    name: "001 redaction is disabled",
    yaml: "redaction: {enabled: false}",
    code: { redaction: { enabled: false } },
    means: { redaction: { enabled: false } },
  },
  {
    name: "001 seed=42 and temperature=0",
    yaml: "summarizer: {seed: 42, temperature: 0}",
    code: { summarizer: { seed: 42, temperature: 0 } },
    means: { summarizer: { seed: 42, temperature: 0 } },
  },
  {
    name: "002 the ContextConfig",
    yaml: `max_context_tokens: 180,000
target_context_tokens: 150000
summary_trigger_ratio: 0.8
keep_recent_messages: 10
keep_system_prompt: true
`.replace(",", "_"),
    code: {
      maxContextTokens: 180_000,
      targetContextTokens: 150_000,
      summaryTriggerRatio: 0.8,
      keepRecentMessages: 10,
      keepSystemPrompt: true,
    },
    means: {
      maxContextTokens: 180_000,
      policy: {
        targetContextTokens: 150_000,
        triggerPct: 0.8,
        keepRecentMessages: 10,
        rolesNeverPrune: ["system", "developer"],
      },
    },
  },
  {
    name: "002 the same under our names",
    yaml: `max_context_tokens: 180000
policy: {target_context_tokens: 150000, trigger_pct: 0.8, keep_recent_messages: 10}
`,
    code: {
      maxContextTokens: 180_000,
      policy: { targetContextTokens: 150_000, triggerPct: 0.8, keepRecentMessages: 10 },
    },
    means: {
      maxContextTokens: 180_000,
      policy: { targetContextTokens: 150_000, triggerPct: 0.8, keepRecentMessages: 10 },
    },
  },
];

const quiet = { onWarning: () => undefined };

describe("CFG-1 the specifications' own configurations load", () => {
  it.each(literals)("$name", ({ yaml, code, means }) => {
    const inFile = loadConfig({ text: yaml, env: {} }).config;
    const inCode = new CompactManager(code, quiet).config;
    expect(inFile).toMatchObject(means);
    expect(inCode).toEqual(inFile);
    expect(new CompactManager(inFile, quiet).config).toEqual(inFile);
  });

  it("COMPACT_TRIGGER_PCT=0.9 beats the file's 0.85, and 1.5 is refused in words", () => {
    const text = "policy:\n  trigger_pct: 0.85\n";
    expect(loadConfig({ text, env: { COMPACT_TRIGGER_PCT: "0.9" } }).config.policy.triggerPct).toBe(0.9);
    expect(() => loadConfig({ text, env: { COMPACT_TRIGGER_PCT: "1.5" } })).toThrowError(
      "policy.trigger_pct must be 0.0-1.0",
    );
    expect(loadConfig({ env: { COMPACT_STORAGE_ADAPTER: "memory" } }).config.storage.kind).toBe("memory");
  });

  it("keepSystemPrompt: false lets system messages go", () => {
    const { config } = new CompactManager({ keepSystemPrompt: false });
    expect(config.policy.rolesNeverPrune).toEqual(["developer"]);
  });

  it.each([
    ["storage: {adapter: s4}", "compact.yaml:1:20 storage.adapter must be one of fs, memory, s3, postgres"],
    [
      "storage: {adapter: fs, kind: s3}",
      "compact.yaml:1:20 storage.adapter says something else than storage.kind; keep one of the two",
    ],
    ["keep_system_prompt: maybe", "compact.yaml:1:21 keep_system_prompt must be true or false"],
    ["summary_trigger_ratio: 80", "compact.yaml:1:24 summary_trigger_ratio must be 0.0-1.0"],
    ["storage: 7\nstorage_adapter: fs", "storage must be a group of settings"],
  ])("%s is refused at its place", (text, message) => {
    expect(() => loadConfig({ text, env: {} })).toThrowError(message);
  });

  it("the same is refused in code, under its name there", () => {
    const refused = (config: object) => () => new CompactManager(config);
    expect(refused({ storage: { adapter: "s4" } })).toThrowError("storage.adapter must be one of fs,");
    expect(refused({ summaryTriggerRatio: 80 })).toThrowError("summaryTriggerRatio must be 0.0-1.0");
    expect(refused({ storage: { adapter: "fs", kind: "s3" } })).toThrowError(
      "storage.adapter says something else than storage.kind; keep one of the two",
    );
  });
});

describe("TRG-4 a target", () => {
  const contradicting: readonly [string, string, CompactConfigInput][] = [
    [
      "over the window",
      "max_context_tokens: 10000\npolicy: {target_context_tokens: 12000}",
      { maxContextTokens: 10_000, policy: { targetContextTokens: 12_000 } },
    ],
    [
      "over the window without its buffer",
      "max_context_tokens: 10000\npolicy: {target_context_tokens: 9000}",
      { maxContextTokens: 10_000, policy: { targetContextTokens: 9000 } },
    ],
    [
      "over max_tokens",
      "policy: {target_context_tokens: 9000, max_tokens: 8000}",
      { policy: { targetContextTokens: 9000, maxTokens: 8000 } },
    ],
  ];
  it.each(contradicting)("%s is refused in a file and in code, in the same words", (_, text, code) => {
    const told = (work: () => unknown): CompactError => {
      try {
        work();
      } catch (error) {
        if (CompactError.isInstance(error)) return error;
      }
      throw new Error("nothing was refused");
    };
    const inFile = told(() => loadConfig({ text, env: {} }));
    const inCode = told(() => new CompactManager(code));
    expect([inFile.code, inCode.code]).toEqual(["InvalidConfig", "InvalidConfig"]);
    expect(inFile.message).toMatch(/policy.target_context_tokens must be less than /);
    expect(inCode.message).toMatch(/policy.targetContextTokens must be less than /);
    expect(inCode.hint).not.toBe("");
  });

  it("at or over the trigger is explained in both, once", () => {
    const words = /target of 150000 tokens is not below the trigger, which is 144000 \(0.8 of 180000\)/;
    const text = literals.find(({ name }) => name === "002 the ContextConfig")?.yaml;
    expect(loadConfig({ text, env: {} }).warnings).toEqual([expect.stringMatching(words)]);
    const warnings: string[] = [];
    new CompactManager(
      { maxContextTokens: 180_000, targetContextTokens: 150_000, summaryTriggerRatio: 0.8 },
      { onWarning: (message) => void warnings.push(message) },
    );
    expect(warnings).toEqual([expect.stringMatching(words)]);
  });

  it("of 150,000 with a trigger at 144,000 summarizes all but the last 10, as specification 002 does", async () => {
    const words = "tide rope clerk ledger harbour lantern".split(" ");
    const text = (length: number, from: number): string =>
      Array.from({ length }, (_, index) => words[(index * 7 + from) % words.length]).join(" ");
    const config = literals.find(({ name }) => name === "002 the ContextConfig")?.code;
    const manager = new CompactManager({ ...config, storage: { kind: "memory" } }, quiet);
    let list: { role: string; content: string }[] = [{ role: "system", content: "Answer briefly." }];
    let compactions = 0;
    let passedOver = 0;
    for (let turn = 0; turn < 500; turn += 1) {
      list = [...list, { role: turn % 2 === 0 ? "user" : "assistant", content: text(600, turn) }];
      const { messages, report } = await manager.preflight("s", list);
      if (report.compacted) {
        compactions += 1;
        expect(messages).toHaveLength(12);
        expect(messages[0]).toBe(list[0]);
        expect(messages.slice(-10)).toEqual(list.slice(-10));
        expect(report.tokensAfter).toBeLessThan(150_000);
      } else if (report.tokensBefore > 144_000) passedOver += 1;
      list = messages;
    }
    expect([compactions, passedOver]).toEqual([2, 0]);
  });
});

it("RED-3 the patterns of specification 001 take out what they match, from a file as from code", async () => {
  const { createRedactor } = await import("../../packages/compact-context/src/redaction/redactor.ts");
  const yaml = literals.find(({ name }) => name === "001 the redaction patterns")?.yaml;
  const slashed = SECRETS.map((one) => `/${one.slice(4)}/i`);
  const { patterns } = loadConfig({ text: yaml, env: {} }).config.redaction;
  for (const given of [patterns, slashed]) {
    const { redactText } = createRedactor({ patterns: given });
    expect(redactText("API-Key = test, then PASSWORD: changeme and all")).toBe(
      "<REDACTED> then <REDACTED> and all",
    );
  }
});
