import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../packages/compact-context-cli/src/main.ts";
import { newSchema, startServer } from "../postgres/server.ts";
import { s3Server } from "../s3/server.ts";

interface Check {
  readonly check: string;
  readonly status: string;
  readonly message: string;
  readonly hint?: string;
}

let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-doctor-"));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `compact doctor --json` and gives its exit code and checks. */
async function doctor(
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  now = () => new Date(),
): Promise<{ readonly code: number; of(check: string): Check }> {
  let out = "";
  const code = await main(["doctor", "--json", ...words], {
    stdout: { write: (text) => (out += text), isTerminal: false, columns: 80 },
    stderr: { write: () => undefined, isTerminal: false, columns: 80 },
    env,
    cwd: folder,
    home: folder,
    now,
    clock: () => performance.now(),
    newId: randomUUID,
  });
  const { checks } = JSON.parse(out) as { readonly checks: readonly Check[] };
  return {
    code,
    of: (name) =>
      checks.find(({ check, status }) => check === name && status === "failed") ??
      checks.find(({ check }) => check === name) ?? { check: name, status: "absent", message: "" },
  };
}

/** A provider that answers every request so. */
async function provider(status: number, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, headers);
    response.end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => new Promise((done) => server.close(done)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const KEY = { OPENAI_API_KEY: "k".repeat(20) };

describe("compact doctor", () => {
  it("finds nothing wrong where nothing is, and leaves nothing behind", async () => {
    const { code, of } = await doctor(["--archive", "kept", "--upstream", await provider(200)], KEY);
    expect(["configuration", "store", "disk", "clock", "model"].map((name) => of(name).status)).toEqual(
      Array(5).fill("ok"),
    );
    expect(code).toBe(0);
    expect(readdirSync(join(folder, "kept"))).toEqual([]);
  });

  it("names the line of a setting that is wrong, and tries nothing with it", async () => {
    writeFileSync(join(folder, "compact.yaml"), "policy:\n  trigger_pct: 7\n");
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of("configuration")).toMatchObject({
      status: "failed",
      message: expect.stringContaining("compact.yaml:2"),
      hint: expect.stringContaining("compact config check"),
    });
    expect(of("store").status).toBe("skipped");
  });

  it("tries the server that --upstream names without a key, too", async () => {
    const there = await doctor(["--archive", "kept", "--upstream", await provider(404)]);
    expect([there.code, there.of("model").status]).toEqual([0, "ok"]);
    const dead = await doctor(["--archive", "kept", "--upstream", "http://127.0.0.1:9"]);
    expect([dead.code, dead.of("model").status]).toEqual([1, "failed"]);
    expect((await doctor(["--archive", "kept"])).of("model").status).toBe("skipped");
  });

  it("says where a store cannot be: a file in its place", async () => {
    writeFileSync(join(folder, "kept"), "");
    const { code, of } = await doctor(["--archive", "kept"]);
    expect(code).toBe(1);
    expect(of("store")).toMatchObject({
      status: "failed",
      message: expect.stringContaining(join(folder, "kept")),
    });
    expect(of("store").hint).not.toBe("");
  });

  const bin = resolve("packages/compact-context-cli/bin/compact.js");
  it.skipIf(!existsSync(resolve("packages/compact-context-cli/dist/main.js")))(
    "says that a folder is read-only for this user",
    async () => {
      const kept = join(folder, "kept");
      mkdirSync(kept, { mode: 0o555 });
      chmodSync(folder, 0o755);
      // Nothing is read-only for root: somebody else asks.
      const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
      if (nobody !== undefined) chownSync(kept, nobody.uid, nobody.gid);
      const run = promisify(execFile)(process.execPath, [bin, "doctor", "--json", "--archive", kept], {
        cwd: "/",
        env: { HOME: folder },
        ...nobody,
      });
      const { stdout, code } = (await run.catch((error: unknown) => error)) as {
        stdout: string;
        code?: number;
      };
      expect(code).toBe(1);
      const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] };
      expect(checks.find(({ check }) => check === "store")).toMatchObject({
        status: "failed",
        message: expect.stringContaining("EACCES"),
        hint: "Let this user read and write the archive folder, or choose another folder with --archive DIR.",
      });
    },
  );

  it("warns of an archive that other users may enter", async () => {
    mkdirSync(join(folder, "kept"));
    chmodSync(join(folder, "kept"), 0o755);
    const { code, of } = await doctor(["--archive", "kept"]);
    expect(of("rights")).toMatchObject({ status: "warning", hint: expect.stringContaining("chmod 700") });
    expect(code).toBe(0);
  });

  it("says that a disk is nearly full", async ({ skip }) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]).status !== 0) {
      skip("no disk can be mounted here");
    }
    // The archive keeps its folders open for a moment.
    closing.push(() => expect.poll(() => spawnSync("umount", [disk]).status).toBe(0));
    const { code, of } = await doctor(["--archive", join(disk, "kept")]);
    expect(of("disk")).toMatchObject({ status: "failed", message: expect.stringContaining("2.1 MB free") });
    expect(code).toBe(1);
    expect(() => writeFileSync(join(disk, "ballast"), Buffer.alloc(4 * 1024 * 1024))).toThrow("ENOSPC");
    expect((await doctor(["--archive", join(disk, "kept")])).of("store").status).toBe("failed");
  });

  it("says that nobody answers at the URL of Postgres", { timeout: 60_000 }, async () => {
    const { code, of } = await doctor([], {
      COMPACT_STORAGE_KIND: "postgres",
      COMPACT_POSTGRES_URL: "postgres://compact@127.0.0.1:1/compact",
    });
    expect(code).toBe(1);
    expect(of("store")).toMatchObject({ status: "failed", message: expect.stringContaining("ECONNREFUSED") });
    expect(of("disk").status).toBe("skipped");
  });

  it("tries a Postgres that answers, and one that lets this user do nothing", { timeout: 60_000 }, async ({
    skip,
  }) => {
    const server = await startServer();
    if (server === undefined) return skip("there is no Postgres here");
    closing.push(() => server.stop());
    const env = { COMPACT_STORAGE_KIND: "postgres", COMPACT_STORAGE_SCHEMA: newSchema() };
    expect((await doctor([], { ...env, COMPACT_POSTGRES_URL: server.url })).of("store").status).toBe("ok");
    const stranger = server.url.replace("compact@", "nobody_here@");
    const refused = await doctor([], { ...env, COMPACT_POSTGRES_URL: stranger });
    expect(refused.code).toBe(1);
    expect(refused.of("store").message).toMatch(/nobody_here/);
  });

  it.skipIf(s3Server() === undefined)(
    "tries a bucket of S3 that is not there",
    { timeout: 60_000 },
    async () => {
      const { endpoint = "" } = s3Server() ?? {};
      const { code, of } = await doctor([], {
        COMPACT_STORAGE_KIND: "s3",
        COMPACT_STORAGE_BUCKET: "no-such-bucket",
        COMPACT_STORAGE_ENDPOINT: endpoint,
        COMPACT_STORAGE_REGION: "us-east-1",
      });
      expect(code).toBe(1);
      expect(of("store").status).toBe("failed");
    },
  );

  it.each([
    [401, "failed", "refused the key (401)", "OPENAI_API_KEY"],
    [429, "warning", "is rate limiting", "Wait"],
    [503, "failed", "answers 503", "try again"],
    [404, "ok", "answers (404)", ""],
  ])("reports that the model's server answers %i", async (status, verdict, words, hint) => {
    const { code, of } = await doctor(["--archive", "kept", "--upstream", await provider(status)], KEY);
    expect(of("model")).toMatchObject({ status: verdict, message: expect.stringContaining(words) });
    expect(of("model").hint ?? "").toContain(hint);
    expect(code).toBe(verdict === "failed" ? 1 : 0);
  });

  it("says that the model's server cannot be reached, and never prints a key", async () => {
    const { code, of } = await doctor(["--upstream", "http://127.0.0.1:1"], KEY);
    expect(code).toBe(1);
    expect(of("model").message).toMatch(/cannot be reached.*(?:ECONNREFUSED|bad port)/);
    expect(JSON.stringify(of("model"))).not.toContain(KEY.OPENAI_API_KEY);
  });

  it("says that the clock is wrong by the model's server", async () => {
    const url = await provider(200);
    const late = await doctor(["--upstream", url], KEY, () => new Date(Date.now() - 3_600_000));
    expect(late.of("clock")).toMatchObject({
      status: "failed",
      message: expect.stringMatching(/^3[56]\d\d s behind/),
    });
    expect((await doctor([], {}, () => new Date(0))).of("clock").status).toBe("failed");
  });
});
