import type { Agent } from "compact-context/agents";
import { agentMessageText } from "compact-context/internal/agent/agent-message";
import {
  type AgentEvent,
  type Diagnostic,
  diagnosticText,
  type TurnEnd,
} from "compact-context/internal/agent/event";
import { USE_SKILL } from "compact-context/internal/agent/skills";
import { SUB_AGENT } from "compact-context/internal/agent/turn-ports";
import { RECALL_TOOL_NAMES } from "compact-context/internal/core/plan";
import { typedText } from "compact-context/internal/core/units";
import { isFailure } from "compact-context/internal/recall/arguments";
import { inCommandWords } from "../hints.ts";
import { firstWords, formatDuration, plural, safeLines } from "../render/text.ts";
import { compactionText } from "./lines.ts";
import { callText, GUARDED_TOOLS, resultText } from "./permissions.ts";
import type { ChatScreen } from "./screen.ts";

type Show<T extends AgentEvent["type"]> = (
  event: Extract<AgentEvent, { readonly type: T }>,
  screen: ChatScreen,
  folder: string,
) => void;

/** Shows an event on the screen, with paths relative to `folder`. */
export function showEvent(event: AgentEvent, screen: ChatScreen, folder: string): void {
  (RENDERERS[event.type] as Show<AgentEvent["type"]>)(event, screen, folder);
}

const END_NOTES: Readonly<Record<TurnEnd, string | undefined>> = {
  answered: undefined,
  failed: undefined,
  interrupted: "interrupted; the conversation is kept",
  refused: "the model declined to answer",
  "request-limit": "stopped: the turn reached its limit of requests; say “go on”",
  "call-limit": "stopped: the turn reached its limit of tool calls; say “go on”",
  "time-limit": "stopped: the turn reached its limit of time; say “go on”",
};

/** Calls that are shown with their permission prompt, or by an event of their own. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([...GUARDED_TOOLS, SUB_AGENT, USE_SKILL]);

const RENDERERS: { readonly [T in AgentEvent["type"]]: Show<T> } = {
  text: ({ text }, screen) => screen.stream(text),
  reasoning: () => undefined,
  usage: () => undefined,
  toolStarted: ({ name, arguments: args }, screen) => {
    if (!SHOWN_ELSEWHERE.has(name)) screen.notify("tool", callText(name, args), 4);
  },
  toolFinished: ({ name, output, isError }, screen) => {
    if (isError || (RECALL_TOOL_NAMES.has(name) && isFailure(output)))
      screen.notify("failed", firstWords(output, 400), 4);
    else screen.notify("ok", resultText(name, output));
  },
  compacted: ({ report }, screen) => screen.notify("compact", compactionText(report)),
  subAgentStarted: ({ name, task }, screen) =>
    screen.notify("agent", `${name} starts: ${firstWords(task, 200)}`, 3),
  subAgentEnded: ({ name, end, elapsedMs, spent }, screen) => {
    const how = end === "answered" ? "is done" : `ended (${end})`;
    const took = `${formatDuration(elapsedMs)}, ${plural(spent.requests, "request")}`;
    screen.notify("agent", `${name} ${how} after ${took}`);
  },
  recalled: ({ items }, screen) => {
    if (items.length > 0) screen.notify("memory", `recalled ${items.join(" · ")}`, 3);
  },
  skillStarted: ({ name }, screen) => screen.notify("skill", `${name} starts`),
  skillEnded: ({ name }, screen) => screen.notify("skill", `${name} ends`),
  hookRan: ({ skill, event, output, elapsedMs }, screen) =>
    screen.notify("skill", `${skill}, ${event}: ${firstWords(output, 200)}  ${formatDuration(elapsedMs)}`, 3),
  retry: ({ attempt, reason, pauseMs, discarded }, screen) => {
    const lost = discarded === "" ? "" : "; its partial answer is discarded";
    const when = pauseMs < 1000 ? "retrying" : `retrying in ${formatDuration(pauseMs)}`;
    screen.notify(
      "note",
      `the model failed (${firstWords(reason, 200)})${lost}; ${when}, attempt ${attempt + 1}`,
    );
  },
  warning: ({ diagnostic }, screen, folder) => screen.notify("note", problemText(diagnostic, folder), 4),
  error: ({ diagnostic: { hint, ...what } }, screen, folder) => {
    screen.notify("error", problemText(what, folder), 4);
    if (hint !== undefined) screen.notify("try", inCommandWords(hint), 3);
  },
  ended: ({ end }, screen) => {
    const note = END_NOTES[end];
    if (note !== undefined) screen.notify("note", note);
    else screen.endLine();
  },
};

/** The effect on the chat of a diagnostic whose message does not name it. */
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
const MAX_EARLIER = 6;

/** Shows the last user messages and answers of a resumed conversation. */
export function showEarlier(messages: Agent["messages"], screen: ChatScreen): void {
  const spoken = messages.flatMap((message) => {
    if (message.role !== "user" && message.role !== "assistant") return [];
    const isUser = message.role === "user";
    const text = isUser ? typedText(agentMessageText(message)) : agentMessageText(message);
    return text.trim() === "" ? [] : [{ isUser, text }];
  });
  const shown = spoken.slice(-MAX_EARLIER);
  if (shown.length < spoken.length)
    screen.notify("note", `${spoken.length - shown.length} earlier messages are not shown`);
  for (const { isUser, text } of shown) {
    if (isUser) screen.print(["", ...safeLines(`› ${text.slice(0, 2000)}`), ""]);
    else screen.stream(text.slice(0, 4000));
    screen.endLine();
  }
}
