import { join } from "node:path";
import type { Agent } from "compact-context/internal/agent/agent";
import { createRedactor } from "compact-context/redaction";
import type { Invocation } from "../command.ts";
import { safeLines } from "../render/safe.ts";
import { createTerminal } from "../terminal.ts";
import { bannerLines } from "./banner.ts";
import { runChat } from "./chat.ts";
import { COMMAND_WORDS } from "./commands.ts";
import { createModels } from "./find-model.ts";
import { openHistory } from "./history.ts";
import { type ChatInput, type ChatInputOptions, createChatInput } from "./input.ts";
import { createInterrupts } from "./interrupts.ts";
import { chatFolders, openChat } from "./open-chat.ts";
import { createPermissions } from "./permissions.ts";
import { problemText } from "./problem-text.ts";
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
    const modelNamed = models.named;
    await runChat({
      agent,
      screen,
      input,
      interrupts,
      skills,
      modelNamed,
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

/** Messages of an earlier chat that are shown again. */
const MOST_EARLIER = 6;

/** The end of the conversation that goes on: what was asked, and what was answered. */
function showEarlier(messages: Agent["messages"], screen: ChatScreen): void {
  const said = messages.flatMap(({ role, content }) => {
    if (role !== "user" && role !== "assistant") return [];
    const text =
      typeof content === "string"
        ? content
        : content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return text.trim() === "" ? [] : [{ isAsk: role === "user", text }];
  });
  const shown = said.slice(-MOST_EARLIER);
  if (shown.length < said.length)
    screen.tell("note", `${said.length - shown.length} earlier messages are not shown`);
  for (const { isAsk, text } of shown) {
    if (isAsk) screen.print(["", ...safeLines(`› ${text.slice(0, 2000)}`), ""]);
    else screen.say(text.slice(0, 4000));
    screen.rest();
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
