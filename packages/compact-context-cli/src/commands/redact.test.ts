import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WITHHELD } from "compact-context/internal/redaction/redactor";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../main.ts";
import type { CliPorts } from "../ports.ts";

const R = "<REDACTED>";
const TOKEN = `ghp_${"aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fR".repeat(2).slice(0, 36)}`;
const BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ8Fh2kLq3Zx7Vb1";
const KEY = ["-----BEGIN RSA PRIVATE KEY-----", BODY, BODY, BODY, "-----END RSA PRIVATE KEY-----"].join("\n");
const ENV = `# settings\nDB_PASSWORD=Winter2024!x\nGITHUB_TOKEN=${TOKEN}\nPORT=3000\nmail jane.doe@example.com\n`;
const CLEAN_ENV = `# settings\nDB_PASSWORD=${R}\nGITHUB_TOKEN=${R}\nPORT=3000\nmail jane.doe@example.com\n`;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-redact-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const put = (name: string, content: string | Buffer): void => writeFileSync(join(folder, name), content);
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function redact(
  argv: readonly string[],
  more: Partial<CliPorts> & { readonly onScreen?: boolean } = {},
): Promise<Run> {
  const said = { out: "", err: "" };
  const screen = (name: "out" | "err", isTerminal: boolean): CliPorts["stdout"] => ({
    write: (text) => {
      said[name] += text;
    },
    isTerminal,
    columns: undefined,
  });
  const code = await main(["redact", ...argv], {
    stdout: screen("out", more.onScreen === true),
    stderr: screen("err", false),
    env: {},
    cwd: folder,
    home: folder,
    now: () => new Date(0),
    clock: () => 0,
    newId: () => "id",
    ...more,
  });
  return { code, ...said };
}

async function* piped(...pieces: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
}

describe("compact redact", () => {
  it("RED-2 prints the text without its secrets, and on stderr what was redacted", async () => {
    put("env", ENV);
    const { code, out, err } = await redact(["env"]);
    expect(out).toBe(CLEAN_ENV);
    expect(err).toBe("2 redacted\n       1  named-value\n       1  token:GitHub\n");
    expect(code).toBe(0);
    expect(read("env")).toBe(ENV);
  });

  it("RED-2 keeps the lines of a transcript JSON, and counts fields by their names", async () => {
    const call = {
      id: "c",
      function: { name: "run", arguments: JSON.stringify({ password: "Sommer99!z" }) },
    };
    const lines = [
      { role: "user", content: `use ${TOKEN}` },
      { role: "assistant", content: "ok", tool_calls: [call] },
      { role: "tool", content: `${KEY}\n`, pin: 4 },
    ];
    put("s.jsonl", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { out, err } = await redact(["s.jsonl"]);
    const shown = out.trimEnd().split("\n");
    expect(shown.map((line) => JSON.parse(line).role)).toEqual(["user", "assistant", "tool"]);
    expect(JSON.parse(shown[1] ?? "").tool_calls[0].function.arguments).toBe(`{"password":"${R}"}`);
    expect(out).not.toContain(BODY.slice(0, 8));
    expect(err).toContain("3 redacted\n");
    for (const kind of ["named-value", "token:GitHub", "private-key"]) expect(err).toContain(`1  ${kind}\n`);
  });

  it("RED-2 redacts a multi-line private key, however it is split into chunks", async () => {
    const text = `before\n${KEY}\nafter\n`;
    const bytes = new TextEncoder().encode(text);
    const pieces = Array.from({ length: bytes.length }, (_, at) => bytes.slice(at, at + 1));
    const { code, out } = await redact(["-"], { stdin: piped(...pieces) });
    expect(out).toMatch(/^before\n-----BEGIN RSA PRIVATE KEY-----.{0,4}<REDACTED>/s);
    expect(out).toContain("after\n");
    expect(out).not.toContain(BODY.slice(0, 8));
    expect(code).toBe(0);
  });

  it("--pii and redaction.personal take out facts about people as well", async () => {
    put("env", ENV);
    put("own.yaml", "redaction:\n  personal: true\n  enabled: false\n");
    for (const more of [["--pii"], ["--config", "own.yaml"]]) {
      const { out, err } = await redact(["env", ...more]);
      expect(out).toBe(CLEAN_ENV.replace("jane.doe@example.com", R));
      expect(err).toContain("1  email\n");
    }
  });

  it("RED-3 takes the patterns of the settings", async () => {
    put("own.yaml", 'redaction:\n  patterns: ["ACME-[0-9]{4}"]\n');
    put("note", "badge ACME-1234\n");
    expect((await redact(["note", "--config", "own.yaml"])).out).toBe(`badge ${R}\n`);
  });

  it("-o writes a file only its owner can read, and replaces an existing one only with --force", async () => {
    put("env", ENV);
    put("taken", "mine");
    const { out, err, code } = await redact(["env", "-o", "clean"]);
    expect([code, out, read("clean")]).toEqual([0, "", CLEAN_ENV]);
    expect(err).toContain("2 redacted; written to clean\n");
    expect(statSync(join(folder, "clean")).mode & 0o777).toBe(0o600);
    const refused = await redact(["env", "-o", "taken"]);
    expect([refused.code, read("taken")]).toEqual([2, "mine"]);
    expect(refused.err).toContain("--force");
    expect((await redact(["env", "-o", "taken", "--force"])).code).toBe(0);
    expect(read("taken")).toBe(CLEAN_ENV);
    expect((await redact(["env", "-o", "env", "--force"])).code).toBe(0);
    expect(read("env")).toBe(CLEAN_ENV);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("--json prints counts in place of the text", async () => {
    put("env", ENV);
    const { out, err } = await redact(["env", "--json", "-o", "clean"]);
    const kinds = { "named-value": 1, "token:GitHub": 1 };
    expect(JSON.parse(out)).toEqual({ found: 2, kinds, withheld: 0, output: "clean" });
    expect(err).toBe("");
    expect(JSON.parse((await redact(["env", "--json"])).out)).toMatchObject({ found: 2, output: null });
  });

  it("text without secrets, empty text and marks of byte order come back to the byte", async () => {
    for (const text of ["nothing here\r\n", "", "\ufeffé 漢 🙂\n"]) {
      put("plain", text);
      const { code, out, err } = await redact(["plain"]);
      expect([code, out, err]).toEqual([0, text, "no secrets found\n"]);
    }
  });

  it("escapes control characters on a terminal only", async () => {
    put("log", "\u001b]52;c;aGk=\u0007x\n");
    expect((await redact(["log"])).out).toBe("\u001b]52;c;aGk=\u0007x\n");
    expect((await redact(["log"], { onScreen: true })).out).not.toContain("\u001b");
  });

  it("RED-4 reports a part that was left out after a timeout, and fails", async () => {
    let now = 0;
    const clock = performance.now;
    performance.now = () => {
      now += 60_000;
      return now;
    };
    try {
      put("env", ENV);
      const { code, out, err } = await redact(["env"]);
      expect([code, out]).toEqual([1, WITHHELD]);
      expect(err).toContain("could not be searched in time");
    } finally {
      performance.now = clock;
    }
  });
});

it("starts its counts on a new line after a text without a final newline on a terminal", async () => {
  put("notes.txt", "no newline at the end");
  let seen = "";
  const screen: CliPorts["stdout"] = {
    write: (text) => {
      seen += text;
    },
    isTerminal: true,
    columns: 80,
  };
  await redact(["notes.txt"], { stdout: screen, stderr: screen });
  expect(seen).toBe("no newline at the end\nno secrets found\n");
  expect((await redact(["notes.txt"])).out).toBe("no newline at the end");
});

describe("compact redact refuses in words", () => {
  const cases: readonly (readonly [argv: string, code: number, ...words: string[]])[] = [
    ["", 2, "needs a file", "compact redact run.log"],
    ["nosuch.txt", 1, "there is no file nosuch.txt", "standard input"],
    ["dir", 1, "dir is a folder", "one by one"],
    ["binary.dat", 1, "is a binary file"],
    ["packed.gz", 1, "is a binary file", "unpack"],
    ["utf16.txt", 1, "is UTF-16 text"],
    ["latin1.txt", 1, "not UTF-8", "iconv"],
    ["cut.txt", 1, "not UTF-8"],
    ["-", 1, "cannot be read here"],
    ["env two", 2, "one argument too many"],
    ["env --target 3k", 2, "--target is not a flag"],
    ["env -o no/such/file", 1, "there is no folder"],
  ];

  const named = cases.map(([line, code, ...words]) => ({ line, code, words }));
  it.each(named)("compact redact $line exits with $code", async ({ line, code, words }) => {
    put("env", ENV);
    mkdirSync(join(folder, "dir"));
    put("binary.dat", Buffer.from([65, 0, 1, 2]));
    put("packed.gz", Buffer.from([0x1f, 0x8b, 8, 1]));
    put("utf16.txt", Buffer.from("\ufeffhi", "utf16le"));
    put("latin1.txt", Buffer.from([99, 97, 102, 0xe9, 10]));
    put("cut.txt", Buffer.from([97, 0xe6, 0xbc]));
    const result = await redact(line.split(" ").filter((word) => word !== ""));
    for (const word of words) expect(result.err).toContain(word);
    expect(result.err).not.toContain("unexpected");
    expect(result.code).toBe(code);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("leaves the file that -o names as it was when the input turns out to be no text", async () => {
    put("half.txt", Buffer.concat([Buffer.from(ENV), Buffer.from([0xff])]));
    put("taken", "mine");
    const { code } = await redact(["half.txt", "-o", "taken", "--force"]);
    expect([code, read("taken")]).toEqual([1, "mine"]);
  });

  it.skipIf(process.getuid?.() === 0)("a file that may not be read", async () => {
    put("env", ENV);
    chmodSync(join(folder, "env"), 0);
    const { code, err } = await redact(["env"]);
    expect(code).toBe(1);
    expect(err).toContain("permission denied");
  });
});
