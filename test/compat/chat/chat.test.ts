import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Stub, startStub } from "../../stubs/server.ts";

const bin = resolve("packages/compact-context-cli/bin/compact.js");
const packages = fileURLToPath(new URL("node_modules", import.meta.url));
const built = existsSync("packages/compact-context-cli/dist/main.js");
const installed = built && existsSync(join(packages, "@ai-sdk", "openai"));

let project = "";
let stub: Stub;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "compact-chat-models-"));
  writeFileSync(join(project, "a.txt"), "one\n");
});
afterEach(async () => {
  await stub?.close();
  rmSync(project, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Types lines into a chat whose input is no terminal. */
function chat(
  flags: readonly string[],
  lines: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [bin, "chat", ...flags], {
    cwd: project,
    env: { PATH, HOME, ...env },
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (piece) => {
    out += piece;
  });
  child.stderr.on("data", (piece) => {
    err += piece;
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  return new Promise((done) => child.on("close", (code) => done({ code, out, err })));
}

const flat = (text: string): string => text.replace(/\s+/g, " ");

describe.skipIf(!installed)("models of the AI SDK's providers", () => {
  beforeEach(() => symlinkSync(packages, join(project, "node_modules")));

  const ANSWERS = [
    { toolCalls: [{ name: "compact_search", arguments: { query: "parrot" } }] },
    "The answer is Coco.",
    // The memory asks at the end of the chat.
    JSON.stringify({ add: [{ section: "Facts", text: "The parrot is called Coco.", record: 1 }] }),
  ];

  it.each([
    ["openai/gpt-5.4-mini", () => ({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: stub.openAiUrl })],
    [
      "anthropic/claude-sonnet-4-5",
      () => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: `${stub.anthropicUrl}/v1` }),
    ],
  ])("%s answers, streams and calls tools with the key of the environment", async (model, env) => {
    stub = await startStub({ answers: ANSWERS });
    const { code, out, err } = await chat(["--model", model], ["what is the parrot called?"], env());
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("The answer is Coco.");
    expect(out).toContain("compact_search");
    const bodies = stub.requests.map(({ body }) => body as { stream?: boolean; tools?: unknown[] });
    expect(bodies.map(({ stream }) => stream)).toEqual([true, true, true]);
    expect(bodies.map(({ tools = [] }) => tools.length > 0)).toEqual([true, true, false]);
    expect(JSON.stringify(bodies[2])).toContain("long-term memory");
  });

  it("a server that speaks chat completions answers at --base-url, without a key too", async () => {
    stub = await startStub({ answers: ANSWERS, needsKey: false });
    const flags = ["--base-url", stub.openAiUrl, "--model", "local-7b", "--window", "32k"];
    const { code, out, err } = await chat(flags, ["what is the parrot called?", "/model"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("The answer is Coco.");
    expect(out).toContain("32,000 tokens");
  });

  it("a provider that refuses is told in its words, and the chat lives on", async () => {
    stub = await startStub({ answers: [] });
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: stub.openAiUrl };
    const { code, out } = await chat(["--model", "openai/gpt-5.4-mini"], ["hello", "/help"], env);
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}error {4}\S/m);
    expect(out).toContain("/context");
  });

  it.each([
    ["openai/gpt-5.4-mini", "OPENAI_API_KEY"],
    ["anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
  ])("%s: a key that is refused is told with the variable to set", async (model, variable) => {
    stub = await startStub({ answers: [{ status: 401 }] });
    const { code, out } = await chat(["--model", model], ["hello", "/help"], {
      [variable]: "wrong",
      OPENAI_BASE_URL: stub.openAiUrl,
      ANTHROPIC_BASE_URL: `${stub.anthropicUrl}/v1`,
    });
    expect(code).toBe(0);
    expect(flat(out)).toContain("the key was refused (401)");
    expect(flat(out)).toContain(`Set ${variable} to a key that may use ${model.split("/")[0]}`);
    expect(stub.requests).toHaveLength(1);
    expect(out).toContain("/context");
  });

  it.each([
    ["openai/gpt-5.4-mini", 503],
    ["anthropic/claude-sonnet-4-5", 529],
  ])(
    "%s: overload, a broken stream and retry-after are told, waited for and got over",
    async (model, status) => {
      stub = await startStub({
        answers: [{ status }, { fault: "resetMidway" }, { status: 429, retryAfter: 2 }, "Here at last."],
      });
      const { code, out } = await chat(["--model", model], ["hello"], {
        OPENAI_API_KEY: "k",
        ANTHROPIC_API_KEY: "k",
        OPENAI_BASE_URL: stub.openAiUrl,
        ANTHROPIC_BASE_URL: `${stub.anthropicUrl}/v1`,
        COMPACT_MEMORY_USE_MODEL: "false",
      });
      expect(code).toBe(0);
      expect(flat(out)).toMatch(
        /note the model failed \(.+\).* attempt 2 .*attempt 3 .*retrying in 2(\.0)? s, attempt 4/,
      );
      expect(out).toContain("Here at last.");
      expect(stub.requests).toHaveLength(4);
    },
  );

  it("a provider without its key says which variable is missing", async () => {
    const { code, out, err } = await chat(["--model", "google/gemini-2.5-flash"], ["hello"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("GOOGLE_GENERATIVE_AI_API_KEY is not set");
  });
});

describe.skipIf(!built)("a model that cannot be had", () => {
  it.each([
    [["--model", "openai/gpt-5.4-mini"], "npm install @ai-sdk/openai"],
    [["--model", "gpt-5.4-mini"], "provider/model"],
    [["--base-url", "not a url"], "--base-url is not an http or https URL"],
  ])("%j is told with what to do", async (flags, hint) => {
    const { code, out, err } = await chat(flags, ["hello"], { OPENAI_API_KEY: "k" });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(hint);
  });
});
