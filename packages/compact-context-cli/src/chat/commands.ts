import type { Agent, Skill } from "compact-context/agents";
import { diagnosticOf, diagnosticText } from "compact-context/internal/agent/event";
import { closest } from "compact-context/internal/errors";
import { lookUpModel } from "compact-context/internal/tokens/models";
import { inCommandWords } from "../hints.ts";
import { table } from "../render/table.ts";
import {
  firstWords,
  formatCount,
  formatShort,
  oneLine,
  padEnd,
  paragraph,
  plural,
  wrap,
} from "../render/text.ts";
import type { ChatInput } from "./input.ts";
import { compactionText, contextLines, memoryLines, showEarlier } from "./lines.ts";
import type { Models } from "./models.ts";
import type { ChatScreen } from "./screen.ts";

interface ChatCommand {
  readonly usage: string;
  readonly summary: string;
  run(rest: string, chat: Chat): Promise<void>;
}

/** Commands by name, in the order of the help. */
const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  context: {
    usage: "",
    summary: "shows what the context holds, and when it is compacted",
    run: async (_rest, { agent, screen }) => screen.print(contextLines(agent.context(), screen.terminal())),
  },
  compact: {
    usage: "[instruction]",
    summary: "summarizes older messages now; also /summarize",
    run: compactNow,
  },
  undo: {
    usage: "",
    summary: "undoes the newest compaction",
    run: (_rest, chat) => interruptible(chat, () => undoCompaction(chat)),
  },
  new: {
    usage: "",
    summary: "starts a new session; the memory is kept",
    run: (_rest, chat) => interruptible(chat, () => startNew(chat)),
  },
  resume: {
    usage: "[number]",
    summary: "resumes an earlier session of this folder, from a list",
    run: resumeSession,
  },
  memory: {
    usage: "[question]",
    summary: "shows the memory, or what it has on a question",
    run: async (rest, { agent, screen, folder }) =>
      screen.print(memoryLines(await agent.memory(rest), rest, folder, screen.terminal())),
  },
  model: {
    usage: "[provider/model]",
    summary: "shows the model, or changes it, by name or from a list",
    run: changeModel,
  },
  skill: {
    usage: "[name]",
    summary: "starts or stops a skill; without a name lists them",
    run: async (rest, chat) => toggleSkill(rest, chat),
  },
  help: {
    usage: "",
    summary: "shows this list",
    run: async (_rest, { screen }) => screen.print(helpLines(screen.terminal().width)),
  },
  quit: {
    usage: "",
    summary: "leaves; the next chat here resumes the session",
    run: async (_rest, { input }) => input.close(),
  },
};

const OTHER_NAMES: Readonly<Record<string, string>> = { summarize: "compact", exit: "quit" };

/** `/name` of every command. */
export const COMMAND_WORDS: readonly string[] = [...Object.keys(COMMANDS), "summarize"].map(
  (name) => `/${name}`,
);

/** Runs `/name words`. Errors are shown, and the chat continues. */
export async function runChatCommand(text: string, chat: Chat): Promise<void> {
  const [word = "", ...words] = text.slice(1).split(" ");
  const name = OTHER_NAMES[word] ?? word;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const near = closest(word, [...Object.keys(COMMANDS), ...Object.keys(OTHER_NAMES)]);
    const guess = near === undefined ? "" : ` Did you mean /${near}?`;
    chat.screen.notify(
      "note",
      `there is no command /${firstWords(oneLine(word), 40)}.${guess} /help lists them.`,
    );
    return;
  }
  try {
    await command.run(words.join(" ").trim(), chat);
  } catch (error) {
    const { hint, ...what } = diagnosticOf(error);
    chat.screen.notify("error", diagnosticText(what), 4);
    if (hint !== undefined) chat.screen.notify("try", inCommandWords(hint), 3);
  }
}

const HELP_COLUMN = 26;
const KEYS =
  "Esc or Ctrl-C interrupts; Ctrl-C twice leaves. Tab completes. A line that ends in \\ continues, as with Alt-Enter.";

function helpLines(width: number): string[] {
  const lines = Object.entries(COMMANDS).flatMap(([name, { usage, summary }]) =>
    wrap(summary, width - HELP_COLUMN - 2).map(
      (line, index) => `  ${padEnd(index === 0 ? `/${name} ${usage}` : "", HELP_COLUMN)}${line}`,
    ),
  );
  return [...lines, "", ...paragraph(KEYS, width)];
}

function compactNow(instruction: string, chat: Chat): Promise<void> {
  return interruptible(chat, async (signal) => {
    const report = await chat.agent.compact(instruction, { signal });
    if (report.compacted) chat.screen.notify("compact", compactionText(report));
    else chat.screen.notify("note", "nothing to compact: every message is recent or pinned");
  });
}

async function undoCompaction({ agent, screen }: Chat): Promise<void> {
  if (await agent.undo()) screen.notify("undo", "the context is as it was before the newest compaction");
  else screen.notify("note", "the archive does not have the messages; the context is unchanged");
}

async function startNew({ agent, screen }: Chat): Promise<void> {
  const { memory } = await agent.startNew();
  const state = memory === undefined || memory.session === "failed" ? "" : ", its state in the memory";
  screen.notify("new", `a new session; the old one stays searchable${state}`);
}

/** Rows of a list to choose from. */
const MAX_ROWS = 15;

/** Shows numbered rows and asks for one. Returns the answer as typed; empty if no person can answer. */
async function choose(rows: readonly (readonly string[])[], { screen, input }: Chat): Promise<string> {
  const shown = rows.slice(0, MAX_ROWS).map((row, index) => [String(index + 1), ...row]);
  const columns = shown[0]?.map((_, index, { length }) => (index === length - 1 ? "flexible" : "left")) ?? [];
  screen.print([...table(shown, columns, screen.terminal()), ""]);
  return ((await input.ask("  Which one? Its number, or Enter to leave it: ")) ?? "").trim();
}

/** The entry of a list by its number; undefined for any other answer. */
function entryAt<T>(answer: string, list: readonly T[]): T | undefined {
  return /^\d+$/.test(answer) ? list[Number(answer) - 1] : undefined;
}

async function resumeSession(given: string, chat: Chat): Promise<void> {
  const { agent, screen } = chat;
  const sessions = (await agent.sessions()).filter(
    ({ id, firstAsk }) => id !== agent.sessionId && firstAsk !== "",
  );
  if (sessions.length === 0) return screen.notify("note", "there is no other session here; /new starts one");
  const rows = sessions.map(({ at, messages, lastAsk }) => [
    at.slice(0, 16).replace("T", " "),
    plural(messages, "message"),
    firstWords(lastAsk),
  ]);
  const answer = given === "" ? await choose(rows, chat) : given;
  if (answer === "") return;
  const chosen = entryAt(answer, sessions);
  if (chosen === undefined)
    return screen.notify("note", `${oneLine(answer)} is not a number from 1 to ${sessions.length}`);
  await interruptible(chat, () => agent.resume(chosen.id));
  screen.notify(
    "resume",
    `goes on with ${plural(agent.messages.length, "message")}; the other session is kept`,
  );
  showEarlier(agent.messages, screen);
}

async function changeModel(given: string, chat: Chat): Promise<void> {
  const { agent, screen, models } = chat;
  let answer = given;
  if (given === "") {
    showModel(chat);
    let names: readonly string[] = [];
    await interruptible(chat, async () => {
      names = await models.list();
    });
    if (names.length === 0) return screen.notify("", "/model provider/model switches to another one");
    const rows = names.map((name) => [oneLine(name), windowText(name)]);
    answer = await choose(rows, chat);
    answer = entryAt(answer, names) ?? answer;
  }
  if (answer === "") return;
  await interruptible(chat, async () => agent.useModel(await models.byName(answer)));
  showModel(chat);
}

function windowText(name: string): string {
  const { known, window } = lookUpModel(name);
  return known ? `${formatShort(window)} tokens` : "";
}

function showModel({ agent, screen }: Chat): void {
  screen.notify("model", `${agent.model.name}, ${formatCount(agent.context().window)} tokens`);
}

function toggleSkill(name: string, { agent, screen, skills }: Chat): void {
  const inUse = agent.skillsInUse;
  if (name === "") {
    const known = skills.map(
      (skill) => `${skill.name}${inUse.includes(skill.name) ? " (in use)" : ""}: ${skill.description}`,
    );
    screen.notify(
      "skill",
      known.length === 0 ? "there are none; put them into .compact/agent/skills" : known.join("\n"),
      40,
    );
  } else if (inUse.includes(name)) {
    const done = agent.endSkill(name);
    screen.notify(
      "skill",
      done ? `${name} is no longer in use` : `${name} was started by the model, which ends it`,
    );
  } else {
    for (const problem of agent.useSkill(name)) screen.notify("note", diagnosticText(problem), 4);
    screen.notify("skill", `${name} is in use from the next message on`);
  }
}

/** The parts of a running chat. */
export interface Chat {
  readonly agent: Agent;
  readonly screen: ChatScreen;
  readonly input: ChatInput;
  readonly skills: readonly Skill[];
  /** The working folder; shown paths are relative to it. */
  readonly folder: string;
  readonly models: Pick<Models, "byName" | "list">;
  /** Monotonic clock, milliseconds. */
  clock(): number;
}

const TICK_MS = 500;

/** Runs work that Ctrl-C aborts, a second one leaves; with a status line while nothing else is shown. */
export async function interruptible(chat: Chat, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { screen, input, clock } = chat;
  const { onInterrupt } = input;
  const started = clock();
  const controller = new AbortController();
  const { signal } = controller;
  input.onInterrupt = () => {
    if (signal.aborted) input.close();
    else controller.abort(new Error("interrupted"));
  };
  const timer = setInterval(() => {
    const seconds = Math.round((clock() - started) / 1000);
    if (input.isAsking()) return;
    const typed = input.typed() === "" ? "" : ` · next: ${oneLine(input.typed())}`;
    screen.showStatus(`${signal.aborted ? "stopping" : `working, ${seconds} s · Esc interrupts`}${typed}`);
  }, TICK_MS);
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    screen.notify("note", "interrupted");
  } finally {
    clearInterval(timer);
    input.onInterrupt = onInterrupt;
    screen.endLine();
  }
}
