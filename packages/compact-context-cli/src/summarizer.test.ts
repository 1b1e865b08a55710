import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { overloaded, type Script, silent } from "../../../test/stubs/answers.ts";
import { type Stub, startStub } from "../../../test/stubs/server.ts";
import { main } from "./main.ts";

const KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
/** Stands in the session, where the key above does not. */
const SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const SUMMARY = "## Goals\n- Port the parser to the new scanner; the public interface stays as it is.";

let folder = "";
let stub: Stub | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-summarizer-"));
  writeFileSync(join(folder, "session.json"), JSON.stringify(talk()));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stub?.close();
  stub = undefined;
});

/** An OpenAI chat of many turns; one of them shows a secret. */
function talk(): object[] {
  const words = "The parser reads tokens from the scanner and keeps their places. ".repeat(6);
  return Array.from({ length: 40 }, (_, turn) => [
    { role: "user", content: `Turn ${turn}: port the parser. api_key=${SECRET}` },
    { role: "assistant", content: `${words} Turn ${turn} is done.` },
  ]).flat();
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const written = { out: "", err: "" };
  const screen = (name: "out" | "err") => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal: false,
    columns: undefined,
  });
  const code = await main(["session.json", ...words], {
    stdout: screen("out"),
    stderr: screen("err"),
    env,
    cwd: folder,
    home: folder,
    now: () => new Date(0),
    clock: () => performance.now(),
    newId: () => "id",
  });
  return { code, ...written };
}

async function open(answers: Script = () => SUMMARY, needsKey = true): Promise<Stub> {
  stub = await startStub({ answers, needsKey });
  return stub;
}

/** What came out, with the summary as the archive has it. */
function archived(): { readonly text: string; readonly summarizer: string } {
  const archive = join(folder, ".local", "share", "compact", "archive");
  const root = join(archive, readdirSync(archive).find((one) => one.startsWith("session-")) ?? "");
  const name = readdirSync(root).find((one) => one.startsWith("summary-")) ?? "";
  return JSON.parse(readFileSync(join(root, name), "utf8")) as { text: string; summarizer: string };
}

const AIM = ["--target", "2000", "--json"];

describe("--summarizer", () => {
  it("asks OpenAI where the variables say so", async () => {
    const { openAiUrl, requests } = await open();
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openAiUrl };
    const { code, out, err } = await run([...AIM, "--summarizer", "openai:gpt-5.4-mini"], env);
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out)).toMatchObject({ summarizer: "openai:gpt-5.4-mini" });
    expect(requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: `Bearer ${KEY}` },
      body: { model: "gpt-5.4-mini", temperature: 0 },
    });
    expect(archived().text).toContain("Port the parser to the new scanner");
    expect(requests[0]?.raw).not.toContain(SECRET);
    expect(out + err + JSON.stringify(archived())).not.toContain(KEY);
  });

  it("asks Anthropic where the variables say so", async () => {
    const { anthropicUrl, requests } = await open();
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${anthropicUrl}/` };
    const { code } = await run([...AIM, "--summarizer", "anthropic:claude-haiku-5-5"], env);
    expect(code).toBe(0);
    expect(requests[0]).toMatchObject({ path: "/v1/messages", headers: { "x-api-key": KEY } });
    expect(archived().summarizer).toBe("anthropic:claude-haiku-5-5");
  });

  it("asks a server at a URL, and gives it no key of another", async () => {
    const { openAiUrl, requests } = await open(undefined, false);
    const env = { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY };
    expect((await run([...AIM, "--summarizer", `${openAiUrl}#qwen3:8b`], env)).code).toBe(0);
    expect(requests[0]?.body.model).toBe("qwen3:8b");
    expect(JSON.stringify(requests)).not.toContain(KEY);
  });

  it("FIT-3 reports that the model failed, and the built-in summarizer writes", async () => {
    const { openAiUrl } = await open(() => overloaded);
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openAiUrl };
    const { code, out, err } = await run([...AIM, "--summarizer", "openai:m"], env);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ summarizer: "builtin" });
    expect(err).toMatch(/openai:m did not return a summary: .*; builtin wrote the summary instead/);
    expect(err).not.toContain(KEY);
  });

  it("--deadline limits the wait for a silent model", async () => {
    const { openAiUrl } = await open(() => silent);
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openAiUrl };
    const started = performance.now();
    const { code, err } = await run([...AIM, "--summarizer", "openai:m", "--deadline", "0.2"], env);
    expect(performance.now() - started).toBeLessThan(30_000);
    expect(code).toBe(0);
    expect(err).toContain("builtin wrote the summary instead");
  });

  it.each([
    ["openai:gpt-5.4", {}, "OPENAI_API_KEY is not set"],
    ["anthropic:claude", { ANTHROPIC_API_KEY: " " }, "ANTHROPIC_API_KEY is not set"],
    ["openai:", { OPENAI_API_KEY: KEY }, "needs a model"],
    ["openai:m", { OPENAI_API_KEY: `${KEY}\nx` }, "characters that no key has"],
    ["openai:m", { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: "localhost" }, "OPENAI_BASE_URL"],
    ["opnai:m", {}, "Did you mean openai?"],
    ["gpt-5", {}, "--summarizer builtin"],
    [`${KEY}:m`, {}, "unknown summarizer"],
    ["http://me:hunter2hunter2@host", {}, "user name or password"],
  ])("%s is a usage error, raised before anything is read", async (named, env, said) => {
    writeFileSync(join(folder, "session.json"), "unreadable");
    const { code, out, err } = await run(["--summarizer", named], env as Record<string, string>);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("InvalidUsage");
    expect(err.replace(/\s+/g, " ")).toContain(said);
    expect(err).not.toContain(KEY);
    expect(err).not.toContain("hunter2");
  });

  it("--deadline may be longer than any timer", async () => {
    const { openAiUrl } = await open();
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: openAiUrl };
    const { err } = await run([...AIM, "--summarizer", "openai:m", "--deadline", "9999999"], env);
    expect([err, archived().summarizer]).toEqual(["", "openai:m"]);
  });

  it("--deadline is a positive number of seconds", async () => {
    for (const seconds of ["0", "-1", "soon"]) {
      const { code, err } = await run([`--deadline=${seconds}`]);
      expect([code, err.includes("--deadline 30")]).toEqual([2, true]);
    }
  });
});
