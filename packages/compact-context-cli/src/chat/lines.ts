import { relative } from "node:path";
import type { Agent } from "compact-context/agents";
import { agentMessageText } from "compact-context/internal/agent/agent-message";
import type { ContextLayer, ContextView, MemoryView } from "compact-context/internal/agent/context-view";
import {
  type AgentEvent,
  type Diagnostic,
  diagnosticText,
  type Spent,
  type TurnEnd,
} from "compact-context/internal/agent/event";
import { USE_SKILL } from "compact-context/internal/agent/skills";
import { SUB_AGENT } from "compact-context/internal/agent/turn-ports";
import { RECALL_TOOL_NAMES } from "compact-context/internal/core/plan";
import type { CompactionReport } from "compact-context/internal/core/report";
import { typedText } from "compact-context/internal/core/units";
import { isFailure } from "compact-context/internal/recall/arguments";
import { inCommandWords } from "../hints.ts";
import type { CliPorts, Terminal } from "../ports.ts";
import { bar, labelled, type Row, type Style, table } from "../render/table.ts";
import {
  firstWords,
  formatCount,
  formatDuration,
  formatPercent,
  formatShort,
  oneLine,
  padEnd,
  plural,
  safeLines,
  wrap,
} from "../render/text.ts";
import { LAYER_LABELS } from "../sessions/inspection.ts";
import { isDemo } from "./demo-model.ts";
import { providersWithKey } from "./models.ts";
import { callText, GUARDED_TOOLS, resultText } from "./permissions.ts";
import type { ChatScreen } from "./screen.ts";

/** The first lines of a chat: model, folder, session, help. */
export function bannerLines(
  agent: Agent,
  channelDir: string,
  { cwd, env }: Pick<CliPorts, "cwd" | "env">,
  terminal: Terminal,
): string[] {
  const line: Line = (label, text) => labelled(label, oneLine(text), 9, terminal);
  const place = relative(cwd, channelDir);
  const { length } = agent.messages;
  const session = length === 0 ? "new" : `goes on with ${plural(length, "message")}`;
  return [
    "",
    `  ${terminal.paint("strong", "compact chat")}`,
    "",
    ...modelLines(agent, env, line),
    ...line("folder", cwd),
    ...line("session", `${session}, kept in ${place === "" ? "." : place}`),
    ...line("help", "/help lists commands · Esc interrupts · Ctrl-D leaves"),
  ];
}

type Line = (label: string, text: string) => string[];

function modelLines(agent: Agent, env: CliPorts["env"], line: Line): string[] {
  if (!isDemo(agent.model)) return line("model", agent.model.name);
  const [provider] = providersWithKey(env);
  const how =
    provider === undefined
      ? "--model provider/model and its key"
      : `--model ${provider}/MODEL (its key is set)`;
  return [
    ...line("model", "none: a script answers, to try things out"),
    ...line("", `for a real one: ${how}`),
  ];
}

const LABELS: Readonly<Record<ContextLayer["name"], string>> = {
  system: "system prompt",
  tools: "tools",
  ...LAYER_LABELS,
};

const LABEL = 15;

/** The output of `/context`: fill level by layer, next compaction, pinned and recalled content. */
export function contextLines(view: ContextView, terminal: Terminal): string[] {
  const { tokens, window, layers, recalled } = view;
  const cells = Math.max(10, Math.min(40, terminal.width - 49));
  const row = (label: string, size: number, more: Row): Row => [
    label,
    formatCount(size),
    { text: formatPercent(size, window), style: "faint" },
    ...more,
  ];
  const layerRow = (layer: ContextLayer): Row => {
    const style: Style = layer.name === "system" || layer.name === "tools" ? "faint" : layer.name;
    const drawn = padEnd(bar(layer.tokens, window, cells), cells);
    return row(LABELS[layer.name], layer.tokens, [
      { text: drawn, style },
      { text: messagesOf(layer), style: "faint" },
    ]);
  };
  const line: Line = (label, text) => labelled(label, oneLine(text), LABEL, terminal);
  return [
    `  ${terminal.paint("strong", padEnd("Context", LABEL))}${formatCount(tokens)} of ${formatCount(window)} tokens, ${formatPercent(tokens, window)}`,
    "",
    ...table(
      [...layers.map(layerRow), row("free", Math.max(0, window - tokens), [])],
      ["left", "right", "right", "left", "left"],
      terminal,
    ),
    "",
    ...line("compaction", triggerText(view)),
    ...line("so far", compactionsText(view)),
    ...line("pinned", ["the system prompt", ...view.pinned.map((text) => firstWords(text, 60))].join("; ")),
    ...line("recalled", recalled.length === 0 ? "nothing for the newest message" : recalled.join(" · ")),
  ];
}

function messagesOf({ name, messages }: ContextLayer): string {
  if (messages === 0 || name === "system") return "";
  return name === "tools" ? plural(messages, "tool") : plural(messages, "message");
}

function triggerText({ trigger, untilTrigger }: ContextView): string {
  if (untilTrigger === 0) return `due with the next message (trigger ${formatCount(trigger)})`;
  return `starts at ${formatCount(trigger)} tokens: ${formatCount(untilTrigger)} to go`;
}

function compactionsText({ compactions, lastCompaction, archiveSteps }: ContextView): string {
  if (compactions === 0) return "nothing was compacted";
  const when =
    lastCompaction === undefined ? "" : `, the last ${lastCompaction.slice(0, 16).replace("T", " ")} UTC`;
  return `${plural(compactions, "compaction")}${when}; ${plural(archiveSteps, "archive step")}`;
}

const MAX_LINES = 40;

/** The non-empty sections of a page. */
function filledSections(page: string): string {
  const sections = page.replace(/<!--[\s\S]*?-->/g, "").split(/^(?=# )/m);
  const filled = sections.filter((section) => section.replace(/^# .*/, "").trim() !== "");
  return filled.map((section) => section.trim()).join("\n\n");
}

/** The output of `/memory`: the files and the session notes, or the results for a question. */
export function memoryLines(
  view: MemoryView,
  question: string,
  folder: string,
  terminal: Terminal,
): string[] {
  const { paint, width } = terminal;
  if (!view.enabled) return ["  This chat keeps no memory."];
  const laid = (text: string): string[] =>
    safeLines(text.trim())
      .flatMap((line) => wrap(line, width - 6))
      .map((line) => `    ${line}`.trimEnd());
  if (view.found.length > 0) {
    return view.found.flatMap(({ title, source, path, content }, index) => [
      ...(index === 0 ? [] : [""]),
      `  ${paint("strong", oneLine(title || source))}  ${paint("faint", oneLine(relative(folder, path) || path))}`,
      ...laid(content),
    ]);
  }
  if (question !== "") return ["  Nothing in the memory answers this; /memory alone shows all of it."];
  const files = view.files.map(
    ({ path, characters }) =>
      `  ${padEnd(oneLine(relative(folder, path) || path), 40)} ${paint("faint", `${formatCount(characters)} characters`)}`,
  );
  const session = laid(filledSections(view.session));
  const left = session.length - MAX_LINES;
  return [
    ...(files.length === 0 ? ["  The memory is empty."] : files),
    "",
    ...session.slice(0, MAX_LINES),
    ...(left > 0 ? [`    (${left} lines more)`] : []),
  ];
}

/** A compaction in one line: sizes, and what was kept. */
export function compactionText(report: CompactionReport): string {
  const { prunedCount, clearedCount, layers, reason } = report;
  const [before, after] = countedSizes(report);
  const size = `${formatCount(before)} → ${formatCount(after)} tokens`;
  if (reason === "tool_output") return `${size}: long tool output shortened, the whole is archived`;
  const { pinned, recent, toolPairs, remainder } = layers.after;
  const kept = pinned.messages + recent.messages + toolPairs.messages + remainder.messages;
  const cleared = clearedCount === 0 ? "" : `, ${plural(clearedCount, "tool result")} emptied`;
  return `${size}: ${formatCount(prunedCount)} summarized${cleared}, ${formatCount(kept)} kept, all archived`;
}

/** Sizes counted as in the status line; those of the report are corrected by the provider's usage. */
function countedSizes({ plan, layers, tokensBefore, tokensAfter }: CompactionReport): [number, number] {
  if (plan === undefined) return [tokensBefore, tokensAfter];
  const sum = (sizes: CompactionReport["layers"]["before"]): number =>
    Object.values(sizes).reduce((total, { tokens }) => total + tokens, 0);
  return [plan.tokensBefore, plan.tokensBefore - sum(layers.before) + sum(layers.after)];
}

/** The status above the prompt: context, tokens used, cost, model. */
export function statusLines(agent: Pick<Agent, "model" | "context" | "spent">, width: number): string[] {
  const { model, spent } = agent;
  const { tokens, window } = agent.context();
  const context = `context ${formatCount(tokens)} of ${formatShort(window)} (${formatPercent(tokens, window)})`;
  const cached = spent.cachedTokens === 0 ? "" : `, ${formatShort(spent.cachedTokens)} cached`;
  const used = `${formatShort(spent.inputTokens)} in${cached}, ${formatShort(spent.outputTokens)} out`;
  const parts = [context, used, isDemo(model) ? "no cost" : costText(spent), oneLine(model.name)];
  // Non-breaking spaces keep each part on one line.
  return wrap(parts.map((part) => part.replaceAll(" ", "\u00a0")).join("\u00a0· "), width - 2).map(
    (line) => `  ${line.replaceAll("\u00a0", " ")}`,
  );
}

export function costText({ dollars, requests }: Spent): string {
  if (requests === 0) return "$0";
  if (dollars === undefined) return "cost unknown";
  return dollars === 0 ? "$0" : `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
}

type Show<T extends AgentEvent["type"]> = (
  event: Extract<AgentEvent, { readonly type: T }>,
  screen: ChatScreen,
  folder: string,
) => void;

/** Shows an event on the screen, with paths relative to `folder`. */
export function showEvent(event: AgentEvent, screen: ChatScreen, folder: string): void {
  (RENDERERS[event.type] as Show<AgentEvent["type"]>)(event, screen, folder);
}

/** Undefined where the screen already shows why: the answer, or the error before it. */
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
