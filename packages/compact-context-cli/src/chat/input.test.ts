import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createRedactor } from "compact-context/redaction";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ChatInput, openHistory } from "./input.ts";

let input: ChatInput;
let stdin: PassThrough;
let shown = "";
let interrupted: string[] = [];

function open(isTerminal: boolean, history: string[] = []): void {
  stdin = new PassThrough();
  const stdout = new PassThrough();
  shown = "";
  interrupted = [];
  stdout.on("data", (piece) => {
    shown += piece;
  });
  input = new ChatInput({
    stdin,
    stdout,
    isTerminal,
    history,
    words: ["/help", "/context"],
    onMessage: () => undefined,
  });
  input.onInterrupt = (typed) => interrupted.push(typed);
}
afterEach(() => input?.close());

const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 30));

describe("a terminal", () => {
  beforeEach(() => open(true));

  it("lines that come at once are one message, a backslash continues the line", async () => {
    const first = input.next("› ");
    stdin.write("one\rtwo\r");
    expect(await first).toBe("one\ntwo");
    const second = input.next("› ");
    stdin.write("three\\\r");
    await settle();
    stdin.write("four\r");
    expect(await second).toBe("three\nfour");
    const third = input.next("› ");
    stdin.write("five");
    await settle();
    stdin.write("\u001b\r");
    await settle();
    expect(input.typed()).toBe("");
    stdin.write("six\r");
    expect(await third).toBe("five\nsix");
  });

  it("a paste that the terminal brackets is one message, and waits for Enter", async () => {
    const first = input.next("› ");
    expect(shown).toContain("\u001b[?2004h");
    stdin.write("\u001b[200~one\rtwo\r\u001b[201~");
    await settle();
    stdin.write("three\r");
    expect(await first).toBe("one\ntwo\nthree");
  });

  it("Esc interrupts while nobody reads, and not at the prompt", async () => {
    const first = input.next("› ");
    stdin.write("\u001b");
    await expect.poll(() => interrupted).toEqual([]);
    stdin.write("go\r");
    await first;
    stdin.write("\u001b");
    await expect.poll(() => interrupted).toEqual([""]);
  });

  it("what was typed before a question does not answer it", async () => {
    const message = input.next("› ");
    stdin.write("run it\r");
    await message;
    stdin.write("y\ry");
    await settle();
    const answer = input.ask("allow? ");
    await settle();
    stdin.write("n\r");
    expect(await answer).toBe("n");
    expect(await input.next("› ")).toBe("y");
    const last = input.next("› ");
    stdin.write("es\r");
    expect(await last).toBe("yes");
  });

  it("Ctrl-C clears the line and is reported; a question is cancelled", async () => {
    const message = input.next("› ");
    stdin.write("half a");
    await settle();
    stdin.write("\u0003");
    await settle();
    expect(interrupted).toEqual(["half a"]);
    stdin.write("whole\r");
    expect(await message).toBe("whole");
    const answer = input.ask("allow? ");
    stdin.write("\u0003");
    expect(await answer).toBeUndefined();
  });

  it("nothing is echoed while nobody reads; Ctrl-D ends", async () => {
    stdin.write("typed ahead");
    await settle();
    expect(shown).not.toContain("ahead");
    const message = input.next("› ");
    await settle();
    expect(shown).toContain("typed ahead");
    stdin.write("\r");
    expect(await message).toBe("typed ahead");
    const end = input.next("› ");
    stdin.write("\u0004");
    expect(await end).toBeUndefined();
  });

  it("Tab completes a command, the arrow brings back what was typed", async () => {
    open(true, ["older"]);
    const message = input.next("› ");
    stdin.write("/con");
    await settle();
    stdin.write("\t");
    await settle();
    stdin.write("\r");
    expect(await message).toBe("/context");
    const again = input.next("› ");
    stdin.write("\u001b[A");
    stdin.write("\u001b[A");
    await settle();
    stdin.write("\r");
    expect(await again).toBe("older");
  });
});

it("piped input is read line by line to its end, and cannot be asked", async () => {
  open(false);
  stdin.end("one\n\ntwo");
  expect(await input.ask("allow? ")).toBeUndefined();
  const lines = [];
  for (let line = await input.next(""); line !== undefined; line = await input.next("")) lines.push(line);
  expect(lines).toEqual(["one", "", "two"]);
});

describe("the history", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "compact-history-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("RED-1 is readable by its owner only, without secrets, each line once", async () => {
    const file = join(folder, "deep", "history");
    const history = await openHistory(file, createRedactor().redactText);
    for (const text of ["one", "two\n  lines", "key AKIAIOSFODNN7EXAMPLE", "one", " "]) history.add(text);
    await history.saved();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain("AKIAIOSFODNN7EXAMPLE");
    const again = await openHistory(file, (same) => same);
    expect(again.entries).toEqual(["one", expect.stringContaining("REDACTED"), "two lines"]);
  });

  it("a file that cannot be written rejects saved() only", async () => {
    writeFileSync(join(folder, "file"), "");
    const history = await openHistory(join(folder, "file", "history"), (same) => same);
    history.add("one");
    await expect(history.saved()).rejects.toThrow();
  });
});
