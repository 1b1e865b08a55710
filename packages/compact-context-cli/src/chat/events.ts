import type { Agent } from "compact-context/agents";
import { agentMessageText } from "compact-context/internal/agent/agent-message";
import {
  type AgentEvent,
  type Diagnostic,
  diagnosticText,
  type TurnEnd,
} from "compact-context/internal/agent/event";
import { USE_SKILL } from "compact-context/internal/agent/skills/skill-session";
import { SUB_AGENT } from "compact-context/internal/agent/sub-agents/run-sub-agent";
import { RECALL_TOOL_NAMES } from "compact-context/internal/core/plan";
import { typedText } from "compact-context/internal/core/units";
import { isFailure } from "compact-context/internal/recall/arguments";
import { inCommandWords } from "../hints.ts";
import { firstWords, formatDuration, plural, safeLines } from "../render/text.ts";
import { compactionWords } from "./lines.ts";
import { ASKED_TOOLS, callWords, resultWords } from "./permissions.ts";
import type { ChatScreen } from "./screen.ts";

type Show<T extends AgentEvent["type"]> = (
  event: Extract<AgentEvent, { readonly type: T }>,
  screen: ChatScreen,
  folder: string,
) => void;

/** Puts what happens on the screen; paths are named from the folder. */
export function showEvent(event: AgentEvent, screen: ChatScreen, folder: string): void {
  (SHOWN[event.type] as Show<AgentEvent["type"]>)(event, screen, folder);
}

const ENDS: Readonly<Record<TurnEnd, string | undefined>> = {
  answered: undefined,
  failed: undefined,
  interrupted: "interrupted; what was said stays",
  refused: "the model declined to answer",
  "request-limit": "stopped: the turn reached its limit of requests; say “go on”",
  "call-limit": "stopped: the turn reached its limit of tool calls; say “go on”",
  "time-limit": "stopped: the turn reached its limit of time; say “go on”",
};

/** Calls that are told where leave is asked for, or by what they begin. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set([...ASKED_TOOLS, SUB_AGENT, USE_SKILL]);

const SHOWN: { readonly [T in AgentEvent["type"]]: Show<T> } = {
  text: ({ text }, screen) => screen.say(text),
  reasoning: () => undefined,
  usage: () => undefined,
  toolStarted: ({ name, arguments: args }, screen) => {
    if (!TOLD_ELSEWHERE.has(name)) screen.tell("tool", callWords(name, args), 4);
  },
  toolFinished: ({ name, output, isError }, screen) => {
    if (isError || (RECALL_TOOL_NAMES.has(name) && isFailure(output)))
      screen.tell("failed", firstWords(output, 400), 4);
    else screen.tell("ok", resultWords(name, output));
  },
  compacted: ({ report }, screen) => screen.tell("compact", compactionWords(report)),
  subAgentStarted: ({ name, task }, screen) =>
    screen.tell("agent", `${name} begins: ${firstWords(task, 200)}`, 3),
  subAgentEnded: ({ name, end, elapsedMs, spent }, screen) => {
    const how = end === "answered" ? "is done" : `ended (${end})`;
    const took = `${formatDuration(elapsedMs)}, ${plural(spent.requests, "request")}`;
    screen.tell("agent", `${name} ${how} after ${took}`);
  },
  recalled: ({ items }, screen) => {
    if (items.length > 0) screen.tell("memory", `recalled ${items.join(" · ")}`, 3);
  },
  skillStarted: ({ name }, screen) => screen.tell("skill", `${name} begins`),
  skillEnded: ({ name }, screen) => screen.tell("skill", `${name} ends`),
  hookRan: ({ skill, event, output, elapsedMs }, screen) =>
    screen.tell("skill", `${skill}, ${event}: ${firstWords(output, 200)}  ${formatDuration(elapsedMs)}`, 3),
  retry: ({ attempt, reason, pauseMs, discarded }, screen) => {
    const lost = discarded === "" ? "" : "; what it had begun to say does not count";
    const when = pauseMs < 1000 ? "asked again" : `asked again in ${formatDuration(pauseMs)}`;
    screen.tell(
      "note",
      `the model failed (${firstWords(reason, 200)})${lost}; ${when}, attempt ${attempt + 1}`,
    );
  },
  warning: ({ diagnostic }, screen, folder) => screen.tell("note", problemText(diagnostic, folder), 4),
  error: ({ diagnostic: { hint, ...what } }, screen, folder) => {
    screen.tell("error", problemText(what, folder), 4);
    if (hint !== undefined) screen.tell("try", inCommandWords(hint), 3);
  },
  ended: ({ end }, screen) => {
    const words = ENDS[end];
    if (words !== undefined) screen.tell("note", words);
    else screen.rest();
  },
};

/** What it means for the chat, where the message itself does not say it. */
const MEANING: Readonly<Record<string, string>> = {
  "session-not-saved": "the session is not stored for now, and goes on in memory",
  "model-failed": "the model failed",
};

/** A diagnostic as a person reads it, with paths relative to the folder. */
export function problemText(diagnostic: Diagnostic, folder: string): string {
  const meaning = MEANING[diagnostic.code];
  const text = inCommandWords(diagnosticText(diagnostic)).replaceAll(`${folder}/`, "");
  return meaning === undefined ? text : `${meaning}: ${text}`;
}

/** Messages of an earlier chat that are shown again. */
const MOST_EARLIER = 6;

/** The end of the conversation that goes on: what was asked, and what was answered. */
export function showEarlier(messages: Agent["messages"], screen: ChatScreen): void {
  const said = messages.flatMap((message) => {
    if (message.role !== "user" && message.role !== "assistant") return [];
    const isAsk = message.role === "user";
    const text = isAsk ? typedText(agentMessageText(message)) : agentMessageText(message);
    return text.trim() === "" ? [] : [{ isAsk, text }];
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
