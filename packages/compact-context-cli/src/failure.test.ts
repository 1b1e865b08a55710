import { readdir } from "node:fs/promises";
import { CompactError } from "compact-context/internal/errors";
import { describe, expect, it } from "vitest";
import { reportFailure } from "./main.ts";
import type { CliPorts } from "./ports.ts";

function report(error: unknown, columns?: number): { code: number; text: string } {
  let text = "";
  const stderr = {
    write: (more: string) => {
      text += more;
    },
    isTerminal: false,
    columns,
  };
  const code = reportFailure(error, { stderr, env: {} } as unknown as CliPorts);
  return { code, text };
}

describe("failures", () => {
  it("name the code, the place and what to do", () => {
    const error = new CompactError("InvalidTranscript", "no JSON", {
      place: "a.jsonl:3",
      hint: "Export it again.",
    });
    expect(report(error)).toEqual({
      code: 1,
      text: "error   InvalidTranscript: no JSON\nat      a.jsonl:3\ntry     Export it again.\n",
    });
  });

  it.each([
    ["Go on under a new session id; this one can be used again 30 days after its deletion.", "--archive DIR"],
    ["Once. `recall(sessionId).restore()` gives earlier lists.", "Once. compact archive restore SESSION"],
    ['Raise it, or set onOverflow to "elide" so that', "or add --on-overflow elide so that"],
    ["Let this user write, or choose another one.", "choose another folder with --archive DIR."],
    ["The file system is read-only: choose another archive folder.", "archive folder with --archive DIR."],
    ["Look at the list of changes for its id.", "compact memory log lists the changes"],
  ])("advise in the words of the command: %s", (hint, words) => {
    expect(report(new CompactError("NotFound", "no", { hint })).text).toContain(words);
  });

  it("break no word on a terminal, and stay one line in a file", () => {
    const hint = "Look at the list of the sessions that are here.";
    const error = new CompactError("NotFound", "no file", { hint });
    const told = "error   NotFound: no file\ntry     ";
    const wrapped = "Look at the list of the sessions\n        that are here.";
    expect(report(error, 44).text).toBe(`${told}${wrapped}\n`);
    // A terminal of unknown size says 0.
    for (const columns of [undefined, 0]) expect(report(error, columns).text).toBe(`${told}${hint}\n`);
    const framed = new CompactError("NotFound", "no file", { hint: "here:\n    ^" });
    expect(report(framed).text).toBe(`${told}here:\n            ^\n`);
  });

  it("of use exit with 2", () => {
    expect(report(new CompactError("InvalidUsage", "no such flag")).code).toBe(2);
  });

  it("that are unexpected show no stack", () => {
    const { code, text } = report(new TypeError("x is not a function"));
    expect(code).toBe(1);
    expect(text).toContain("unexpected: x is not a function");
    expect(text).not.toContain("failure.test");
  });

  it("of the system are not reported as bugs", async () => {
    const refused = await readdir("/nowhere/at all").catch((error: unknown) => error);
    const { code, text } = report(refused);
    expect(code).toBe(1);
    expect(text).toMatch(/^error {3}the system refused: ENOENT.*\ntry {5}Check that/);
    expect(text).not.toContain("bug");
  });

  it("cannot forge lines of ours or move the cursor", () => {
    const { text } = report(new CompactError("NotFound", "no file a\u001b[2K\rerror fake\nWritten ok"));
    expect(text).toBe("error   NotFound: no file a\\x1b[2K\\x0derror fake\n        Written ok\n");
  });
});
