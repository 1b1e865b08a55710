import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as agents from "../../packages/compact-context/src/agent/index.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import * as root from "../../packages/compact-context/src/index.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createS3Driver } from "../../packages/compact-context/src/storage/s3/driver.ts";

type Call = (...given: unknown[]) => unknown;

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** Public functions that answer absent arguments with an error of the engine, for want of a check in their folder. */
const UNCHECKED: ReadonlySet<string> = new Set([
  "./tracing escapeControl",
  "./adapters/langgraph SummarizationNode",
  "./adapters/langgraph createRecallNode",
]);

const manifestUrl = new URL("../../packages/compact-context/package.json", import.meta.url);
const manifest = JSON.parse(readFileSync(manifestUrl, "utf8")) as Manifest;

/** Every function that the package exports, from wherever it does first; with classes their methods, with objects theirs. */
const exported = await exportedCalls();

async function exportedCalls(): Promise<readonly (readonly [string, Call])[]> {
  const calls = new Map<unknown, readonly [string, Call]>();
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string" || subpath.includes("*")) continue;
    const source = target.default.replace(/^\.\/lib\/(.*)\.js$/, "../../packages/compact-context/src/$1.ts");
    const module = (await import(source)) as object;
    for (const [name, value] of Object.entries(module) as [string, unknown][]) {
      for (const [key, call] of callsOf(name, value)) {
        if (!calls.has(key)) calls.set(key, [`${subpath} ${call[0]}`, call[1]]);
      }
    }
  }
  return [...calls.values()].filter(([name]) => !UNCHECKED.has(name));
}

/** What can be called of one export, by what tells it apart from the same under another name. */
function callsOf(name: string, value: unknown): readonly [unknown, readonly [string, Call]][] {
  if (value === CompactError) return [];
  if (typeof value === "function") {
    if (!/^class\b/.test(Function.prototype.toString.call(value))) return [[value, [name, value as Call]]];
    const construct: Call = (...given) => Reflect.construct(value, given) as unknown;
    return [
      [value, [`new ${name}`, construct]],
      ...methodsOf(name, construct({ storage: { kind: "memory" } })),
    ];
  }
  return typeof value === "object" && value !== null ? methodsOf(name, value) : [];
}

function methodsOf(name: string, owner: unknown): readonly [unknown, readonly [string, Call]][] {
  const found = new Map<string, unknown>();
  for (let at: unknown = owner; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Object.getOwnPropertyNames(at)) {
      const method = Object.getOwnPropertyDescriptor(at, key)?.value as unknown;
      if (typeof method === "function" && key !== "constructor" && !found.has(key)) found.set(key, method);
    }
  }
  return [...found].map(([key, method]) => [
    `${name}.${key}`,
    [`${name}.${key}`, (...given) => Reflect.apply(method as Call, owner, given)],
  ]);
}

const list = [{ role: "user", content: "How long is the coast?" }];

const refusing = {
  get role(): string {
    throw new TypeError("a getter refuses");
  },
  get type(): string {
    throw new TypeError("a getter refuses");
  },
};
const refuse = (): never => {
  throw new TypeError("a proxy refuses");
};
const closed = new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse });
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const cyclic: Record<string, unknown> = { role: "user" };
cyclic.content = cyclic;

/** Absent, of another kind, or hostile. */
const BAD: readonly unknown[] = [
  undefined,
  null,
  7,
  Number.NaN,
  "x",
  true,
  Symbol("s"),
  10n,
  {},
  [],
  [null],
  () => undefined,
  refusing,
  closed,
  revoked.proxy,
  cyclic,
  Object.create(null),
  [{ type: { toString: null } }],
  [{ role: "user", content: 10n }],
  [refusing],
  [closed],
  [cyclic],
];

/** What may stand beside a bad argument. */
const BESIDE: readonly unknown[] = [list, "x", {}];

const GIVEN: readonly (readonly unknown[])[] = [
  [],
  [list],
  [list, list],
  [list, "openai-chat", null],
  ...BAD.flatMap((bad) => [
    [bad],
    ...BESIDE.flatMap((beside) => [
      [bad, beside],
      [beside, bad],
    ]),
    [bad, "openai-chat"],
    [list, "openai-chat", bad],
    ["s", list, bad],
    ["x", "x", bad],
  ]),
];

async function refusalOf(call: Call, given: readonly unknown[]): Promise<unknown> {
  try {
    await call(...given);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe("wrong arguments are refused in words, with a place and what to do next", () => {
  const before = process.cwd();
  const folder = mkdtempSync(join(tmpdir(), "compact-arguments-"));
  // Some of them make folders where the arguments say.
  beforeAll(() => process.chdir(folder));
  afterAll(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  });

  it("finds what the package exports", () => {
    const names = exported.map(([name]) => name);
    expect(names.length).toBeGreaterThan(75);
    for (const name of [
      ". compact",
      ". new CompactManager",
      ". CompactManager.preflight",
      "./memory createChannelMemory",
    ])
      expect(names).toContain(name);
  });

  it("finding 16: a list whose entries refuse to be read is no list that is known", () => {
    const unreadable = [{ type: { toString: null } }];
    const refused = (work: () => unknown) => expect(work).toThrowError(CompactError);
    refused(() => root.countTokens(unreadable));
    refused(() => root.countTokens([refusing]));
    refused(() => root.countTokens([closed]));
    refused(() => root.decode([refusing], "openai-chat"));
    expect(root.detectFormat(unreadable)).toBeUndefined();
  });

  it.each(exported)("%s", async (_name, call) => {
    for (const given of GIVEN) {
      const error = await refusalOf(call, given);
      if (error === undefined) continue;
      if (!CompactError.isInstance(error)) throw error;
      expect(error.hint, error.message).not.toBe("");
      const namesItself = error.message.startsWith("the session id");
      if (error.code === "InvalidArgument" && !namesItself) expect(error.place, error.message).toBeDefined();
    }
  });

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

it.each<[string, (options: object) => unknown]>([
  ["compact", (options) => root.compact(list, { maxTokens: 1000, ...options })],
  ["planCompaction", (options) => root.planCompaction(list, { maxTokens: 1000, ...options })],
  ["countTokens", (options) => root.countTokens(list, options)],
  ["summarizeMessages", (options) => root.summarizeMessages(list, { maxTokens: 1000, ...options } as never)],
])("%s refuses an option that is like none of its own", async (_name, call) => {
  await expect(Promise.resolve().then(() => call({}))).resolves.toBeDefined();
  const refused = Promise.resolve().then(() => call({ zzzWeather: 1 }));
  await expect(refused).rejects.toMatchObject({ code: "InvalidArgument" });
  await expect(refused).rejects.toThrow("zzzWeather");
});
