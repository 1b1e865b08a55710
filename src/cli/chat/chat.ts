import type { Agent } from "../../agents/agent.ts";
import type { AgentModel } from "../../agents/agent-model.ts";
import { diagnosticOf, diagnosticText } from "../../agents/diagnostic.ts";
import type { Skill } from "../../agents/skills/skill.ts";
import { safeLines } from "../render/safe.ts";
import { createCommands } from "./commands.ts";
import { showEvent } from "./events.ts";
import type { ChatInput } from "./input.ts";
import type { ChatScreen } from "./screen.ts";
import { statusText } from "./status.ts";

/** What one chat is made of. */
export interface Chat {
  readonly agent: Agent;
  readonly screen: ChatScreen;
  readonly input: ChatInput;
  readonly interrupts: Interrupts;
  readonly skills: readonly Skill[];
  /** The working folder, which paths are named from. */
  readonly folder: string;
  /** The model of a name such as `openai/gpt-5.4`. */
  modelNamed(name: string): Promise<AgentModel>;
  /** Milliseconds of a steady clock. */
  clock(): number;
}

/** Ctrl-C, from wherever it comes. */
export interface Interrupts {
  /** Aborted by the next Ctrl-C until `stop` is called. */
  begin(): { readonly signal: AbortSignal; stop(): void };
  /** A Ctrl-C that interrupts no turn; true when it is the second one, and the chat should end. */
  onIdle: (typed: string) => void;
  /** To be called at each Ctrl-C. */
  hit(typed: string): void;
}

export function createInterrupts(leave: () => void): Interrupts {
  let current: AbortController | undefined;
  const interrupts: Interrupts = {
    begin() {
      const controller = new AbortController();
      current = controller;
      return {
        signal: controller.signal,
        stop: () => {
          if (current === controller) current = undefined;
        },
      };
    },
    onIdle: () => undefined,
    hit(typed) {
      if (current === undefined) interrupts.onIdle(typed);
      else if (current.signal.aborted) leave();
      else current.abort(new Error("interrupted"));
    },
  };
  return interrupts;
}

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
  const text = statusText({ model: agent.model.name, contextTokens: tokens, window, spent: agent.spent });
  screen.print(["", paint("faint", `  ${text}`.slice(0, width))]);
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
    if (!input.isAsking())
      screen.working(signal.aborted ? "stopping" : `working, ${seconds} s · Ctrl-C interrupts`);
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
