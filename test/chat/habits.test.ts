import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasTmux, openTerminal, type TestTerminal } from "./terminal.ts";

const built = existsSync("packages/compact-context-cli/dist/main.js");

let folder = "";
let chat: TestTerminal;
let server: Server | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-habits-"));
  writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
});
afterEach(() => {
  chat?.close();
  server?.close();
  server = undefined;
  // A chat that is being closed may still write.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
});

async function open(env: NodeJS.ProcessEnv = {}, columns = 80): Promise<void> {
  chat = openTerminal(folder, ["chat"], { NO_COLOR: "1", HOME: folder, ...env }, columns);
  await chat.shows(/^› ?$/);
}

/** Ends the chat and begins another one in the same folder. */
async function again(): Promise<void> {
  chat.keys("C-d");
  await expect.poll(() => chat.ended(), { timeout: 10_000 }).toBe(true);
  chat.close();
  await open();
}

/** Says a word and waits for the answer. */
async function say(text: string): Promise<void> {
  const asked = chat.text().split("context ").length;
  chat.line(`say ${text}`);
  await chat.shows("context ", asked);
}

const widest = (text: string): number => Math.max(...text.split("\n").map((line) => [...line].length));
const flat = (text: string): string => text.replace(/\s+/g, " ");

describe.skipIf(!built || !hasTmux)(
  "the twenty habits of docs/chat.md (needs tmux)",
  { timeout: 60_000 },
  () => {
    it("1 Enter sends", async () => {
      await open();
      chat.line("say heard");
      await chat.shows(/^ {2}heard$/);
    });

    it("2 a backslash or Alt-Enter goes on in the next line", async () => {
      await open();
      chat.line("say one\\");
      await chat.shows(/^…/);
      chat.keys("t", "w", "o", "M-Enter");
      await chat.shows(/^…/, 2);
      chat.line("three");
      await chat.shows(/^ {2}one\n {2}two\n {2}three$/);
    });

    it("3 a paste of several lines is one message and waits for Enter", async () => {
      await open();
      chat.paste("say one\n/quit\ntwo");
      await chat.shows(/two$/);
      expect(chat.text()).not.toMatch(/^ {2}one$/m);
      chat.keys("Enter");
      await chat.shows(/^ {2}one\n {2}\/quit\n {2}two$/);
      expect(chat.ended()).toBe(false);
    });

    it("4, 9 Esc interrupts; what is typed meanwhile is shown and comes next", async () => {
      await open();
      chat.line("run sleep 30");
      await chat.shows("allow?");
      chat.line("y");
      await chat.shows("working,");
      chat.keys("s", "a", "y", "Space", "l", "a", "t", "e", "r");
      await chat.shows("next: say later");
      chat.keys("Enter");
      await chat.shows(/next {5}say later/);
      chat.keys("Escape");
      await chat.shows("interrupted");
      await chat.shows(/^ {2}later$/);
    });

    it("5 Ctrl-C interrupts, and leaves at the second time", async () => {
      await open();
      chat.line("slow");
      await chat.shows("Sentence");
      chat.keys("C-c");
      await chat.shows("interrupted; the conversation is kept");
      chat.keys("C-c");
      await chat.shows("Ctrl-C again leaves");
      chat.keys("C-c");
      await expect.poll(() => chat.ended(), { timeout: 10_000 }).toBe(true);
    });

    it("6, 7, 13 Ctrl-D leaves; the next chat shows the conversation, and the arrow brings back what was typed", async () => {
      await open();
      await say("parrot");
      await again();
      await chat.shows(/session {2}goes on with 2 messages/);
      await chat.shows(/^› say parrot\n\n {2}parrot$/);
      chat.keys("Up");
      await chat.shows("› say parrot", 2);
    });

    it("8 Tab completes a command", async () => {
      await open();
      chat.keys("/", "c", "o", "n", "t", "Tab");
      await chat.shows("› /context");
    });

    it("10, 11 Markdown is shown as it is meant, and emoji of several parts as one character", async () => {
      await open();
      chat.paste("say # Title\n- **bold** item\n\n👩‍👩‍👧 family 🇩🇪 done");
      await chat.shows("done");
      chat.keys("Enter");
      await chat.shows(/^ {2}Title\n {2}• bold item\n\n {2}👩‍👩‍👧 family 🇩🇪 done$/u);
      expect(chat.text()).not.toContain("\\u200d");
    });

    it("12 the status line has tokens, cost and model", async () => {
      await open();
      await say("x");
      await chat.shows(/context [\d,]+ of 16k \([\d.]+%\) · [\d.]+k? in, \d+ out · no cost · demo:script$/);
    });

    it("14, 15 /new begins a session, and /resume goes back to one from a list", async () => {
      await open();
      await say("parrot");
      chat.line("/resume");
      await chat.shows("there is no other session here");
      chat.line("/new");
      await chat.shows("a new session; the old one stays searchable");
      await say("budgie");
      chat.line("/resume");
      await chat.shows(/^ {2}1 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}2 messages {2}say parrot$/);
      await chat.shows("Which one? Its number, or Enter to leave it:");
      chat.line("1");
      await chat.shows("goes on with 2 messages; the other session is kept");
      await chat.shows(/^› say parrot\n\n {2}parrot$/, 2);
      chat.line("/resume 7");
      await chat.shows("7 is not a number from 1 to 1");
      await again();
      await chat.shows(/^› say parrot\n\n {2}parrot$/);
    });

    it("16 /model lists the models of a provider whose key is set; a number takes one", async () => {
      server = createServer((_request, response) =>
        response.end(JSON.stringify({ data: [{ id: "gpt-5.4-mini" }, { id: "text-embedding-3-small" }] })),
      );
      await new Promise<void>((done) => server?.listen(0, "127.0.0.1", done));
      const { port } = server.address() as AddressInfo;
      await open({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` });
      chat.line("/model");
      await chat.shows(/^ {2}1 {2}openai\/gpt-5\.4-mini {2}[\d.]+[kM] tokens\n\n {2}Which one\?/);
      expect(chat.text()).not.toContain("embedding");
      chat.line("1");
      await chat.shows("the package @ai-sdk/openai cannot be loaded");
      chat.line("/model");
      await chat.shows("Which one?", 2);
      chat.line("demo");
      await chat.shows(/model {4}demo:script, 16,000 tokens/, 3);
    });

    it("17 leave is given once, for the session, or refused with a reason", async () => {
      await open();
      chat.line("edit a.txt two -> 2");
      await chat.shows("a always change files here");
      chat.line("use tabs instead");
      await chat.shows("They said: use tabs instead");
      expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("one\ntwo\n");
      chat.line("edit a.txt two -> 2");
      await chat.shows("a always change files here", 2);
      chat.line("y");
      await chat.shows("Changed 1 place of a.txt.");
      chat.line("edit a.txt one -> 1");
      await chat.shows("a always change files here", 3);
      chat.line("a");
      await chat.shows("Changed 1 place of a.txt.", 2);
      chat.line("edit a.txt 1 -> I");
      await chat.shows("Changed 1 place of a.txt.", 3);
    });

    it("18 /memory shows what is remembered", async () => {
      await open();
      chat.line("say the falcon listens on port 8423");
      await chat.shows(/^ {2}the falcon listens on port 8423$/);
      chat.line("/new");
      await chat.shows("a new session");
      chat.line("/memory falcon");
      await chat.shows(/port 8423/, 3);
      chat.line("/memory");
      await chat.shows(/SESSION\.md +[\d,]+ characters/);
    });

    it("19 a model that breaks off is told, and the chat goes on", async () => {
      await open();
      chat.line("fail");
      await chat.shows(/error {4}the model failed: the connection was reset by the script/);
      await say("alive");
      await chat.shows(/^ {2}alive$/);
    });

    it("20 commands are listed, and a wrong one gets a suggestion", async () => {
      await open();
      chat.line("/help");
      await chat.shows(/^ {2}\/resume \[number\]/);
      chat.line("/resum");
      await chat.shows("there is no command /resum. Did you mean /resume?");
    });

    it("60 columns hold every screen, and no word is broken", async () => {
      await open({}, 60);
      await say("parrot");
      for (const line of ["/help", "/context", "/memory", "/model", "/new", "/resume"]) {
        chat.line(line);
        await chat.shows(new RegExp(`^› ${line}\\n[\\s\\S]*context [\\d,]+ of|Which one\\?`));
      }
      chat.line("1");
      await chat.shows("goes on with 2 messages");
      chat.line("edit a.txt two -> 2");
      await chat.shows(/say why not/);
      const screen = chat.text();
      expect(widest(screen)).toBeLessThanOrEqual(60);
      for (const whole of [
        "resumes an earlier session of this folder, from a list",
        "Tab completes. A line that ends in \\ continues, as with Alt-Enter.",
        "y once · a always change files here · n no · or say why not",
        "a new session; the old one stays searchable",
      ])
        expect(flat(screen)).toContain(whole);
    });
  },
);
