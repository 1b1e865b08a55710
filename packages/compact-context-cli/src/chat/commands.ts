import { diagnosticOf, diagnosticText } from "compact-context/internal/agent/diagnostic";
import { closest } from "compact-context/internal/errors";
import { formatCount } from "../render/numbers.ts";
import { firstWords, oneLine } from "../render/safe.ts";
import { padEnd } from "../render/width.ts";
import type { Chat } from "./chat-parts.ts";
import { compactionWords } from "./compaction-words.ts";
import { contextLines } from "./context-lines.ts";
import { memoryLines } from "./memory-lines.ts";

interface ChatCommand {
  readonly usage: string;
  readonly summary: string;
  run(rest: string, chat: Chat, working: Working): Promise<void>;
}

/** Work that can be interrupted. */
export type Working = (work: (signal: AbortSignal) => Promise<void>) => Promise<void>;

export interface Commands {
  /** Carries out `/name words`; what goes wrong is told. */
  run(text: string): Promise<void>;
}

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
  memory: {
    usage: "[question]",
    summary: "what the memory holds, or says to a question",
    run: async (rest, { agent, screen, folder }) =>
      screen.print(memoryLines(await agent.memory(rest), folder, screen.terminal())),
  },
  model: {
    usage: "[provider/model]",
    summary: "which model answers, or another from here on",
    run: (rest, chat, working) => working(() => changeModel(rest, chat)),
  },
  skill: {
    usage: "[name]",
    summary: "takes a skill up or puts it down; else lists them",
    run: async (rest, chat) => toggleSkill(rest, chat),
  },
  help: {
    usage: "",
    summary: "this list",
    run: async (_rest, { screen }) => screen.print(helpLines()),
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

export function createCommands(chat: Chat, working: Working): Commands {
  return {
    async run(text) {
      const [word = "", ...words] = text.slice(1).split(" ");
      const name = OTHER_NAMES[word] ?? word;
      const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
      if (command !== undefined) return carriedOut(command, words.join(" ").trim(), chat, working);
      const near = closest(word, [...Object.keys(COMMANDS), ...Object.keys(OTHER_NAMES)]);
      const guess = near === undefined ? "" : ` Did you mean /${near}?`;
      chat.screen.tell(
        "note",
        `there is no command /${firstWords(oneLine(word), 40)}.${guess} /help lists them.`,
      );
    },
  };
}

/** What a command throws is told: the chat goes on. */
async function carriedOut(command: ChatCommand, rest: string, chat: Chat, working: Working): Promise<void> {
  try {
    await command.run(rest, chat, working);
  } catch (error) {
    const { hint, ...what } = diagnosticOf(error);
    chat.screen.tell("error", diagnosticText(what), 4);
    if (hint !== undefined) chat.screen.tell("try", hint, 3);
  }
}

function helpLines(): string[] {
  const lines = Object.entries(COMMANDS).map(
    ([name, { usage, summary }]) => `  ${padEnd(`/${name} ${usage}`, 26)}${summary}`,
  );
  return [
    ...lines,
    "",
    "  Esc or Ctrl-C interrupts; Ctrl-C twice leaves. Tab completes. A line that ends in \\ goes on.",
  ];
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

async function changeModel(named: string, { agent, screen, modelNamed }: Chat): Promise<void> {
  if (named !== "") await agent.useModel(await modelNamed(named));
  const { window } = agent.context();
  screen.tell("model", `${agent.model.name}, ${formatCount(window)} tokens`);
  if (named === "") screen.tell("", "/model provider/model goes on with another one");
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
