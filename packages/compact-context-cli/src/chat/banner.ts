import { relative } from "node:path";
import type { Agent } from "compact-context/internal/agent/agent";
import type { Invocation } from "../command.ts";
import { plural } from "../render/numbers.ts";
import { oneLine } from "../render/safe.ts";
import { padEnd, truncate } from "../render/width.ts";
import type { Terminal } from "../terminal.ts";
import { providersWithKey } from "./models.ts";
import type { ChatFolders } from "./open-chat.ts";

export interface BannerOptions {
  readonly agent: Agent;
  readonly folders: ChatFolders;
  readonly invocation: Invocation;
  readonly terminal: Terminal;
}

/** What a chat begins with: who answers, where it works, what it goes on with. */
export function bannerLines({ agent, folders, invocation: { ports }, terminal }: BannerOptions): string[] {
  const { paint, width } = terminal;
  const line = (label: string, text: string): string =>
    `  ${paint("faint", padEnd(label, 9))}${truncate(oneLine(text), width - 11)}`;
  const place = relative(ports.cwd, folders.channelDir);
  return [
    "",
    `  ${paint("strong", "compact chat")}`,
    "",
    ...modelLines(agent, ports.env, line),
    line("folder", ports.cwd),
    line("session", `${sessionWords(agent)}, kept in ${place === "" ? "." : place}`),
    line("help", "/help lists commands · Esc interrupts · Ctrl-D leaves"),
  ];
}

type Line = (label: string, text: string) => string;

/** A script that answers is said to be one. */
function modelLines(agent: Agent, env: Parameters<typeof providersWithKey>[0], line: Line): string[] {
  if (!agent.model.name.startsWith("demo:")) return [line("model", agent.model.name)];
  const [provider] = providersWithKey(env);
  const how =
    provider === undefined
      ? "--model provider/model and its key"
      : `--model ${provider}/MODEL (its key is set)`;
  return [line("model", "none: a script answers, to try things out"), line("", `for a real one: ${how}`)];
}

function sessionWords({ messages }: Agent): string {
  return messages.length === 0 ? "new" : `goes on with ${plural(messages.length, "message")}`;
}
