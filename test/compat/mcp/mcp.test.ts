import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createRedactor } from "../../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../../packages/compact-context/src/search/archive.ts";
import { createFsDriver } from "../../../packages/compact-context/src/storage/fs/driver.ts";
import { countText } from "../../../packages/compact-context/src/tokens/count-tokens.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const bin = resolve("packages/compact-context-cli/bin/compact.js");
const packages = join(here, "node_modules");
const built = existsSync("packages/compact-context-cli/dist/main.js");
const installed = built && existsSync(join(packages, "@modelcontextprotocol"));
const SECRET = "AKIAIOSFODNN7EXAMPLE";

let project = "";
let ids: readonly string[] = [];

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "compact-mcp-"));
  const driver = createFsDriver({ root: join(project, ".compact", "archive") });
  const archive = createArchive(driver, { redact: createRedactor() });
  const texts = [`the parrot is called Coco, key ${SECRET}`, "long ".repeat(20_000)];
  const messages = texts.map((text, index) => ({
    id: `m${index}`,
    role: "user" as const,
    parts: [{ type: "text" as const, text }],
  }));
  ids = (await archive.saveTranscript("monday", 1, messages)).ids;
  mkdirSync(join(project, "team"));
  writeFileSync(
    join(project, "team", "MEMORY.md"),
    `## Decisions\n\n- Deploys are on Thursdays, key ${SECRET}.\n`,
  );
  if (installed) symlinkSync(packages, join(project, "node_modules"));
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const started: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** `compact mcp` in the project, spoken to line by line. */
function server(...flags: string[]) {
  // Not the tests' own variables: what is no setting is told.
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [bin, "mcp", ...flags], { cwd: project, env: { PATH, HOME } });
  started.push(child);
  const lines: string[] = [];
  let errors = "";
  child.stderr.on("data", (piece) => {
    errors += piece;
  });
  const waiting: (() => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    for (const wake of waiting.splice(0)) wake();
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const send = (message: unknown): void => {
    child.stdin.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  };
  const answer = async (id: number): Promise<Answer> => {
    for (;;) {
      const found = lines.map((line) => JSON.parse(line) as Answer).find((one) => one.id === id);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const open = async (): Promise<void> => {
    const info = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    send({ jsonrpc: "2.0", id: 0, method: "initialize", params: info });
    await answer(0);
    send({ jsonrpc: "2.0", method: "notifications/initialized" });
  };
  let last = 0;
  const call = async (name: string, args?: unknown): Promise<Answer> => {
    last += 1;
    send({ jsonrpc: "2.0", id: last, method: "tools/call", params: { name, arguments: args } });
    return answer(last);
  };
  return { child, lines, ended, send, answer, open, call, errors: () => errors };
}

interface Answer {
  readonly jsonrpc?: string;
  readonly id?: number;
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

const textOf = (answer: Answer): string => answer.result?.content?.[0]?.text ?? "";

/** What every client does: look at the tools, search, read on from what was found. */
interface Client {
  listTools(): Promise<{
    readonly tools: readonly { readonly name: string; readonly description?: string }[];
  }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const CLIENTS: Readonly<Record<string, () => Promise<Client>>> = {
  "v1 (@modelcontextprotocol/sdk)": async () => {
    const { Client } = await import(join(packages, "@modelcontextprotocol/sdk/dist/esm/client/index.js"));
    const { StdioClientTransport } = await import(
      join(packages, "@modelcontextprotocol/sdk/dist/esm/client/stdio.js")
    );
    return connect(Client, StdioClientTransport);
  },
  "v2 (@modelcontextprotocol/client)": async () => {
    const { Client } = await import(join(packages, "@modelcontextprotocol/client/dist/index.mjs"));
    const { StdioClientTransport } = await import(
      join(packages, "@modelcontextprotocol/client/dist/stdio.mjs")
    );
    return connect(Client, StdioClientTransport);
  },
};

interface Constructors {
  readonly client: new (
    info: object,
    options: object,
  ) => Client & { connect(transport: object): Promise<void> };
  readonly transport: new (options: object) => object;
}

async function connect(
  client: Constructors["client"],
  transport: Constructors["transport"],
): Promise<Client> {
  const made = new client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  const args = [bin, "mcp", "--channel", "team"];
  await made.connect(new transport({ command: process.execPath, args, cwd: project, stderr: "ignore" }));
  return made;
}

describe.skipIf(!installed)("compact mcp", () => {
  it.each(Object.keys(CLIENTS))("MEM-3 ARC-4 serves the official client %s", async (version) => {
    const client = await CLIENTS[version]?.();
    if (client === undefined) throw new Error("no client");
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        "compact_search",
        "compact_expand",
        "compact_sessions",
        "compact_recall",
      ]);
      for (const { description } of tools) expect(description).toMatch(/never (?:an )?instructions?\./);
      const call = async (name: string, args: Record<string, unknown>): Promise<string> =>
        textOf({
          result: (await client.callTool({ name, arguments: args })) as NonNullable<Answer["result"]>,
        });
      expect(await call("compact_search", { query: "parrot" })).toContain(`archive id ${ids[0]}`);
      expect(await call("compact_expand", { id: ids[0] })).toContain("the parrot is called Coco");
      expect(await call("compact_recall", { query: "when are deploys?" })).toContain("Thursdays");
      expect(await call("compact_search", {})).toMatch(/^Error: query must be/);
    } finally {
      await client.close();
    }
  });

  it("RED-1 ARC-4 answers are bounded, and secrets are out of them", async () => {
    const { open, call, errors } = server("--channel", "team");
    await open();
    const answers = [
      await call("compact_search", { query: "parrot long", limit: 20 }),
      await call("compact_expand", { id: ids[0] }),
      await call("compact_expand", { id: ids[1] }),
      await call("compact_expand", { id: "step 1", session: "monday" }),
      await call("compact_recall", { query: "when are deploys?", logs: true }),
    ].map(textOf);
    for (const text of answers) {
      expect(text).not.toContain(SECRET);
      expect(countText(text)).toBeLessThanOrEqual(2000);
    }
    expect(answers[2]).toMatch(/Go on with offset \d+\.$/);
    expect(answers[4]).toContain("Thursdays");
    expect(errors()).toBe("");
  });

  it("bad arguments are tool errors, an unknown tool and a bad message are told, and the server lives on", async () => {
    const { open, call, send, answer, lines } = server();
    await open();
    for (const args of [{}, { query: 1 }, { query: "a", limit: -1 }, { query: "x".repeat(100_000) }]) {
      const bad = await call("compact_search", args);
      expect(bad.result?.isError).toBe(true);
      expect(textOf(bad)).toMatch(/^Error: /);
    }
    expect((await call("compact_expand", { id: "../../../etc/passwd" })).result?.isError).toBe(true);
    expect((await call("compact_delete", {})).error).toMatchObject({ code: -32602 });
    expect((await call("compact_search", "not an object")).error).toBeDefined();
    send("this is no JSON");
    send({ jsonrpc: "2.0", id: 77, method: "resources/list" });
    expect((await answer(77)).error?.code).toBe(-32601);
    expect((await call("compact_search", { query: "parrot" })).result?.isError).toBe(false);
    expect(lines.every((line) => JSON.parse(line).jsonrpc === "2.0")).toBe(true);
  });

  it("nothing but protocol is on stdout, with warnings on and a broken archive; it ends when the client leaves", async () => {
    const broken = join(project, "broken");
    mkdirSync(join(broken, "bad"), { recursive: true });
    writeFileSync(join(broken, "bad", "transcript-pre-compact-001.jsonl"), '{"v":1,\nnot JSON\n\u0000\n');
    writeFileSync(join(project, "named.yaml"), "redaction:\n  enabled: false\ntracing:\n  console: true\n");
    writeFileSync(join(broken, "bad", "session.json"), "{");
    const { open, call, lines, ended, child, errors } = server("--archive", broken, "--config", "named.yaml");
    await open();
    const answers = [
      await call("compact_sessions"),
      await call("compact_search", { query: "anything" }),
      await call("compact_expand", { id: "step 1", session: "bad" }),
      await call("compact_expand", { id: "abcdefghij" }),
    ];
    rmSync(join(project, "named.yaml"));
    for (const answer of answers) expect(textOf(answer)).not.toBe("");
    expect(textOf(answers[1] ?? {})).toMatch(/could not be read/);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
    expect(errors()).toContain("redaction");
    child.stdin.end();
    expect(await ended).toBe(0);
  });

  it("an archive that is not there yet is told on stderr, and served", async () => {
    const { open, call, errors } = server("--archive", "later");
    await open();
    expect((await call("compact_sessions")).result?.isError).toBe(false);
    expect(errors()).toContain("the folder of --archive is not there yet");
  });

  it("an archive that is no folder is told in the answer, not by a crash", async () => {
    writeFileSync(join(project, "file"), "");
    const { open, call, lines } = server("--archive", "file");
    await open();
    const answer = await call("compact_search", { query: "parrot" });
    expect(textOf(answer)).not.toBe("");
    expect((await call("compact_sessions")).result).toBeDefined();
    expect(lines.length).toBe(3);
  });
});
