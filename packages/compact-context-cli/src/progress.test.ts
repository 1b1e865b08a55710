import { describe, expect, it } from "vitest";
import { createProgress } from "./ports.ts";

function setUp(isTerminal: boolean) {
  let written = "";
  let now = 0;
  const screen = {
    write: (text: string) => {
      written += text;
    },
    isTerminal,
    columns: 40,
  };
  const progress = createProgress({ stderr: screen, clock: () => now });
  return {
    progress,
    written: () => written,
    at: (milliseconds: number) => {
      now = milliseconds;
    },
  };
}

describe("progress", () => {
  it("shows nothing in the first second, then one line with a bar, and clears it", () => {
    const { progress, written, at } = setUp(true);
    progress.show("reading", 0.1);
    expect(written()).toBe("");
    at(1500);
    progress.show("reading", 0.5);
    expect(written()).toBe(`\rreading ${"█".repeat(10)}${"░".repeat(10)}\u001b[K`);
    at(1520);
    progress.show("reading", 0.51);
    expect(written().split("\r")).toHaveLength(2);
    progress.end();
    expect(written().endsWith("\r\u001b[K")).toBe(true);
  });

  it("never wraps a line, for any file name", () => {
    const { progress, written, at } = setUp(true);
    at(2000);
    progress.show(`reading ${"x".repeat(300)}`, 0.5);
    expect(written().replace("\r", "").replace("\u001b[K", "").length).toBeLessThan(40);
  });

  it("shows a file's name and lets none of it act on the terminal", () => {
    const { progress, written, at } = setUp(true);
    at(2000);
    progress.show("reading \u001b]0;x\u0007.json");
    expect(written()).toBe("\rreading \\x1b]0;x\\x07.json\u001b[K");
  });

  it("is silent if stderr is not a terminal", () => {
    const { progress, written, at } = setUp(false);
    at(5000);
    progress.show("reading", 0.5);
    progress.end();
    expect(written()).toBe("");
  });
});
