import { diagnosticOf, diagnosticText } from "compact-context/internal/agent/diagnostic";
import { oneLine, safeLines } from "../render/safe.ts";
import type { Chat } from "./commands.ts";
import { createCommands } from "./commands.ts";
import { showEvent } from "./events.ts";
import type { Interrupts } from "./input.ts";
import { statusLines } from "./lines.ts";

const PROMPT = "› ";
const TICK_MS = 500;

/** Reads, answers and carries out commands until the input ends or somebody leaves. */
export async function runChat(chat: Chat): Promise<void> {
  const { screen, input } = chat;
  const commands = createCommands(chat, (work) => working(chat, work));
  chat.interrupts.onIdle = idleInterrupts(chat);
  for (;;) {
    if (input.isTerminal) showStatus(chat);
    const text = await input.next(screen.terminal().paint("strong", PROMPT));
    if (text === undefined) return;
    if (text.trim() === "") continue;
    screen.print(input.isTerminal ? [""] : ["", ...safeLines(`${PROMPT}${text}`), ""]);
    await (COMMAND.test(text) ? commands.run(text) : takeTurn(chat, text));
  }
}

const AGAIN_MS = 3_000;

/** At the prompt: the first takes away what was typed, the second, soon after, leaves. */
function idleInterrupts({ screen, input, clock }: Chat): Interrupts["onIdle"] {
  let last = Number.NEGATIVE_INFINITY;
  return (typed) => {
    if (typed !== "") return;
    const now = clock();
    if (now - last < AGAIN_MS) input.close();
    else screen.print(["", screen.terminal().paint("faint", "  Ctrl-C again leaves")]);
    last = now;
  };
}

/** One line that begins with a slash. */
const COMMAND = /^\/.*$/;

function showStatus({ agent, screen }: Chat): void {
  const { paint, width } = screen.terminal();
  const { tokens, window } = agent.context();
  const status = { model: agent.model.name, contextTokens: tokens, window, spent: agent.spent };
  screen.print(["", ...statusLines(status, width).map((line) => paint("faint", line))]);
}

async function takeTurn(chat: Chat, text: string): Promise<void> {
  const { agent, screen } = chat;
  try {
    await working(chat, async (signal) => {
      for await (const event of agent.send(text, { signal })) showEvent(event, screen, chat.folder);
    });
  } catch (error) {
    screen.tell("error", diagnosticText(diagnosticOf(error)), 4);
  }
}

/** Work that Ctrl-C interrupts, with a passing line while nothing else is said; what it throws is told. */
async function working(chat: Chat, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { screen, interrupts, input, clock } = chat;
  const started = clock();
  const { signal, stop } = interrupts.begin();
  const timer = setInterval(() => {
    const seconds = Math.round((clock() - started) / 1000);
    if (input.isAsking()) return;
    const typed = input.typed() === "" ? "" : ` · next: ${oneLine(input.typed())}`;
    screen.working(`${signal.aborted ? "stopping" : `working, ${seconds} s · Esc interrupts`}${typed}`);
  }, TICK_MS);
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    screen.tell("note", "interrupted");
  } finally {
    clearInterval(timer);
    stop();
    screen.rest();
  }
}
