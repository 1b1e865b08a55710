import { describe, expect, it } from "vitest";
import * as agents from "../../packages/compact-context/src/agent/index.ts";
import * as config from "../../packages/compact-context/src/config/index.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import * as root from "../../packages/compact-context/src/index.ts";
import * as memory from "../../packages/compact-context/src/memory/index.ts";
import { createPostgresMemorySource } from "../../packages/compact-context/src/memory/sources/postgres.ts";
import * as recall from "../../packages/compact-context/src/recall/index.ts";
import * as redaction from "../../packages/compact-context/src/redaction/redactor.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createPostgresDriver } from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { createS3Driver } from "../../packages/compact-context/src/storage/s3/driver.ts";
import * as tracing from "../../packages/compact-context/src/tracing/index.ts";

type Call = (...given: unknown[]) => unknown;

const list = [{ role: "user", content: "How long is the coast?" }];
const GIVEN: readonly (readonly unknown[])[] = [
  [],
  [list],
  [null],
  [{}],
  ["x"],
  [7],
  [list, null],
  [list, "x"],
  [list, list],
];

function functionsOf(module: object): [string, Call][] {
  return Object.entries(module).filter((entry): entry is [string, Call] => typeof entry[1] === "function");
}

const CLASSES: [string, Call][] = [
  ["new CompactManager", (...given) => Reflect.construct(root.CompactManager, given)],
  ...(["preflight", "manualCompact"] as const).map((name): [string, Call] => [
    `manager.${name}`,
    (...given) => (new root.CompactManager({ storage: { kind: "memory" } })[name] as Call)("s", ...given),
  ]),
];
const WITH_FORMAT: [string, Call][] = [
  ["builtinSummarizer.summarize", root.builtinSummarizer.summarize as Call],
  ["decode", (given) => root.decode(given as never, "openai-chat")],
  ["encode", (given) => root.encode(given as never, "openai-chat")],
  ["lint", (given, options) => root.lint(given as never, "openai-chat", options as never)],
  ["repair", (given, options) => root.repair(given as never, "openai-chat", options as never)],
];
const { CompactError: _error, CompactManager: _manager, ...plain } = root;
const SOME = {
  createRecall: recall.createRecall,
  recallTools: recall.recallTools,
  loadConfig: config.loadConfig,
  checkConfig: config.checkConfig,
  findConfig: config.findConfig,
  createAgent: agents.createAgent,
  createRedactor: redaction.createRedactor,
  redact: redaction.redact,
  createFsDriver,
  createMemoryDriver,
  createPostgresDriver,
  createS3Driver,
  createPostgresMemorySource,
  createChannelMemory: memory.createChannelMemory,
  createMemoryWriter: memory.createMemoryWriter,
  createSidecar: memory.createSidecar,
  openMemoryScope: memory.openMemoryScope,
  readMemory: memory.readMemory,
  checkMemory: memory.checkMemory,
  recallRelevantMemory: memory.recallRelevantMemory,
  buildMemoryCandidates: memory.buildMemoryCandidates,
  createAriadneExporter: tracing.createAriadneExporter,
  createConsoleExporter: tracing.createConsoleExporter,
  createOpenTelemetryExporter: tracing.createOpenTelemetryExporter,
};

async function refusalOf(call: Call, given: readonly unknown[]): Promise<unknown> {
  try {
    await call(...given);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe("wrong arguments are refused in words, with a place and what to do next", () => {
  it.each([...functionsOf(plain), ...CLASSES, ...WITH_FORMAT, ...functionsOf(SOME)])(
    "%s",
    async (_name, call) => {
      for (const given of GIVEN) {
        const error = await refusalOf(call, given);
        if (error === undefined) continue;
        if (!CompactError.isInstance(error)) throw error;
        expect(error.hint, error.message).not.toBe("");
        if (error.code === "InvalidArgument") expect(error.place, error.message).toBeDefined();
      }
    },
  );

  it.each([
    ["compact", () => root.compact(list, undefined as never), "options"],
    ["compact", () => root.compact(null as never, { maxTokens: 9 }), "messages"],
    ["planCompaction", () => root.planCompaction(list, null as never), "options"],
    ["countTokens", () => root.countTokens("x" as never), "messages"],
    ["createAgent", () => agents.createAgent({} as never), "options.model"],
    ["createFsDriver", () => createFsDriver({} as never), "options.root"],
    ["createS3Driver", () => createS3Driver({} as never), "options.bucket"],
  ])("%s names what is wrong", async (_name, call, place) => {
    expect(await refusalOf(call, [])).toMatchObject({ code: "InvalidArgument", place });
  });
});
