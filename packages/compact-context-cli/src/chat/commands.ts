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
import { showEarlier } from "./events.ts";
import type { ChatInput, Interrupts } from "./input.ts";
import { compactionWords, contextLines, memoryLines } from "./lines.ts";
import type { Models } from "./models.ts";
import type { ChatScreen } from "./screen.ts";

interface ChatCommand {
  readonly usage: string;
  readonly summary: string;
  run(rest: string, chat: Chat, working: Working): Promise<void>;
}

/** Work that can be interrupted. */
export type Working = (work: (signal: AbortSignal) => Promise<void>) => Promise<void>;

/** Commands by name, in the order of the help. */
const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  context: {
    usage: "",
    summary: "what the context holds, and when it is compacted",
    run: async (_rest, { agent, screen }) => screen.print(contextLines(agent.context(), screen.terminal())),
  },
  compact: {
    usage: "[instruction]",
    summary: "summarizes older messages now; also /summarize",
    run: (rest, chat, working) => working((signal) => compactNow(rest, chat, signal)),
  },
  undo: {
    usage: "",
    summary: "takes the newest compaction back",
    run: (_rest, chat, working) => working(() => undoCompaction(chat)),
  },
  new: {
    usage: "",
    summary: "begins a session; the memory stays",
    run: (_rest, chat, working) => working(() => startNew(chat)),
  },
  resume: {
    usage: "[number]",
    summary: "goes on with an earlier session of this folder, from a list",
    run: (rest, chat, working) => resumeSession(rest, chat, working),
  },
  memory: {
    usage: "[question]",
    summary: "what the memory holds, or says to a question",
    run: async (rest, { agent, screen, folder }) =>
      screen.print(memoryLines(await agent.memory(rest), folder, screen.terminal())),
  },
  model: {
    usage: "[provider/model]",
    summary: "which model answers; another from here on, by name or from a list",
    run: (rest, chat, working) => changeModel(rest, chat, working),
  },
  skill: {
    usage: "[name]",
    summary: "takes a skill up or puts it down; else lists them",
    run: async (rest, chat) => toggleSkill(rest, chat),
  },
  help: {
    usage: "",
    summary: "this list",
    run: async (_rest, { screen }) => screen.print(helpLines(screen.terminal().width)),
  },
  quit: {
    usage: "",
    summary: "leaves; the next chat here goes on",
    run: async (_rest, { input }) => input.close(),
  },
};

const OTHER_NAMES: Readonly<Record<string, string>> = { summarize: "compact", exit: "quit" };

/** `/name` of every command. */
export const COMMAND_WORDS: readonly string[] = [...Object.keys(COMMANDS), "summarize"].map(
  (name) => `/${name}`,
);

/** Carries out `/name words`. What goes wrong is told: the chat goes on. */
export async function runChatCommand(text: string, chat: Chat, working: Working): Promise<void> {
  const [word = "", ...words] = text.slice(1).split(" ");
  const name = OTHER_NAMES[word] ?? word;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const near = closest(word, [...Object.keys(COMMANDS), ...Object.keys(OTHER_NAMES)]);
    const guess = near === undefined ? "" : ` Did you mean /${near}?`;
    chat.screen.tell(
      "note",
      `there is no command /${firstWords(oneLine(word), 40)}.${guess} /help lists them.`,
    );
    return;
  }
  try {
    await command.run(words.join(" ").trim(), chat, working);
  } catch (error) {
    const { hint, ...what } = diagnosticOf(error);
    chat.screen.tell("error", diagnosticText(what), 4);
    if (hint !== undefined) chat.screen.tell("try", inCommandWords(hint), 3);
  }
}

const HELP = 26;
const KEYS =
  "Esc or Ctrl-C interrupts; Ctrl-C twice leaves. Tab completes. A line that ends in \\ goes on, Alt-Enter too.";

function helpLines(width: number): string[] {
  const lines = Object.entries(COMMANDS).flatMap(([name, { usage, summary }]) =>
    wrap(summary, width - HELP - 2).map(
      (line, index) => `  ${padEnd(index === 0 ? `/${name} ${usage}` : "", HELP)}${line}`,
    ),
  );
  return [...lines, "", ...paragraph(KEYS, width)];
}

async function compactNow(instruction: string, { agent, screen }: Chat, signal: AbortSignal): Promise<void> {
  const report = await agent.compact(instruction, { signal });
  if (report.compacted) screen.tell("compact", compactionWords(report));
  else screen.tell("note", "nothing to compact: all of it is recent or pinned");
}

async function undoCompaction({ agent, screen }: Chat): Promise<void> {
  const back = await agent.undo();
  if (back) screen.tell("undo", "the context holds again what the newest compaction took out");
  else screen.tell("note", "the archive does not have the messages: the context stays as it is");
}

async function startNew({ agent, screen }: Chat): Promise<void> {
  const { memory } = await agent.startNew();
  const state = memory === undefined || memory.session === "failed" ? "" : ", its state in the memory";
  screen.tell("new", `a new session; the old one stays searchable${state}`);
}

/** Lines of a list that is chosen from. */
const MOST_LISTED = 15;

/** Shows numbered rows and asks for one; the answer as it was typed, empty where nobody can be asked. */
async function choose(rows: readonly (readonly string[])[], { screen, input }: Chat): Promise<string> {
  const shown = rows.slice(0, MOST_LISTED).map((row, index) => [String(index + 1), ...row]);
  const columns = shown[0]?.map((_, index, { length }) => (index === length - 1 ? "flexible" : "left")) ?? [];
  screen.print([...table(shown, columns, screen.terminal()), ""]);
  return ((await input.ask("  Which one? Its number, or Enter to leave it: ")) ?? "").trim();
}

/** What a number of a list stands for; undefined for anything else. */
function numbered<T>(answer: string, list: readonly T[]): T | undefined {
  return /^\d+$/.test(answer) ? list[Number(answer) - 1] : undefined;
}

async function resumeSession(given: string, chat: Chat, working: Working): Promise<void> {
  const { agent, screen } = chat;
  const sessions = (await agent.sessions()).filter(
    ({ id, firstAsk }) => id !== agent.sessionId && firstAsk !== "",
  );
  if (sessions.length === 0) return screen.tell("note", "there is no other session here; /new begins one");
  const rows = sessions.map(({ at, messages, lastAsk }) => [
    at.slice(0, 16).replace("T", " "),
    plural(messages, "message"),
    firstWords(lastAsk),
  ]);
  const answer = given === "" ? await choose(rows, chat) : given;
  if (answer === "") return;
  const chosen = numbered(answer, sessions);
  if (chosen === undefined)
    return screen.tell("note", `${oneLine(answer)} is no number from 1 to ${sessions.length}`);
  await working(() => agent.resume(chosen.id));
  screen.tell(
    "resume",
    `goes on with ${plural(agent.messages.length, "message")}; the other session is kept`,
  );
  showEarlier(agent.messages, screen);
}

async function changeModel(given: string, chat: Chat, working: Working): Promise<void> {
  const { agent, screen, models } = chat;
  let answer = given;
  if (given === "") {
    tellModel(chat);
    let names: readonly string[] = [];
    await working(async () => {
      names = await models.list();
    });
    if (names.length === 0) return screen.tell("", "/model provider/model goes on with another one");
    const rows = names.map((name) => [oneLine(name), windowWords(name)]);
    answer = await choose(rows, chat);
    answer = numbered(answer, names) ?? answer;
  }
  if (answer === "") return;
  await working(async () => agent.useModel(await models.named(answer)));
  tellModel(chat);
}

function windowWords(name: string): string {
  const { known, window } = lookUpModel(name);
  return known ? `${formatShort(window)} tokens` : "";
}

function tellModel({ agent, screen }: Chat): void {
  screen.tell("model", `${agent.model.name}, ${formatCount(agent.context().window)} tokens`);
}

function toggleSkill(name: string, { agent, screen, skills }: Chat): void {
  const inUse = agent.skillsInUse;
  if (name === "") {
    const known = skills.map(
      (skill) => `${skill.name}${inUse.includes(skill.name) ? " (in use)" : ""}: ${skill.description}`,
    );
    screen.tell(
      "skill",
      known.length === 0 ? "there are none; .compact/agent/skills is their place" : known.join("\n"),
      40,
    );
  } else if (inUse.includes(name)) {
    const done = agent.endSkill(name);
    screen.tell(
      "skill",
      done ? `${name} is put down` : `${name} was taken up by the model, which puts it down`,
    );
  } else {
    for (const problem of agent.useSkill(name)) screen.tell("note", diagnosticText(problem), 4);
    screen.tell("skill", `${name} is in use from the next message on`);
  }
}

/** What one chat is made of. */
export interface Chat {
  readonly agent: Agent;
  readonly screen: ChatScreen;
  readonly input: ChatInput;
  readonly interrupts: Interrupts;
  readonly skills: readonly Skill[];
  /** The working folder, which paths are named from. */
  readonly folder: string;
  readonly models: Pick<Models, "named" | "list">;
  /** Milliseconds of a steady clock. */
  clock(): number;
}
