import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { loadConfig } from "compact-context/config";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { COMMANDS } from "../../packages/compact-context-cli/src/commands/index.ts";
import { createTerminal } from "../../packages/compact-context-cli/src/ports.ts";
import { readCommandLine } from "../../packages/compact-context-cli/src/program.ts";
import { newSchema, startServer } from "../postgres/server.ts";
import { s3Server } from "../s3/server.ts";
import { startStub } from "../stubs/server.ts";

interface Service {
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly network_mode?: string;
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
}

const read = (name: string): string => readFileSync(resolve("deploy", name), "utf8");
const { services } = parse(read("compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
};
const service = (name: string): Service => services[name] ?? {};
const { proxy, agent, s3, postgres, collector } = {
  proxy: service("proxy"),
  agent: service("agent"),
  s3: service("s3"),
  postgres: service("postgres"),
  collector: service("collector"),
};
const screen = { write: () => undefined, isTerminal: false, columns: 80 };
const configOf = ({ environment = {} }: Service) => loadConfig({ env: environment }).config.storage;

let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-deploy-"));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

describe("deploy/compose.yaml", () => {
  it("gives the proxy a command line that it takes, and a storage that is another service", () => {
    const terminal = createTerminal({ stdout: screen, stderr: screen, env: {} } as never);
    const asked = readCommandLine(proxy.command ?? [], COMMANDS, terminal);
    expect(asked).toMatchObject({ path: "proxy", flags: { port: "4180", log: "json" } });
    expect(configOf(proxy).kind).toBe("postgres");
    const url = new URL(proxy.environment?.COMPACT_POSTGRES_URL ?? "");
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = postgres.environment ?? {};
    expect([url.hostname, url.port, url.username, url.password, url.pathname]).toEqual([
      ...["postgres", "5432", POSTGRES_USER, POSTGRES_PASSWORD, `/${POSTGRES_DB}`],
    ]);
  });

  it("gives the agent settings that hold, for the S3 server as it listens", () => {
    const storage = configOf(agent);
    expect(storage).toMatchObject({ kind: "s3", bucket: "compact", forcePathStyle: true });
    const { hostname, port } = new URL(storage.endpoint ?? "");
    expect(hostname).toBe("s3");
    expect(s3.command).toContain(`:${port}`);
    expect(s3.environment).toEqual({
      MINIO_ROOT_USER: agent.environment?.AWS_ACCESS_KEY_ID,
      MINIO_ROOT_PASSWORD: agent.environment?.AWS_SECRET_ACCESS_KEY,
    });
    const [, program = ""] = agent.entrypoint ?? [];
    expect(read("Dockerfile")).toContain(`COPY deploy/${program} ./`);
  });

  it("puts who calls the proxy into its network, and waits only for services that there are", () => {
    expect([agent.network_mode, collector.network_mode]).toEqual(["service:proxy", "service:proxy"]);
    for (const { depends_on = [] } of Object.values(services)) {
      const names = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
      for (const name of names as string[]) expect(Object.keys(services)).toContain(name);
    }
    const [mounted = ""] = collector.volumes ?? [];
    const scraped = parse(read(mounted.split(":")[0]?.replace("./", "") ?? "")) as {
      readonly receivers: { readonly prometheus: { readonly config: unknown } };
    };
    expect(JSON.stringify(scraped.receivers.prometheus.config)).toContain('"127.0.0.1:4180"');
  });
});

const built = existsSync(resolve("packages/compact-context-cli/dist/main.js"));
const bin = resolve("packages/compact-context-cli/bin/compact.js");

/** The proxy as the compose file starts it, at a port that is free, and the records that it logs. */
async function started(env: Readonly<Record<string, string>>, upstream: string) {
  const command = (proxy.command ?? []).map((word) => (word === "4180" ? "0" : word));
  const child: ChildProcess = spawn(
    process.execPath,
    [bin, ...command, "--upstream", upstream, "--window", "8k"],
    {
      cwd: folder,
      env: { ...proxy.environment, HOME: folder, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const ended = new Promise<number | null>((done) => child.once("exit", done));
  closing.push(() => child.kill("SIGKILL"));
  const records: Record<string, unknown>[] = [];
  const listening = new Promise<string>((done) => {
    createInterface({ input: child.stderr ?? process.stdin }).on("line", (line) => {
      const record = JSON.parse(line) as Record<string, unknown>;
      records.push(record);
      if (typeof record.url === "string") done(record.url);
    });
  });
  const url = await listening;
  return {
    url,
    records,
    async stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** A conversation that has to be compacted. */
async function talk(url: string): Promise<void> {
  const messages: object[] = [{ role: "user", content: "Read the files." }];
  for (let call = 0; call < 12; call += 1) {
    messages.push(
      { role: "assistant", content: `Reading ${call}` },
      { role: "user", content: `line ${call}. `.repeat(400) },
    );
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-api-key": "k".repeat(20),
        "anthropic-version": "2023-06-01",
      },
      body: JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages }),
    });
    expect(response.status).toBe(200);
    await response.text();
  }
}

describe.skipIf(!built)("what deploy/ starts, with the real servers", () => {
  it("is a proxy over Postgres that is healthy, logs JSON and ends when asked", { timeout: 60_000 }, async ({
    skip,
  }) => {
    const server = await startServer({ own: true });
    if (server === undefined) return skip("there is no Postgres here");
    closing.push(() => server.stop());
    const stub = await startStub();
    closing.push(() => stub.close());
    const { url, records, stop } = await started(
      { COMPACT_POSTGRES_URL: server.url, COMPACT_STORAGE_SCHEMA: newSchema() },
      stub.anthropicUrl,
    );
    await talk(url);
    const [, ...probe] = proxy.healthcheck?.test ?? [];
    const check = probe.map((word) => word.replace("http://127.0.0.1:4180", url));
    await promisify(execFile)(check[0] ?? "", check.slice(1));
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok", storage: "ok" });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("compact_proxy_storage_up 1\n");
    expect(await stop()).toBe(0);
    expect(records.map(({ message }) => message)).toEqual(
      expect.arrayContaining(["listening", "compacted", "ended"]),
    );
    for (const record of records)
      expect(record).toMatchObject({
        time: expect.any(String),
        level: expect.stringMatching(/^(?:info|warn)$/),
      });
    expect(records.at(-1)).toMatchObject({ requests: 12 });
  });

  it("stays alive and says so when the storage is down", { timeout: 60_000 }, async () => {
    const stub = await startStub();
    closing.push(() => stub.close());
    const down = { COMPACT_POSTGRES_URL: "postgres://compact@127.0.0.1:1/compact" };
    const { url } = await started(down, stub.anthropicUrl);
    const response = await fetch(`${url}/healthz`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "degraded", storage: "StorageFailed" });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("compact_proxy_storage_up 0\n");
  });

  it.for(["fs", "s3"])("is an agent whose session stays in its window over %s", async (kind, { skip }) => {
    const server = s3Server();
    const own = { COMPACT_STORAGE_KIND: "fs", COMPACT_STORAGE_ROOT: folder };
    if (kind === "s3" && server === undefined) return skip("there is no S3 server here");
    const s3Env =
      server === undefined
        ? {}
        : {
            COMPACT_STORAGE_ENDPOINT: server.endpoint,
            AWS_ACCESS_KEY_ID: server.accessKeyId,
            AWS_SECRET_ACCESS_KEY: server.secretAccessKey,
          };
    const env = {
      ...agent.environment,
      ...(kind === "fs" ? own : s3Env),
      SESSION: newSchema(),
      HOME: folder,
    };
    const [program = "", ...words] = agent.entrypoint ?? [];
    const { stdout } = await promisify(execFile)(program === "node" ? process.execPath : program, words, {
      cwd: resolve("deploy"),
      env,
    });
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records.length).toBeGreaterThan(1);
    expect(records.at(-1)).toMatchObject({ message: "done", calls: 60, found: true });
  });

  it("is an agent that says in one line why it cannot go on", async () => {
    const [, ...words] = agent.entrypoint ?? [];
    writeFileSync(join(folder, "file"), "");
    const env = { COMPACT_STORAGE_KIND: "fs", COMPACT_STORAGE_ROOT: join(folder, "file"), HOME: folder };
    const failed = promisify(execFile)(process.execPath, words, { cwd: resolve("deploy"), env });
    const { code, stdout } = (await failed.catch((error: unknown) => error)) as {
      code: number;
      stdout: string;
    };
    expect(code).toBe(1);
    const last = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as object;
    expect(last).toMatchObject({ level: "error", code: "StorageFailed", hint: expect.any(String) });
  });

  it("has every metric that the alerts and the dashboard ask for", { timeout: 60_000 }, async () => {
    const stub = await startStub();
    closing.push(() => stub.close());
    const { url } = await started(
      { COMPACT_STORAGE_KIND: "fs", COMPACT_STORAGE_ROOT: join(folder, "kept") },
      stub.anthropicUrl,
    );
    await talk(url);
    const shown = await (await fetch(`${url}/metrics`)).text();
    const { groups } = parse(read("alerts.yaml")) as {
      readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
    };
    const dashboard = JSON.parse(read("dashboard.json")) as {
      readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
    };
    const rules = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
    expect(rules).toHaveLength(3);
    const panels = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const named = new Set([...rules, ...panels].flatMap((expr) => expr.match(/\bcompact_[a-z_]+/g) ?? []));
    // It counts failures, and there was none.
    named.delete("compact_errors_total");
    expect([...named].filter((name) => !new RegExp(`^${name}(?:\\{| )`, "m").test(shown))).toEqual([]);
  });

  it("has alerts that fire when they shall, by Prometheus' own tool", async ({ skip }) => {
    const promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].find((path) => existsSync(path));
    if (promtool === undefined) return skip("there is no promtool here");
    const { stdout } = await promisify(execFile)(promtool, ["test", "rules", "deploy/alerts.test.yaml"]);
    expect(stdout).toContain("SUCCESS");
  });
});
