import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { CompactError } from "../errors.ts";
import { formatProblem, mergeConfig } from "./layer.ts";
import { checkConfig, type LoadConfigOptions, loadConfig } from "./load.ts";
import { settings } from "./schema.ts";
import { defaultConfig } from "./settings.ts";

const load = (options: Partial<LoadConfigOptions>) => loadConfig({ env: {}, ...options }).config;

/** The error that loading throws. */
function refused(options: Partial<LoadConfigOptions>): CompactError {
  try {
    loadConfig({ env: {}, ...options });
  } catch (error) {
    if (CompactError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const problems = (text: string, name = "compact.yaml"): string[] =>
  checkConfig(text, name).map(formatProblem);

describe("defaults", () => {
  it("CFG-3 nothing set gives the specified defaults", () => {
    const { policy, redaction } = load({});
    expect(policy).toMatchObject({
      triggerPct: 0.85,
      hardCapBuffer: 1500,
      keepRecentTurns: 6,
      keepToolIoPairs: 4,
      rolesNeverPrune: ["system", "developer"],
      strategy: "task_state",
    });
    expect(redaction).toEqual({ enabled: true, patterns: [], personal: false });
  });

  it("an empty file and groups without entries set nothing", () => {
    for (const text of ["", "# nothing\n", "policy:\nmodels:\n", "{}"]) {
      expect(load({ text })).toEqual(defaultConfig);
    }
  });

  it("setting one value of a group keeps the others", () => {
    const config = load({ text: "policy:\n  keep_recent_turns: 3\n" });
    expect(config.policy).toEqual({ ...defaultConfig.policy, keepRecentTurns: 3 });
    expect(defaultConfig.policy.keepRecentTurns).toBe(6);
  });
});

describe("precedence", () => {
  const text = "policy:\n  trigger_pct: 0.85\n  hard_cap_buffer: 10\nredaction: {patterns: [a, b]}\n";

  it("CFG-2 COMPACT_TRIGGER_PCT=0.9 beats the file's 0.85", () => {
    expect(load({ text }).policy.triggerPct).toBe(0.85);
    const { policy } = load({ text, env: { COMPACT_TRIGGER_PCT: "0.9" } });
    expect([policy.triggerPct, policy.hardCapBuffer]).toEqual([0.9, 10]);
  });

  it("code beats the environment", () => {
    const config = load({
      text,
      env: { COMPACT_TRIGGER_PCT: "0.9" },
      overrides: { policy: { triggerPct: 0.7 } },
    });
    expect([config.policy.triggerPct, config.policy.hardCapBuffer]).toEqual([0.7, 10]);
  });

  it("lists replace, they do not grow", () => {
    expect(load({ text, overrides: { redaction: { patterns: ["c"] } } }).redaction.patterns).toEqual(["c"]);
  });

  it("CFG-1 thresholds of a model and the newer policy settings are the same in a file as in code", () => {
    const file = [
      "policy:",
      "  exclude_tools: [read, todo_write]",
      "  clear_tool_inputs: true",
      "  max_messages: 200",
      "  before_cache_lapse: 30",
      "models:",
      "  gpt-5: { trigger_pct: 0.6, target_context_tokens: 90000, max_context_tokens: 200000 }",
    ].join("\n");
    const { config } = loadConfig({ text: file, env: {} });
    const policy = {
      excludeTools: ["read", "todo_write"],
      clearToolInputs: true,
      maxMessages: 200,
      beforeCacheLapse: 30,
    };
    const own = { triggerPct: 0.6, targetContextTokens: 90_000, maxContextTokens: 200_000 };
    expect(config).toEqual(mergeConfig({ policy, models: { "gpt-5": own } }));
    expect(config.models["gpt-5"]).toEqual(own);
    expect(() => mergeConfig({ models: { "gpt-5": { triggerPct: 85 } } })).toThrow("must be 0.0-1.0");
  });

  it("models are merged by name, and their names are left alone", () => {
    const { models } = load({
      text: "models:\n  my_own_model: {window: 1000, max_context_tokens: 10}\n",
      env: { COMPACT_MODELS: '{"my_own_model": {"window": 2000}, "constructor": {"window": 5}}' },
      overrides: { models: { other_model: { maxContextTokens: 7 } } },
    });
    expect(models).toEqual({
      my_own_model: { window: 2000, maxContextTokens: 10 },
      constructor: { window: 5 },
      other_model: { maxContextTokens: 7 },
    });
  });

  it("a bad value in a layer that is overruled is still an error", () => {
    const error = refused({
      text: "policy: {trigger_pct: 9}",
      env: { COMPACT_TRIGGER_PCT: "0.9" },
      path: "a.yaml",
    });
    expect(error.message).toBe("a.yaml:1:23 policy.trigger_pct must be 0.0-1.0");
  });
});

describe("files", () => {
  it("CFG-1 an error names file, line, column and path", () => {
    expect(problems("# window\npolicy:\n  trigger_pct:  1.2\n")).toEqual([
      "compact.yaml:3:17 policy.trigger_pct must be 0.0-1.0",
    ]);
    const error = refused({ text: '{\n  "policy": {"trigger_pct": -0.1}\n}', path: "compact.json" });
    expect(error).toMatchObject({ code: "InvalidConfig", place: "compact.json:2:29" });
    expect(error.message).toBe("compact.json:2:29 policy.trigger_pct must be 0.0-1.0");
    expect(error.hint).toContain("compact config check");
  });

  it("CFG-1 YAML and JSON say the same", () => {
    const yaml = "model: gpt-4o\npolicy:\n  roles_never_prune: [system, tool]\n  on_overflow: elide\n";
    const json =
      '{"model": "gpt-4o", "policy": {"roles_never_prune": ["system", "tool"], "on_overflow": "elide"}}';
    expect(load({ text: yaml })).toEqual(load({ text: json }));
    expect(load({ text: yaml }).policy).toMatchObject({
      rolesNeverPrune: ["system", "tool"],
      onOverflow: "elide",
    });
  });

  it("CFG-1 every field refuses a value of the wrong kind, at its place", () => {
    for (const {
      path,
      schema: { type = "string" },
    } of settings) {
      const wrong = type === "string" || type === "boolean" ? 7 : "nonsense";
      const [name = "", field] = path;
      const text = field === undefined ? `${name}: ${wrong}` : `${name}:\n  ${field}: ${wrong}`;
      const [line, column] = field === undefined ? [1, name.length + 3] : [2, field.length + 5];
      const found = problems(text);
      expect(found, text).toHaveLength(1);
      expect(found[0]).toMatch(`compact.yaml:${line}:${column} ${path.join(".")} must be `);
    }
  });

  it("lists every problem in the order of the text", () => {
    const text = `polcy: {}
trigger_pct: 0.9
policy:
  keep_recent_turns: 0
  roles_never_prune: [system, robot]
  triggerPct: 0.5
redaction:
  patterns: ["ok", "(unclosed"]
models:
  gpt: {window: big, size: 3}
`;
    expect(problems(text)).toEqual([
      "compact.yaml:1:1 polcy is not a setting; did you mean policy?",
      "compact.yaml:2:1 trigger_pct is not a setting; did you mean policy.trigger_pct?",
      "compact.yaml:4:22 policy.keep_recent_turns must be a whole number, 1 or more",
      "compact.yaml:5:31 policy.roles_never_prune[1] must be one of system, developer, user, assistant, tool",
      "compact.yaml:6:3 policy.triggerPct is not a setting; did you mean trigger_pct?",
      expect.stringMatching(
        /^compact.yaml:8:20 redaction.patterns\[1\] is no valid regular expression: .*unclosed/,
      ),
      "compact.yaml:10:17 models.gpt.window must be a whole number, 1 or more",
      "compact.yaml:10:22 models.gpt.size is not a setting",
    ]);
    expect(refused({ text }).message).toMatch(
      /^8 problems in the configuration:\n {2}compact.yaml:1:1 polcy/,
    );
  });

  it("settings that contradict each other are refused where the later one stands", () => {
    expect(problems("max_context_tokens: 1000\n")).toEqual([
      "compact.yaml:1:21 max_context_tokens must be more than policy.hard_cap_buffer, which is 1500",
    ]);
    const text = "max_context_tokens: 10000\npolicy:\n  target_context_tokens: 8500\n  max_tokens: 8000\n";
    expect(problems(text)).toEqual([
      "compact.yaml:3:26 policy.target_context_tokens must be less than policy.max_tokens, which is 8000",
      "compact.yaml:3:26 policy.target_context_tokens must be less than the window without its buffer, which is 8500",
    ]);
    const error = refused({
      text: "policy: {max_tokens: 300}",
      env: { COMPACT_SUMMARIZER_MAX_SUMMARY_TOKENS: "300" },
    });
    expect(error.message).toBe(
      "COMPACT_SUMMARIZER_MAX_SUMMARY_TOKENS summarizer.max_summary_tokens must be less than policy.max_tokens, which is 300",
    );
  });

  it.each([
    ["ticket-\\d{1,3},key", ["ticket-\\d{1,3}", "key"]],
    ["id[(]\\d+,ZORD-\\d{4,},x{,y", ["id[(]\\d+", "ZORD-\\d{4,}", "x{", "y"]],
    ['["a,b", "c"]', ["a,b", "c"]],
  ])("a variable with a list is split at its commas, not at those of a pattern: %s", (text, patterns) => {
    expect(load({ env: { COMPACT_REDACTION_PATTERNS: text } }).redaction.patterns).toEqual(patterns);
  });

  it("COMPACT_CONFIG names the file, a path given by hand goes before it", () => {
    const folder = mkdtempSync(join(tmpdir(), "compact-config-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [named, hand, missing] = ["env.yaml", "hand.yaml", "missing.yaml"].map((name) =>
      join(folder, name),
    );
    writeFileSync(named ?? "", "model: env");
    writeFileSync(hand ?? "", "model: hand");
    const env = { COMPACT_CONFIG: named };
    expect(load({ env }).model).toBe("env");
    expect(load({ env, path: hand }).model).toBe("hand");
    expect(load({ env, path: hand, found: true }).model).toBe("env");
    expect(refused({ env: { COMPACT_CONFIG: missing } })).toMatchObject({ code: "NotFound", place: missing });
    expect(refused({ env: { COMPACT_CONFIG: "" } }).message).toMatch(/^COMPACT_CONFIG is set to nothing/);
  });
});

describe("hostile files", () => {
  /** The first problem, and the processor milliseconds until it is reported. */
  const timed = (text: string): { first: string; elapsed: number } => {
    const start = process.cpuUsage();
    const [first = "accepted"] = problems(text);
    const { user, system } = process.cpuUsage(start);
    return { first, elapsed: (user + system) / 1000 };
  };

  it("aliases that multiply are refused with their line", () => {
    const levels = [..."bcdefgh"].map((name, index) => {
      return `${name}: &${name} [${Array<string>(10).fill(`*${"abcdefg"[index]}`).join(",")}]`;
    });
    const { first, elapsed } = timed(`a: &a [x]\n${levels.join("\n")}`);
    expect(first).toBe("compact.yaml:1:1 a is not a setting");
    expect(problems("model: &m gpt\npolicy:\n  strategy: *m\n")[0]).toBe(
      "compact.yaml:3:13 policy.strategy is an alias (*name), which a configuration cannot use; write the value out",
    );
    expect(elapsed).toBeLessThan(500);
  });

  it("ten megabytes are refused at once", () => {
    const { first, elapsed } = timed(`redaction: {patterns: [${"x,".repeat(5_000_000)}]}`);
    expect(first).toMatch(/^compact.yaml:1:1 holds 10000025 characters, more than the 65536/);
    expect(elapsed).toBeLessThan(100);
  });

  it.each([
    ["nested lists", "[".repeat(60_000)],
    ["nested groups", Array.from({ length: 300 }, (_, depth) => `${" ".repeat(depth)}policy:`).join("\n")],
    ["many faults", '"'.repeat(60_000)],
  ])("%s end in an error with its line", (_, text) => {
    expect(timed(text).first).toMatch(/^compact.yaml:\d+:\d+ /);
    expect(refused({ text }).message.length).toBeLessThan(10_000);
  });

  it.each([
    ["model: a\nmodel: b\n", /^compact.yaml:2:1 is not valid YAML: Map keys must be unique/],
    [
      "model: !!js/function 'function () { throw 1 }'\n",
      /^compact.yaml:1:8 is not valid YAML: Unresolved tag/,
    ],
    ["model: a\n---\nmodel: b\n", /^compact.yaml:\d+:\d+ is not valid YAML: /],
    ["policy: [1, 2", /^compact.yaml:1:\d+ is not valid YAML: /],
    ["? {a: 1}\n: b\n", /^compact.yaml:1:3 has a key that is no plain text/],
    ["- model\n", /^compact.yaml:1:1 must be a group of settings/],
    ["just text", /^compact.yaml:1:1 must be a group of settings/],
  ])("%j is an error with its line", (text, expected) => {
    expect(problems(text)[0]).toMatch(expected);
  });

  it("a pattern that can take for ever is refused", () => {
    expect(problems('redaction:\n  patterns: ["ok", "(a+)+$", ""]\n')).toEqual([
      "compact.yaml:2:20 redaction.patterns[1] repeats a group that holds a repetition",
      "compact.yaml:2:30 redaction.patterns[2] must not be empty",
    ]);
  });

  it("prototype keys are refused in file, environment and code, and reach nothing", () => {
    const key = '"__proto__"';
    expect(problems(`{${key}: {"polluted": 1}}`)).toEqual(["compact.yaml:1:2 cannot hold `__proto__`"]);
    expect(problems(`models:\n  ${key}: {window: 1}`)).toEqual([
      "compact.yaml:2:3 models cannot hold `__proto__`",
    ]);
    expect(problems("constructor: {prototype: {polluted: 1}}")).toEqual([
      "compact.yaml:1:1 constructor is not a setting",
    ]);
    expect(refused({ env: { COMPACT_MODELS: `{${key}: {"window": 1}}` } }).place).toBe("COMPACT_MODELS:1:2");
    const overrides: LoadConfigOptions["overrides"] = JSON.parse(
      `{"models": {${key}: {"window": 1}}, ${key}: 1}`,
    );
    expect(refused({ overrides }).message).toMatch(
      /2 problems.*\n {2}code models cannot hold `__proto__`\n {2}code __proto__ is not a setting/,
    );
    const env = { COMPACT_POLICY__CONSTRUCTOR__PROTOTYPE: "1", COMPACT___PROTO___POLLUTED: "1" };
    expect(loadConfig({ env }).warnings).toHaveLength(2);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("whatever the text, problems have a place and nothing but problems comes out", () => {
    const line = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom("policy:", "  trigger_pct: ", "- ", "? ", "&a ", "*a", "!!set"),
    );
    fc.assert(
      fc.property(
        fc.array(line).map((lines) => lines.join("\n")),
        (text) => {
          for (const problem of checkConfig(text, "x.yaml")) {
            expect(problem.place).toMatch(/^x\.yaml:[1-9]\d*:[1-9]\d*$/);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a file that was only found", () => {
  const outside = [
    "/srv/archive",
    "../up",
    "a/../../b",
    "C:\\x",
    "\\\\host\\x",
    "~/x",
    "s3://bucket/x",
    "a\\..\\b",
  ];

  it.each(outside)("may not put the archive at %s", (root) => {
    const text = `storage:\n  root: ${JSON.stringify(root)}\n`;
    const error = refused({ text, path: "compact.yaml", found: true });
    expect(error.message).toMatch(
      /^compact.yaml:2:9 storage.root leads outside the working directory, .*--config/,
    );
    expect(load({ text, path: "compact.yaml" }).storage.root).toBe(root);
  });

  it("may set anything below the working directory", () => {
    const text = "storage: {root: data/..archive}\ntracing: {jsonl: trace.jsonl}\n";
    expect(load({ text, found: true }).storage.root).toBe("data/..archive");
  });

  it("may not send the trace elsewhere", () => {
    expect(refused({ text: "tracing: {jsonl: /etc/x}", found: true }).message).toContain(
      "tracing.jsonl leads outside",
    );
  });

  it.each([
    "storage: {kind: postgres}",
    "storage: {kind: s3, bucket: b}",
    "storage: {adapter: postgres}",
    "storage: {kind: memory}",
    "redaction: {enabled: false}",
    "summarizer: {summary_role: system}",
  ])("CFG-1 may not choose where archives go, nor switch redaction off: %s", (text) => {
    expect(refused({ text, path: "compact.yaml", found: true }).message).toContain("may not be set here");
    expect(load({ text, path: "compact.yaml" })).toBeDefined();
  });

  it("names each setting once and in text order, whatever its value", () => {
    const text = "storage: {bucket: 5}\npolicy: {max_tokens: many}\nretention: {days: 3}\n";
    expect(refused({ text, path: "compact.yaml", found: true }).message.split("\n")).toEqual([
      "3 problems in the configuration:",
      expect.stringMatching(/^ {2}compact.yaml:1:19 storage.bucket may not be set here/),
      "  compact.yaml:2:22 policy.max_tokens must be a whole number, 1 or more",
      expect.stringMatching(/^ {2}compact.yaml:3:19 retention.days may not be set here/),
    ]);
  });

  const LETTERS = ["a", "i", "o", "t", "n", "s", "r", "l", "c", "d", "h", "m", "u", "[0-9]", "[A-Z]"];
  const COMPANY = [
    "ACME-[0-9]{6}",
    "[A-Z]{2,5}-[0-9]{2,6}",
    "(?i)project[ -]?(?:falcon|osprey)",
    "[\\w.]+@acme\\.com",
    "[a-z0-9-]+\\.internal\\.acme\\.com",
    "10\\.\\d+\\.\\d+\\.\\d+",
    "/srv/[a-z]+",
    "[0-9a-f]{32,}",
  ];
  const PERSONAL = ["[\\w.+-]+@[\\w.-]+", "\\d+\\.\\d+\\.\\d+\\.\\d+", "\\d{3}-\\d{2}-\\d{4}"];

  it.each([
    ...["[^z]+", "(?i)[a-z ]+", "e", "\\w", "\\d+", "[A-Z]", "(?i)a", "function", "error|warning"],
    ...[".{200,}", "[а-яё]+", "[一-龥]", "[^\\x00-\\x7F]"],
    LETTERS,
    LETTERS.slice(0, 4).map((letter) => `\\b${letter}\\b`),
    [...COMPANY, ...LETTERS],
  ])("SECURITY.md: may not take out ordinary text: %s", (...patterns) => {
    const text = JSON.stringify({ redaction: { patterns: patterns.flat() } });
    expect(refused({ text, path: "compact.json", found: true }).message).toContain(
      "takes out much of any text",
    );
    expect(load({ text, path: "compact.json" })).toBeDefined();
  });

  it.each([[["(?i)internal-[a-z]+"]], [["retry"]], [COMPANY], [PERSONAL]])(
    "may name what is secret here: %s",
    (patterns) => {
      const text = JSON.stringify({ redaction: { patterns } });
      expect(load({ text, path: "compact.json", found: true })).toBeDefined();
    },
  );

  it("may say what holds without it", () => {
    const text = "storage: {kind: fs}\nredaction: {enabled: true}\n";
    expect(load({ text, found: true }).storage.kind).toBe("fs");
  });

  it("a setting that names an endpoint, headers, a key or a place on disk is guarded", () => {
    for (const { path, guard } of settings) {
      const name = path.at(-1) ?? "";
      if (/url|endpoint|header|token$|secret|credential|api_key|root|path|dir|jsonl|bucket/.test(name)) {
        expect(guard, path.join(".")).toBeDefined();
      }
    }
  });
});

describe("code", () => {
  it("names settings as code writes them", () => {
    const overrides = { policy: { triggerPct: 2, keepRecentTurn: 3 }, models: { my_model: { window: 0 } } };
    expect(refused({ overrides: overrides as unknown as LoadConfigOptions["overrides"] }).message).toBe(
      [
        "3 problems in the configuration:",
        "code policy.triggerPct must be 0.0-1.0",
        "code policy.keepRecentTurn is not a setting; did you mean keepRecentTurns?",
        "code models.my_model.window must be a whole number, 1 or more",
      ].join("\n  "),
    );
  });

  it("file names are refused in code instead of being half understood", () => {
    const overrides = { policy: { trigger_pct: 0.5, triggerPct: 0.6 } };
    expect(refused({ overrides: overrides as unknown as LoadConfigOptions["overrides"] }).message).toBe(
      "code policy.trigger_pct is not a setting; did you mean triggerPct?",
    );
  });

  it("names the nearest setting and not how files are checked, for code and environment alone", () => {
    const overrides = { modell: "gpt-4o" } as unknown as LoadConfigOptions["overrides"];
    const error = refused({ overrides });
    expect(error.message).toBe("code modell is not a setting; did you mean model?");
    expect(error.hint).not.toContain("config check");
    expect(refused({ env: { COMPACT_MODELS: "{a: " } }).hint).not.toContain("config check");
  });

  it("undefined leaves a setting alone", () => {
    const overrides = { policy: { triggerPct: undefined } };
    expect(load({ overrides: overrides as unknown as LoadConfigOptions["overrides"] })).toEqual(
      defaultConfig,
    );
  });
});
