import { argumentsText } from "../../core/message.ts";
import type { Conversation } from "./conversation.ts";
import type { Evidence } from "./evidence.ts";

/** Names that were worked with, one list a label, the most telling first. */
export interface IdentifierList {
  readonly label: string;
  readonly names: readonly string[];
}

const BRANCH =
  /\bgit (?:checkout|switch)(?: -[bBcC])? ([\w][\w./-]{1,80})|\b[Oo]n branch ([\w][\w./-]{1,80})|\bgit push (?:-u )?\w{1,40} ([\w][\w./-]{1,80})/g;
const VARIABLE = /\b([A-Z][A-Z0-9]{1,40}_[A-Z0-9_]{1,60})=|\$\{?([A-Z][A-Z0-9]{1,40}_[A-Z0-9_]{1,60})/g;
const HOST = /\b((?:localhost|(?:\d{1,3}\.){3}\d{1,3}|[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}):\d{2,5})\b/g;
const READ = 4000;
const MOST = 12;

/** Branches, hosts with ports, environment variables, and the URLs, ids and tickets that somebody wrote (not only tools). */
export function workedWith(
  conversation: Conversation,
  facts: readonly Evidence[],
  earlier: readonly string[],
): IdentifierList[] {
  const texts = [
    ...conversation.calls.map((call) => argumentsText(call.part).slice(0, READ)),
    ...conversation.requests.map((request) => request.text.slice(0, READ)),
  ].reverse();
  const outputs = conversation.calls.map((call) => call.result?.text.slice(0, 300) ?? "").reverse();
  const lists = [
    { label: "branches", names: matches([...texts, ...outputs], BRANCH) },
    { label: "urls", names: written(facts, ["url"]) },
    { label: "ids", names: written(facts, ["uuid", "hash", "ticket"]) },
    { label: "hosts", names: matches(texts, HOST).filter((host) => !FILE_LINE.test(host)) },
    { label: "env", names: matches(texts, VARIABLE) },
  ];
  return lists
    .map(({ label, names }) => ({ label, names: [...new Set([...names, ...earlierNames(label, earlier)])] }))
    .filter(({ names }) => names.length > 0);
}

// `main.go:120` looks like a host with a port.
const FILE_LINE =
  /\.(?:[cm]?[jt]sx?|go|py|rs|java|rb|md|json|ya?ml|toml|sh|css|html|c|h|cpp|txt|log|php|kt|swift):/;

function matches(texts: readonly string[], pattern: RegExp): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (const match of text.matchAll(pattern)) {
      const name = match.slice(1).find((group) => group !== undefined);
      if (name !== undefined && found.size < MOST) found.add(name);
    }
  }
  return [...found];
}

function written(facts: readonly Evidence[], kinds: readonly string[]): string[] {
  return facts
    .filter((fact) => kinds.includes(fact.kind))
    .filter((fact) => fact.saidByUser || fact.saidFirstByAssistant || fact.calls > 0)
    .sort((left, right) => right.likely - left.likely)
    .slice(0, MOST)
    .map((fact) => fact.key);
}

function earlierNames(label: string, earlier: readonly string[]): string[] {
  const line = earlier.find((item) => item.startsWith(`${label}: `));
  return line === undefined ? [] : line.slice(label.length + 2).split(", ");
}
