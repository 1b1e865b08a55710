import { join } from "node:path";
import { diagnosticOf, diagnosticText } from "compact-context/internal/agent/event";
import { createRedactor } from "compact-context/redaction";
import type { Invocation } from "../flags.ts";
import { inCommandWords } from "../hints.ts";
import { createTerminal } from "../ports.ts";
import { safeLines } from "../render/text.ts";
import { type Chat, COMMAND_WORDS, interruptible, runChatCommand } from "./commands.ts";
import { ChatInput, HISTORY_FILE, openHistory } from "./input.ts";
import { bannerLines, problemText, showEarlier, showEvent, statusLines } from "./lines.ts";
import { createModels } from "./models.ts";
import { chatFolders, openChat } from "./open-chat.ts";
import { createPermissions } from "./permissions.ts";
import { createChatScreen } from "./screen.ts";
import { createWorkplace } from "./tools.ts";

/** One chat from its first line to its last; resolves to the exit code. */
export async function startChat(invocation: Invocation): Promise<number> {
  const { ports, flags } = invocation;
  const models = createModels(invocation);
  const model = await models.initial();
  const folders = chatFolders(invocation);
  const workplace = await createWorkplace(ports.cwd);
  const screen = createChatScreen({
    isTerminal: ports.stdout.isTerminal,
    terminal: () => createTerminal(ports),
    write: (text) => ports.stdout.write(text),
  });
  const history = await openHistory(join(folders.workspaceDir, HISTORY_FILE), createRedactor().redactText);
  const { stdin, stdout } = process;
  const input = new ChatInput({
    stdin,
    stdout,
    isTerminal: stdin.isTTY === true && stdout.isTTY === true,
    history: history.entries,
    words: COMMAND_WORDS,
    onMessage: history.add,
    onQueued: (text) => screen.notify("next", text, 3),
  });
  const permissions = createPermissions({ input, screen, workplace });
  let close: (() => Promise<void>) | undefined;
  try {
    const opened = await openChat({
      invocation,
      folders,
      workplace,
      model,
      permissions,
      onDiagnostic: (diagnostic) => screen.notify("note", problemText(diagnostic, ports.cwd), 4),
    });
    const { agent, skills } = opened;
    close = agent.close;
    if (flags.new === true && agent.messages.length > 0) await agent.startNew();
    screen.print(bannerLines(agent, folders.channelDir, ports, screen.terminal()));
    showEarlier(agent.messages, screen);
    await runChat({ agent, screen, input, skills, models, folder: ports.cwd, clock: ports.clock });
    screen.showStatus("saving the session");
    const closing = close();
    close = undefined;
    await closing;
    await history.saved().catch((error: Error) => {
      screen.notify("note", `the input history could not be saved: ${error.message}`, 3);
    });
    screen.endLine();
    return 0;
  } finally {
    input.close();
    // The session is saved even after an error, which is rethrown.
    await close?.().catch(() => undefined);
  }
}

const PROMPT = "› ";

/** Runs turns and commands until the input ends or the user leaves. */
export async function runChat(chat: Chat): Promise<void> {
  const { screen, input } = chat;
  input.onInterrupt = idleInterrupts(chat);
  for (;;) {
    if (input.isTerminal) showStatus(chat);
    const text = await input.next(screen.terminal().paint("strong", PROMPT));
    if (text === undefined) return;
    if (text.trim() === "") continue;
    screen.print(input.isTerminal ? [""] : ["", ...safeLines(`${PROMPT}${text}`), ""]);
    await (COMMAND.test(text) ? runChatCommand(text, chat) : takeTurn(chat, text));
  }
}

const AGAIN_MS = 3_000;

/** Ctrl-C at the prompt: the first one clears the line, a second one soon after leaves. */
function idleInterrupts({ screen, input, clock }: Chat): ChatInput["onInterrupt"] {
  let last = Number.NEGATIVE_INFINITY;
  return (typed) => {
    if (typed !== "") return;
    const now = clock();
    if (now - last < AGAIN_MS) input.close();
    else screen.print(["", screen.terminal().paint("faint", "  Ctrl-C again leaves")]);
    last = now;
  };
}

/** One line that starts with a slash. */
const COMMAND = /^\/.*$/;

function showStatus({ agent, screen }: Chat): void {
  const { paint, width } = screen.terminal();
  screen.print(["", ...statusLines(agent, width).map((line) => paint("faint", line))]);
}

async function takeTurn(chat: Chat, text: string): Promise<void> {
  const { agent, screen } = chat;
  try {
    await interruptible(chat, async (signal) => {
      for await (const event of agent.send(text, { signal })) showEvent(event, screen, chat.folder);
    });
  } catch (error) {
    screen.notify("error", inCommandWords(diagnosticText(diagnosticOf(error))), 4);
  }
}
