import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../packages/compact-context-cli/src/main.ts";
import { startViewServer } from "../../packages/compact-context-cli/src/view/server.ts";
import { ViewStore } from "../../packages/compact-context-cli/src/view/view-store.ts";
import { type Stub, startStub } from "../stubs/server.ts";

/** An agent that takes its base URL from the environment: as many calls as its first word says, its exit code the second. */
const AGENT = `
const [calls, code] = process.argv.slice(2).map(Number);
const messages = [{ role: "user", content: "Read the files." }];
const headers = { "content-type": "application/json", "x-api-key": "k".repeat(20), "anthropic-version": "2023-06-01" };
for (let call = 0; call < calls; call += 1) {
  messages.push({ role: "assistant", content: "Reading " + call }, { role: "user", content: ("line " + call + ". ").repeat(400) });
  const body = JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages });
  const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
  if (!answer.ok) process.exit(99);
  await answer.text();
}
const others = ["OPENAI_BASE_URL", "OPENAI_API_BASE"].every((name) => process.env[name] === process.env.ANTHROPIC_BASE_URL + "/v1");
if (!others) process.exit(98);
if (code < 0) process.kill(process.pid, "SIGKILL");
process.exit(code);
`;

let folder = "";
let stub: Stub;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "compact-e2e-proxy-"));
  writeFileSync(join(folder, "agent.mjs"), AGENT);
  stub = await startStub();
});
afterEach(async () => {
  await stub.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `compact proxy` with these words. */
async function proxy(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly err: string }> {
  let err = "";
  const screen = { write: () => undefined, isTerminal: false, columns: 80 };
  const code = await main(["proxy", "--upstream", stub.anthropicUrl, ...words], {
    stdout: screen,
    stderr: {
      ...screen,
      write: (text) => {
        err += text;
      },
    },
    env,
    cwd: folder,
    home: folder,
    now: () => new Date(),
    clock: () => performance.now(),
    newId: randomUUID,
  });
  return { code, err };
}

const agent = (calls: number, code: number): string[] => [
  ...["--", process.execPath, join(folder, "agent.mjs")],
  ...[String(calls), String(code)],
];

const bin = resolve("packages/compact-context-cli/bin/compact.js");

describe.skipIf(!existsSync(resolve("packages/compact-context-cli/dist/main.js")))("compact proxy", () => {
  it("prints what each agent has to be told, and ends when it is asked", async () => {
    const child = spawn(process.execPath, [bin, "proxy", "--port", "0"], { cwd: folder });
    let said = "";
    await new Promise<void>((done) => {
      child.stdout.on("data", (piece) => {
        said += piece;
        if (said.includes("Ctrl-C")) done();
      });
    });
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
    for (const agent of ["Claude Code", "Codex", "opencode", "Gemini CLI", "aider", "Cline"])
      expect(said).toMatch(new RegExp(`^  ${agent} [^]*?${url}`, "m"));
    child.kill("SIGINT");
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });
});

describe("compact proxy -- PROGRAM", () => {
  it("INT-5 leads the program's calls through itself, and ends with its exit code", async () => {
    const { code, err } = await proxy(["--window", "8k", ...agent(12, 7)]);
    expect(code).toBe(7);
    expect(stub.requests.filter(({ rejection }) => rejection !== undefined)).toEqual([]);
    expect(stub.requests).toHaveLength(12);
    expect(err).toMatch(/^compact [\d,]+ → [\d,]+ tokens/m);
    expect(err).toMatch(/^compact 12 requests · [1-9]\d* compactions? · .*tokens saved.*\n$/m);
  });

  it("ends as a shell does where a signal ended the program", async () => {
    expect((await proxy(agent(0, -1))).code).toBe(128 + 9);
  });

  it("says so when no call came, and when the program is not there", async () => {
    const silent = await proxy(agent(0, 0));
    expect(silent).toMatchObject({ code: 0, err: expect.stringContaining("no model call came") });
    const missing = await proxy(["--", "no-such-program"]);
    expect(missing).toMatchObject({
      code: 1,
      err: expect.stringContaining("no-such-program could not be started"),
    });
    expect(missing.err).not.toContain("no model call came");
  });

  it("changes nothing in a dry run, and writes nothing", async () => {
    const { code, err } = await proxy(["--window", "8k", "--dry-run", "--archive", "kept", ...agent(12, 0)]);
    expect(code).toBe(0);
    expect(stub.requests.at(-1)?.raw).not.toContain("COMPACT-SUMMARY");
    expect(stub.requests.at(-1)?.body.messages).toHaveLength(25);
    expect(err).toMatch(/^compact [\d,]+ → [\d,]+ tokens/m);
    expect(existsSync(join(folder, "kept"))).toBe(false);
    await proxy(["--window", "8k", "--archive", "kept", ...agent(12, 0)]);
    expect(existsSync(join(folder, "kept"))).toBe(true);
  });

  it("is watched by the page of compact view that COMPACT_TRACING_ARIADNE names", async () => {
    const store = new ViewStore();
    const page = await startViewServer({
      store,
      files: new Map(),
      port: 0,
      newSecret: randomUUID,
      now: () => performance.now(),
    });
    try {
      await proxy(["--window", "8k", ...agent(12, 0)], { COMPACT_TRACING_ARIADNE: page.ingestUrl });
      expect(store.list().sessions).toHaveLength(1);
    } finally {
      await page.close();
    }
  });
});
