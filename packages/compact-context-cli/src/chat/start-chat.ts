import { join } from "node:path";
import { createRedactor } from "compact-context/redaction";
import type { Invocation } from "../command.ts";
import { createTerminal } from "../terminal.ts";
import { runChat } from "./chat.ts";
import { COMMAND_WORDS } from "./commands.ts";
import { problemText, showEarlier } from "./events.ts";
import {
  type ChatInput,
  type ChatInputOptions,
  createChatInput,
  createInterrupts,
  openHistory,
} from "./input.ts";
import { bannerLines } from "./lines.ts";
import { createModels } from "./models.ts";
import { chatFolders, openChat } from "./open-chat.ts";
import { createPermissions } from "./permissions.ts";
import { type ChatScreen, createChatScreen } from "./screen.ts";
import { createWorkplace } from "./workplace.ts";

/** One chat from its first line to its last; resolves to the exit code. */
export async function startChat(invocation: Invocation): Promise<number> {
  const { ports, flags } = invocation;
  const models = createModels(invocation);
  const model = await models.first();
  const folders = chatFolders(invocation);
  const workplace = await createWorkplace(ports.cwd);
  const screen = screenOf(invocation);
  const history = await openHistory(join(folders.workspaceDir, "history"), createRedactor().redactText);
  const interrupts = createInterrupts(() => input.close());
  const input = inputOf(history.entries, {
    onTyped: history.add,
    onTypedAhead: (text) => screen.tell("next", text, 3),
    onInterrupt: interrupts.hit,
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
      onDiagnostic: (diagnostic) => screen.tell("note", problemText(diagnostic, ports.cwd), 4),
    });
    const { agent, skills } = opened;
    close = agent.close;
    if (flags.new === true && agent.messages.length > 0) await agent.startNew();
    screen.print(bannerLines({ agent, folders, invocation, terminal: screen.terminal() }));
    showEarlier(agent.messages, screen);
    await runChat({
      agent,
      screen,
      input,
      interrupts,
      skills,
      models,
      folder: ports.cwd,
      clock: ports.clock,
    });
    screen.working("storing what was said");
    const closing = close();
    close = undefined;
    await closing;
    await history.saved().catch((error: Error) => {
      screen.tell("note", `what was typed is not kept for the next time: ${error.message}`, 3);
    });
    screen.rest();
    return 0;
  } finally {
    input.close();
    // After an error, which is what is told: what was said is stored all the same.
    await close?.().catch(() => undefined);
  }
}

function screenOf({ ports }: Invocation): ChatScreen {
  return createChatScreen({
    isTerminal: ports.stdout.isTerminal,
    terminal: () => createTerminal(ports),
    write: (text) => ports.stdout.write(text),
  });
}

function inputOf(
  history: readonly string[],
  on: Pick<ChatInputOptions, "onTyped" | "onTypedAhead" | "onInterrupt">,
): ChatInput {
  const { stdin, stdout } = process;
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  return createChatInput({ stdin, stdout, isTerminal, history, words: COMMAND_WORDS, ...on });
}
