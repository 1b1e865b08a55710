import { join } from "node:path";
import { createRedactor } from "../../redaction/redactor.ts";
import { bannerLines } from "../chat/banner.ts";
import { runChat } from "../chat/chat.ts";
import { COMMAND_WORDS } from "../chat/commands.ts";
import { createModels } from "../chat/find-model.ts";
import { openHistory } from "../chat/history.ts";
import { type ChatInput, createChatInput } from "../chat/input.ts";
import { createInterrupts } from "../chat/interrupts.ts";
import { chatFolders, openChat } from "../chat/open-chat.ts";
import { createPermissions } from "../chat/permissions.ts";
import { problemText } from "../chat/problem-text.ts";
import { type ChatScreen, createChatScreen } from "../chat/screen.ts";
import { createWorkplace } from "../chat/workplace.ts";
import type { Command, Invocation } from "../command.ts";
import { createTerminal } from "../terminal.ts";

export const chatCommand: Command = {
  usage: "",
  summary:
    "an agent for the terminal whose context never overflows; it reads, writes and runs with your leave",
  flags: ["model", "base-url", "window", "new", "channel", "workspace", "config", "archive"],
  notes: [
    "--model provider/model uses the AI SDK's package of that provider, with the key of the environment. Without a model a script answers, to try things out.",
    "The session of this folder goes on where it was left, also after a crash; --new begins another. All of it lies in .compact/agent.",
    "docs/chat.md has the commands, the files and the limits.",
  ],
  mostWords: 0,
  run: async (invocation) => {
    const { ports, flags } = invocation;
    const models = createModels(invocation);
    const model = await models.first();
    const folders = chatFolders(invocation);
    const workplace = await createWorkplace(ports.cwd);
    const screen = screenOf(invocation);
    const history = await openHistory(join(folders.workspaceDir, "history"), createRedactor().redactText);
    let leave = (): void => undefined;
    const interrupts = createInterrupts(() => leave());
    const input = inputOf(history.entries, { onTyped: history.add, onInterrupt: interrupts.hit });
    const permissions = createPermissions({ input, screen, workplace });
    leave = () => input.close();
    try {
      const { agent, skills, close } = await openChat({
        ...{ invocation, folders, workplace, model, models, permissions },
        onDiagnostic: (diagnostic) => screen.tell("note", problemText(diagnostic, ports.cwd), 4),
      });
      if (flags.new === true && agent.messages.length > 0) await agent.startNew();
      screen.print(bannerLines({ agent, folders, invocation, terminal: screen.terminal() }));
      const modelNamed = models.named;
      await runChat({
        ...{ agent, screen, input, interrupts, skills, modelNamed, folder: ports.cwd, clock: ports.clock },
      });
      screen.working("storing what was said");
      await close();
      screen.rest();
      return 0;
    } finally {
      input.close();
    }
  },
};

function screenOf({ ports }: Invocation): ChatScreen {
  return createChatScreen({
    isTerminal: ports.stdout.isTerminal,
    terminal: () => createTerminal(ports),
    write: (text) => ports.stdout.write(text),
  });
}

function inputOf(
  history: readonly string[],
  on: { onTyped(text: string): void; onInterrupt(typed: string): void },
): ChatInput {
  const { stdin, stdout } = process;
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  return createChatInput({ stdin, stdout, isTerminal, history, words: COMMAND_WORDS, ...on });
}
