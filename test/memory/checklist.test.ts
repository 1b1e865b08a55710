import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const WORKER = join(import.meta.dirname, "checklist-worker.mjs");
const possible =
  existsSync("packages/compact-context/dist/agent/index.js") &&
  existsSync("packages/compact-context/dist/memory/channel-memory.js");

interface Step {
  readonly send?: string;
  readonly answers?: readonly { readonly text?: string; readonly calls?: readonly unknown[] }[];
  readonly compact?: string;
  readonly startNew?: boolean;
}

interface Said {
  readonly requests: readonly { readonly system: string; readonly messages: readonly unknown[] }[];
  readonly sessions: readonly string[];
  readonly lengths: readonly number[];
}

let workspaceDir: string;
beforeEach(() => {
  workspaceDir = mkdtempSync(join(tmpdir(), "compact-checklist-"));
});
afterEach(() => rmSync(workspaceDir, { recursive: true, force: true }));

const file = (name: string): string => join(workspaceDir, "team", name);
const read = (name: string): string => readFileSync(file(name), "utf8");

/** One process: plays the steps and ends, or dies on the way and says nothing. */
function process_(steps: readonly Step[], day = 1): Promise<Said | undefined> {
  const now = new Date(Date.UTC(2026, 10, day, 9)).toISOString();
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [WORKER, JSON.stringify({ workspaceDir, now, steps })],
      (error, stdout, stderr) => {
        if (error?.signal === "SIGKILL") resolve(undefined);
        else if (error !== null) reject(new Error(stderr));
        else resolve(JSON.parse(stdout) as Said);
      },
    );
  });
}

const call = (name: string, args: object): unknown => ({ name, arguments: args });
const lastPrompt = (said: Said | undefined): string =>
  JSON.stringify(said?.requests.at(-1)?.messages.at(-1) ?? "");

const CODING: Step = {
  send: "Make the parser in src/parser.ts skip blank lines. Never change the public API.",
  answers: [
    {
      calls: [
        call("read_file", { path: "src/parser.ts", result: "export function parse(text) {} // xylophone" }),
      ],
    },
    { calls: [call("edit_file", { path: "src/parser.ts", new_string: "if (line === '') continue;" })] },
    { calls: [call("bash", { command: "npm test", result: "14 passed" })] },
    {
      text: "Blank lines are skipped now.\n\nNext steps:\n- Write tests for tabs in src/parser.test.ts\n- Update the changelog",
    },
  ],
};

describe.skipIf(!possible)(
  "the checklist of a channel's memory, a process for each step",
  { timeout: 60_000 },
  () => {
    it("MEM-1 1: a fresh channel has its SESSION.md", async () => {
      await process_([]);
      expect(read("SESSION.md")).toMatch(/^# Session Title\n\n<!--/);
      for (const name of ["MEMORY.md", "HISTORY.md", "log.jsonl", "context.jsonl"])
        expect(existsSync(file(name))).toBe(true);
    });

    it("MEM-6 2: a task of several steps leaves its files and next steps in SESSION.md", async () => {
      await process_([CODING]);
      expect(read("SESSION.md")).toContain("# Active Files\n\n- src/parser.ts (edited)");
      expect(read("SESSION.md")).toContain(
        "# Next Steps\n\n- Write tests for tabs in src/parser.test.ts\n- Update the changelog",
      );
      expect(read("SESSION.md")).toContain("- Never change the public API.");
    });

    it("MEM-12 3: the state of the work survives a compaction, and the process that made it", async () => {
      const goOn: Step = { send: "Good, go on with the tabs.", answers: [{ text: "Tabs are tested." }] };
      await process_([CODING, goOn, { compact: "" }]);
      const said = await process_([{ send: "Which files did we change for blank lines?" }]);
      expect(lastPrompt(said)).toContain("<runtime_context>");
      expect(lastPrompt(said)).toContain("src/parser.ts (edited)");
      expect(read("SESSION.md")).toContain("Never change the public API.");
      expect(said?.requests[0]?.system).toBe("You work on a parser.");
    });

    it("MEM-12 4: a new session begins with an empty list and the channel's working state", async () => {
      const said = await process_([CODING, { startNew: true }, { send: "What is next for the parser?" }]);
      expect(said?.lengths[1]).toBe(0);
      expect(said?.sessions[1]).not.toBe(said?.sessions[0]);
      expect(lastPrompt(said)).toContain("Write tests for tabs");
      expect(JSON.stringify(said?.requests.at(-1)?.messages)).not.toContain("xylophone");
      expect(read("SESSION.md")).toContain("src/parser.ts (edited)");
    });

    it("AGT-1 5: a contextual sub-agent knows the channel's state and nothing of the conversation", async () => {
      mkdirSync(join(workspaceDir, "sub-agents"));
      writeFileSync(
        join(workspaceDir, "sub-agents", "reviewer.md"),
        "---\nname: reviewer\ndescription: Reviews.\ncontextMode: contextual\nmemory: session\n---\nYou review.\n",
      );
      const review = { calls: [call("sub_agent", { agent: "reviewer", task: "Review the parser." })] };
      const said = await process_([
        CODING,
        { send: "Have it reviewed.", answers: [review, { text: "Reviewed." }] },
      ]);
      const asked = JSON.stringify(
        said?.requests.find(({ system }) => system.startsWith("You review"))?.messages,
      );
      expect(asked).toContain("src/parser.ts (edited)");
      expect(asked).not.toContain("xylophone");
      expect(asked).not.toContain("14 passed");
    });

    it("MEM-8 6 and 7: after repeated cycles MEMORY.md is short and durable, HISTORY.md in order and no transcript", {
      timeout: 60_000,
    }, async () => {
      let told = 0;
      for (let day = 1; day <= 3; day += 1) {
        const noise = `output ${day} `.repeat(200);
        const cycle: Step = {
          send: `Fix issue ${day} of the parser. Always run npm test before you commit. Today the build server is down.`,
          answers: [
            { calls: [call("edit_file", { path: `src/issue-${day}.ts`, new_string: "x" })] },
            { calls: [call("bash", { command: "npm test", result: noise })] },
            { text: `Issue ${day} is fixed.` },
          ],
        };
        const said = await process_([cycle, { startNew: true }], day);
        told += JSON.stringify(said?.requests.at(-1)?.messages).length;
      }
      const memory = read("MEMORY.md");
      expect(memory.match(/Always run npm test before you commit/g)).toHaveLength(1);
      expect(memory).not.toMatch(/build server|issue-\d|output \d/);
      expect(memory.length).toBeLessThan(1_000);
      const history = read("HISTORY.md");
      const days = [...history.matchAll(/^## (\S+)/gm)].map(([, time]) => time);
      expect(days).toEqual(days.toSorted());
      expect(days).toHaveLength(3);
      for (let day = 1; day <= 3; day += 1) expect(history).toContain(`Fix issue ${day} of the parser`);
      expect(history).not.toContain("output 2 output 2");
      expect(history.length).toBeLessThan(told / 4);
    });

    it("MEM-12 8: after a process was killed in the middle of a task the next turn has the state from SESSION.md", async () => {
      const dying: Step = {
        send: "Now update the changelog.",
        answers: [{ calls: [call("bash", { command: "make", dies: true })] }],
      };
      expect(await process_([CODING, dying])).toBeUndefined();
      const said = await process_([{ send: "Where were we with the parser and its blank lines?" }]);
      expect(lastPrompt(said)).toContain("[channel-session / ");
      expect(lastPrompt(said)).toMatch(/Blank lines are skipped now|src\/parser\.ts \(edited\)/);
    });

    it("MEM-1 9: a channel from before is completed in silence, and nothing in it is changed or lost", async () => {
      mkdirSync(join(workspaceDir, "team"));
      const memory = "# Notes\r\n\r\n- The customer is Nakamura.\r\n## Rules\r\nNo jargon.";
      const history = "Some words without a heading.\n\n## 2025-03-01\n\n- We began.\n";
      writeFileSync(file("MEMORY.md"), memory);
      writeFileSync(file("HISTORY.md"), history);
      writeFileSync(file("log.jsonl"), '{"text":"an old line"}\n');
      const said = await process_([{ send: "Who is the customer?" }, CODING, { startNew: true }]);
      expect(JSON.stringify(said?.requests[0]?.messages)).toContain("Nakamura");
      expect(existsSync(file("SESSION.md"))).toBe(true);
      expect(read("MEMORY.md").startsWith(memory)).toBe(true);
      expect(read("HISTORY.md").startsWith(history.trimEnd())).toBe(true);
      expect(read("log.jsonl").startsWith('{"text":"an old line"}\n')).toBe(true);
    });
  },
);
