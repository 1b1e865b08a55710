import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { AgentModel } from "compact-context/internal/agent/agent-message";
import { createScriptedModel, type ScriptedAnswer } from "compact-context/internal/agent/scripted";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Flags, Invocation } from "../flags.ts";
import { createTerminal, processPorts } from "../ports.ts";
import { ChatInput } from "./input.ts";
import { bannerLines, problemText } from "./lines.ts";
import { createModels } from "./models.ts";
import { chatFolders, openChat } from "./open-chat.ts";
import { createPermissions } from "./permissions.ts";
import { createChatScreen } from "./screen.ts";
import { runChat } from "./start-chat.ts";
import { createWorkplace } from "./tools.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-chat-unit-"));
  writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Session {
  type(text: string): void;
  shows(what: string | RegExp): Promise<void>;
  shown(): string;
  ended: Promise<void>;
}

/** A chat in this process, typed into through a stream that pretends to be a terminal. */
async function start(model?: AgentModel, flags: Flags = {}): Promise<Session> {
  let shown = "";
  const stdout = new PassThrough();
  stdout.on("data", (piece) => {
    // Without readline's cursor movements.
    shown += String(piece)
      .replaceAll("\u001b", "^")
      .replace(/\^\[\d*[GJ]/g, "")
      .replaceAll("\r", "");
  });
  const write = (text: string): void => void stdout.write(text);
  const screenPort = { write, isTerminal: true, columns: 80 };
  const ports = { ...processPorts(), cwd: folder, stdout: screenPort, env: { NO_COLOR: "1" } };
  const terminal = createTerminal(ports);
  const invocation: Invocation = { words: [], flags, ports, terminal };
  const stdin = new PassThrough();
  const screen = createChatScreen({ isTerminal: true, terminal: () => terminal, write });
  const input = new ChatInput({
    stdin,
    stdout,
    isTerminal: true,
    history: [],
    words: [],
    onMessage: () => undefined,
  });
  const workplace = await createWorkplace(folder);
  const models = createModels(invocation);
  const folders = chatFolders(invocation);
  const { agent, skills } = await openChat({
    invocation,
    folders,
    workplace,
    model: model ?? (await models.initial()),
    permissions: createPermissions({ input, screen, workplace }),
    onDiagnostic: (diagnostic) => screen.notify("note", problemText(diagnostic, folder)),
  });
  screen.print(bannerLines(agent, folders.channelDir, ports, terminal));
  const chat = { agent, screen, input, skills, models, folder };
  const ended = runChat({ ...chat, clock: ports.clock }).then(agent.close);
  const shows: Session["shows"] = (what) => expect.poll(() => shown).toMatch(what);
  await shows("› ");
  return {
    shows,
    ended,
    shown: () => shown,
    type: (text) => {
      shown = "";
      stdin.write(text.replace(/\n/g, "\r"));
    },
  };
}

const scripted = (answer: ScriptedAnswer): AgentModel =>
  createScriptedModel((_, turn) => (turn === 1 ? answer : { text: "done" }), { window: 16_000 });

describe("a chat", () => {
  it("AGT-3 shows the context by layer, compacts, begins anew and keeps the work state", async () => {
    const chat = await start();
    await chat.shows("none: a script answers");
    for (let turn = 1; turn <= 8; turn++) {
      chat.type("fill 200\n");
      await chat.shows(/gate \d+\.[\s\S]*context [\d,]+ of 16k/);
    }
    chat.type("/context\n");
    await chat.shows(
      /recent +[\d,]+ +[\d.]+%[\s\S]+remainder +[1-9][\s\S]+starts at 13,600 tokens: [\d,]+ to go/,
    );
    chat.type("/compact look after parcels\n");
    await chat.shows(/compact {2}[\d,]+ → [\d,]+ tokens: 4 summarized, 12 kept, all archived/);
    chat.type("/undo\n");
    await chat.shows("the context is as it was before the newest compaction");
    chat.type("/undo\n");
    await chat.shows(/no\s+compaction\s+to\s+undo[\s\S]+compact\s+archive\s+restore/);
    chat.type("/compact look after parcels\n");
    await chat.shows(/compact {2}[\d,]+ → [\d,]+ tokens: \d+ summarized, \d+ kept, all archived/);
    chat.type("/context\n");
    await chat.shows(/summary +[1-9]\d+[\s\S]+1 compaction, the last \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    chat.type("/summarize\n");
    await chat.shows(/compact {2}[\d,]+ → |nothing to compact/);
    chat.type("/new\n");
    await chat.shows("a new session; the old one stays searchable, its state in the memory");
    chat.type("/memory\n");
    await chat.shows(/SESSION\.md +[1-9]\d* characters[\s\S]+fill 200/);
    chat.type("/memory what was filled?\n");
    await chat.shows(/fill 200/);
    chat.type("/memory which albatross?\n");
    await chat.shows("Nothing in the memory answers this");
    chat.type("/quit\n");
    await chat.ended;
  });

  it("tells a warning of its context in its own lines, in words of the settings", async () => {
    const onConsole = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const long = createScriptedModel(() => ({ text: "gate ".repeat(1_900) }), { window: 16_000 });
    const chat = await start(long);
    for (let turn = 1; turn <= 12; turn++) {
      chat.type(`turn ${turn}\n`);
      await chat.shows(/context [\d,]+ of 16k/);
      if (/every\s+few\s+calls/.test(chat.shown())) break;
    }
    await chat.shows(/note +session[\s\S]+every\s+few\s+calls[\s\S]+policy\.keep_recent_turns/);
    expect(onConsole).not.toHaveBeenCalled();
    onConsole.mockRestore();
    chat.type("/quit\n");
    await chat.ended;
  });

  it("counts a compaction as the status line does, independent of the reported usage", async () => {
    const model = createScriptedModel(({ messages }) => {
      const inputTokens = Math.round(JSON.stringify(messages).length / 8);
      return {
        text: "done ".repeat(120),
        usage: { inputTokens, outputTokens: 200, totalTokens: inputTokens + 200 },
      };
    });
    const chat = await start(model);
    for (let turn = 1; turn <= 9; turn++) {
      chat.type(`part ${turn} ${"of the work ".repeat(90)}\n`);
      await chat.shows(/done[\s\S]+context [\d,]+ of/);
    }
    const status = (): string | undefined => /context ([\d,]+) of/.exec(chat.shown())?.[1];
    const before = status();
    chat.type("/compact\n");
    await chat.shows(/all archived[\s\S]+context [\d,]+ of/);
    expect(/compact {2}([\d,]+) → ([\d,]+)/.exec(chat.shown())?.slice(1)).toEqual([before, status()]);
    chat.type("/quit\n");
    await chat.ended;
  });

  it("shows what it recalled", async () => {
    mkdirSync(join(folder, ".compact/agent/main"), { recursive: true });
    writeFileSync(
      join(folder, ".compact/agent/MEMORY.md"),
      "# MEMORY\n\n## Staging\n- The staging server is stage-3.acme.internal.\n- Staging is deployed on Mondays only.\n",
    );
    const chat = await start();
    chat.type("Where is the staging server, and when is staging deployed?\n");
    await chat.shows(/recalled[^·]+The staging\s+server is stage-3/);
    expect(chat.shown().match(/Staging:/g)).toHaveLength(1);
    await chat.shows(/context [\d,]+ of/);
    chat.type("/quit\n");
    await chat.ended;
  });

  it("MEM-14 reports the result of a request to forget", async () => {
    const chat = await start();
    await chat.shows("none: a script answers");
    chat.type("Remember that my locker code word is heron.\n");
    await chat.shows(/gate \d+\.|context [\d,]+ of/);
    chat.type("/new\n");
    await chat.shows("a new session");
    chat.type("Please forget my locker code word.\n");
    await chat.shows(/context [\d,]+ of/);
    chat.type("/new\n");
    await chat.shows(/forgotten: \d+ pieces? out of MEMORY\.md/);
    chat.type("Please forget my shoe size.\n");
    await chat.shows(/context [\d,]+ of/);
    chat.type("/new\n");
    await chat.shows(/no\s+item\s+of\s+MEMORY\.md\s+matches/);
    chat.type("/quit\n");
    await chat.ended;
  });

  it("has its model write the memory's notes, counts what that takes, and asks it nothing where it shall not", async () => {
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 };
    const asked: string[] = [];
    const model = createScriptedModel(({ system, tools }) => {
      if (tools.length > 0) return { text: "done", usage };
      asked.push(system);
      return { text: JSON.stringify({ title: "Gate 7", currentState: ["The user paints gate 7."] }), usage };
    });
    const notes = (): string => readFileSync(join(folder, ".compact/agent/main/SESSION.md"), "utf8");
    const chat = await start(model);
    for (const text of ["we paint gate 7", "now in green"]) {
      chat.type(`${text}\n`);
      await chat.shows(/done[\s\S]+context/);
    }
    await expect.poll(notes).toContain("The user paints gate 7.");
    expect(asked[0]).toContain("working notes");
    chat.type("and the fence\n");
    await chat.shows(/context[^\n]*\b[4-9]\d\d in/);
    chat.type("/quit\n");
    await chat.ended;
    const before = asked.length;
    writeFileSync(join(folder, "compact.yaml"), "memory:\n  use_model: false\n");
    const other = await start(model, { new: true });
    for (const text of ["we paint gate 8", "now in red"]) {
      other.type(`${text}\n`);
      await other.shows(/done[\s\S]+context/);
    }
    await expect.poll(notes).toContain("gate 8");
    other.type("/quit\n");
    await other.ended;
    expect(asked).toHaveLength(before);
  });

  it("stops asking a model for notes after two answers without JSON, with one warning", async () => {
    let asked = 0;
    let shown = "";
    const model = createScriptedModel(({ tools }) => {
      if (tools.length > 0) return { text: "done" };
      asked += 1;
      return { text: "Gladly! What shall I write?" };
    });
    const notes = (): string => readFileSync(join(folder, ".compact/agent/main/SESSION.md"), "utf8");
    const chat = await start(model);
    for (let gate = 1; gate <= 10; gate++) {
      shown += chat.shown();
      chat.type(`we paint gate ${gate} in green\n`);
      await chat.shows(/done[\s\S]+context/);
      if (gate > 1) await expect.poll(notes).toMatch(/gate/);
    }
    shown += chat.shown();
    chat.type("/quit\n");
    await chat.ended;
    shown += chat.shown();
    expect(asked).toBe(4);
    expect(shown.match(/answer\s+was\s+not\s+taken/g)).toHaveLength(1);
    expect(shown.match(/memory\.use_model:\s+false/g)).toHaveLength(1);
    expect(notes()).toContain("gate 10");
  });

  it("lets its model write the summaries with --summarizer own", async () => {
    let sent = "";
    const model = createScriptedModel(({ system, tools, messages }) => {
      if (tools.length > 0) sent = JSON.stringify(messages);
      if (tools.length > 0) return { text: `done ${"and done ".repeat(60)}` };
      return { text: system.includes("working notes") ? "{}" : "The user paints gate 7 in green." };
    });
    const chat = await start(model, { summarizer: "own" });
    for (let gate = 1; gate <= 8; gate++) {
      chat.type(`we paint gate ${gate} ${"with care ".repeat(40)}\n`);
      await chat.shows(/done and[\s\S]+context/);
    }
    chat.type("/compact\n");
    await chat.shows(/compact {2}[\d,]+ → [\d,]+ tokens: [1-9]\d* summarized/);
    chat.type("go on\n");
    await chat.shows(/done and[\s\S]+context/);
    expect(sent).toContain("The user paints gate 7 in green.");
    chat.type("/quit\n");
    await chat.ended;
    await expect(start(undefined, { summarizer: "own" })).rejects.toThrow(
      "the demo script cannot write summaries",
    );
    await expect(start(model, { summarizer: "gpt" })).rejects.toThrow("builtin or own");
  });

  it("asks before each call; always holds for the same command alone", async () => {
    const chat = await start();
    chat.type("run echo first\n");
    await chat.shows(/allow\? {3}run {2}echo first[\s\S]+always this command[\s\S]+› $/);
    chat.type("a\n");
    await chat.shows(/ok {7}first[\s\S]+exit code 0/);
    chat.type("run echo first\n");
    // On a slow machine, "working, 1 s" can be between the two.
    await chat.shows(/tool {5}run {2}echo first\n[\s\S]*? {2}ok/);
    chat.type("run echo second\n");
    await chat.shows(/allow\? {3}run {2}echo second[\s\S]+› $/);
    chat.type("use another way\n");
    await chat.shows("They said: use another way");
    chat.type("write b.txt new text\n");
    await chat.shows(/allow\? {3}write {2}b\.txt\n {11}writes 1 line:\n {11}\+ new text[\s\S]+› $/);
    chat.type("y\n");
    await chat.shows("Wrote 1 line");
    expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("new text\n");
  });

  it("an interrupt ends the turn and keeps the session; a second one leaves", async () => {
    const chat = await start();
    chat.type("slow\n");
    await chat.shows(/Sentence \d/);
    chat.type("\u0003");
    await chat.shows("interrupted; the conversation is kept");
    chat.type("read a.txt\n");
    await chat.shows(/y once[\s\S]+› $/);
    chat.type("\u0003");
    await chat.shows("interrupted");
    chat.type("half a line");
    chat.type("\u0003");
    chat.type("\u0003");
    await chat.shows("Ctrl-C again leaves");
    chat.type("\u0003");
    await chat.ended;
  });

  it("continues after a broken stream, a missing tool and an unknown command, with a line each", async () => {
    const chat = await start(
      scripted({ text: "I beg", error: new Error("bad\u001b[2J gateway"), calls: [] }),
    );
    chat.type("hello\n");
    await chat.shows("the model failed: bad\\x1b[2J gateway");
    chat.type("again\n");
    await chat.shows("done");
    chat.type("/contxt\n");
    await chat.shows("there is no command /contxt. Did you mean /context?");
    chat.type("/model nothing\n");
    await chat.shows(/error {4}--model: nothing is not a provider\/model[\s\S]+try {6}Write provider\/model/);
    chat.type("/model demo\n");
    await chat.shows("model    demo:script, 16,000 tokens");
    chat.type("/help\n");
    await chat.shows(/\/compact \[instruction\]/);
  });

  it("skills and sub-agents are found; what is broken is reported", async () => {
    const home = join(folder, ".compact", "agent");
    mkdirSync(join(home, "skills"), { recursive: true });
    mkdirSync(join(home, "sub-agents"), { recursive: true });
    writeFileSync(
      join(home, "skills", "care.md"),
      "---\nname: care\ndescription: Works with care.\n---\nBe careful.\n",
    );
    writeFileSync(
      join(home, "sub-agents", "peer.md"),
      "---\nname: peer\ndescription: Helps.\n---\nYou help.\n",
    );
    writeFileSync(join(home, "sub-agents", "bad.md"), "no frontmatter\n");
    const chat = await start();
    expect(chat.shown()).toMatch(/note {5}\.compact\/agent\/sub-agents\/bad\.md/);
    chat.type("/skill\n");
    await chat.shows("care: Works with care.");
    chat.type("/skill care\n");
    await chat.shows("care is in use from the next message on");
    chat.type("/skill care\n");
    await chat.shows("care is no longer in use");
    chat.type("/skill nothing\n");
    await chat.shows(/there is no skill "nothing"/);
    chat.type("agent peer hello\n");
    await chat.shows(/agent {4}peer starts: hello[\s\S]+agent {4}peer is done after [^\n]+1 request/);
  });

  it("--archive is the place of the originals, also where the settings name another kind", async () => {
    writeFileSync(join(folder, "named.yaml"), "storage:\n  kind: memory\n");
    const chat = await start(undefined, { archive: "kept", config: "named.yaml" });
    for (let turn = 1; turn <= 8; turn++) {
      chat.type("fill 20\n");
      await chat.shows(/gate \d+\.[\s\S]*context [\d,]+ of 16k/);
    }
    chat.type("/compact\n");
    await chat.shows(/all archived/);
    chat.type("/quit\n");
    await chat.ended;
    expect(existsSync(join(folder, "kept"))).toBe(true);
  });

  it("MEM-12 the next process resumes the session; only one has it open", async () => {
    const chat = await start();
    chat.type("fill 100\n");
    await chat.shows(/context [\d,]+ of 16k/);
    chat.type("/quit\n");
    await chat.ended;
    const lock = join(folder, ".compact", "agent", "main", "agent.lock");
    expect(existsSync(lock)).toBe(false);
    writeFileSync(lock, JSON.stringify({ pid: 17, machine: "elsewhere" }));
    await expect(start()).rejects.toThrow(
      "another agent (process 17 of another machine) has this channel open",
    );
    rmSync(lock);
    const again = await start();
    expect(again.shown()).toContain("goes on with 2 messages");
    again.type("\u0004");
    await again.ended;
  });
});
