import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFile } from "./source.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-source-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(bytes: Buffer): Promise<{ text: string; garbled: boolean }> {
  writeFileSync(join(folder, "file"), bytes);
  let text = "";
  let garbled = false;
  const listener = {
    onBytes: () => undefined,
    onMalformed: () => {
      garbled = true;
    },
  };
  for await (const piece of (await openFile("file", folder)).chunks(listener)) text += piece;
  return { text, garbled };
}

/** As much as is read at once. */
const PIECE = 1 << 20;

describe("the text of a file", () => {
  it("is intact if a character is split across two chunks", async () => {
    for (const before of [PIECE - 1, PIECE - 2, PIECE - 3]) {
      const text = `${"x".repeat(before)}🚢 and é`;
      expect(await read(Buffer.from(text))).toEqual({ text, garbled: false });
    }
  });

  it("keeps its byte order mark", async () => {
    expect(await read(Buffer.from("\ufeff[]"))).toEqual({ text: "\ufeff[]", garbled: false });
  });

  it.each([
    ["another encoding", Buffer.from("café", "latin1"), "caf\ufffd"],
    ["a character that is cut at the end", Buffer.from("a🚢").subarray(0, 3), "a\ufffd"],
  ])("%s is told", async (_, bytes, text) => {
    expect(await read(bytes)).toEqual({ text, garbled: true });
  });
});
