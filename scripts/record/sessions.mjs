// The lists that are recorded: session files read once, and written in every format that is asked for.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { PATHS } from "./library.mjs";
import { hash } from "./measure.mjs";

export const FORMATS = [
  "openai-chat",
  "openai-responses",
  "openai-agents",
  "anthropic",
  "gemini",
  "ai-sdk",
  "langchain",
  "pi",
];

/** The list format nearest to what a tool keeps, where its file holds none. */
const NEAREST = {
  aider: "openai-chat",
  "swe-agent": "openai-chat",
  "gemini-cli": "gemini",
  moatless: "anthropic",
  opencode: "ai-sdk",
  "who-and-when": "langchain",
};

/** Tokens of a session at most, and of one that is written in a format that is not its own. */
const MOST_TOKENS = 300_000;
const MOST_TOKENS_OTHER = 40_000;
/** One session in so many is written in all other formats too. */
const IN_ALL_FORMATS = 3;

/** Every list to be recorded, small ones first; `list()` makes it when it is needed. */
export async function readSessions(library, folder) {
  const seen = new Set();
  const sessions = [];
  for (const source of sourcesIn(folder)) {
    const text = readFileSync(source.file, "utf8");
    const content = hash(text);
    if (seen.has(content)) continue;
    seen.add(content);
    sessions.push(...listsOf(await readSession({ ...source, text }, library), library));
  }
  return sessions;
}

function sourcesIn(folder) {
  return [
    { file: PATHS.demo, name: "demo", kind: "session" },
    ...filesOf(PATHS.fixtures).map((file) => ({
      file,
      name: `fixture/${basename(file, ".json")}`,
      kind: "fixture",
    })),
    ...filesOf(join(folder, "repro/dead-sessions")).map((file) => ({
      file,
      name: `dead/${basename(file, ".json")}`,
      kind: "small",
    })),
    ...["transcripts", "compactions"].flatMap((part) =>
      foldersOf(join(folder, part)).flatMap((corpus) =>
        filesOf(corpus).map((file) => ({
          file,
          name: `${part}/${basename(corpus)}/${hash(basename(file), 6)}`,
          kind: "session",
        })),
      ),
    ),
  ].filter(({ file }) => existsSync(file));
}

function filesOf(folder) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name !== "SOURCE.txt");
  return names
    .sort()
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
}

function foldersOf(folder) {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder).map((name) => join(folder, name));
  return paths.sort().filter((path) => statSync(path).isDirectory());
}

async function readSession({ name, kind, text }, library) {
  if (kind === "fixture") return { name, kind, ...JSON.parse(text) };
  try {
    const transcript = await library.readTranscript(text, { name });
    const { list: format, system, tools, model } = transcript;
    const number = longest(transcript.segments);
    return {
      name,
      kind,
      messages: transcript.segments[number].messages,
      usage: transcript.usage.filter((record) => record.segment === number),
      nearest: NEAREST[transcript.format],
      options: given({ format, system, tools, model }),
    };
  } catch (error) {
    if (kind !== "small") throw error;
    return { name, kind, list: JSON.parse(text), options: {} };
  }
}

/** A session that was compacted by its own tool: the longest stretch of it. */
function longest(segments) {
  const lengths = segments.map(({ messages }) => messages.length);
  return lengths.indexOf(Math.max(...lengths));
}

/** What is not undefined. */
export function given(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function listsOf(session, library) {
  const { name, kind, messages, options, nearest } = session;
  const usage = session.usage ?? [];
  if (messages === undefined) {
    const format = options.format ?? "unknown";
    return [{ name, kind, format, own: true, usage, options, list: once(() => session.list) }];
  }
  const own = options.format ?? nearest;
  const { format: _format, model: _model, ...beside } = options;
  const write = (format, most) =>
    once(() => written({ messages: cut(messages, most, library), format }, library));
  const lists = [];
  if (options.format === undefined) {
    lists.push({
      name,
      kind,
      format: "neutral",
      own: true,
      usage,
      options,
      list: once(() => bare(cut(messages, MOST_TOKENS, library))),
    });
  }
  lists.push({
    name,
    kind,
    format: own,
    own: true,
    usage,
    options: { ...options, format: own },
    list: write(own, MOST_TOKENS),
  });
  if (Number.parseInt(hash(name, 6), 16) % IN_ALL_FORMATS === 0) {
    for (const format of FORMATS.filter((one) => one !== own)) {
      const list = write(format, MOST_TOKENS_OTHER);
      lists.push({ name, kind, format, own: false, usage: [], options: { ...beside, format }, list });
    }
  }
  return lists;
}

/** The list that was made last: runs of one session follow each other, and all lists at once would fill the memory. */
const newest = { make: undefined, list: undefined };

function once(make) {
  return () => {
    if (newest.make !== make) Object.assign(newest, { make, list: make() });
    return newest.list;
  };
}

/** As many of the first messages as fit, never fewer than two. */
function cut(messages, most, library) {
  let tokens = 0;
  let end = 0;
  for (; end < messages.length && (tokens <= most || end < 2); end += 1) {
    tokens += library.prepare.countTokens([messages[end]]).tokens;
  }
  return messages.slice(0, end);
}

function bare(messages) {
  return messages.map(({ id, role, parts, meta }) => given({ id, role, parts, meta }));
}

/** The native list; messages of LangChain that were none before get ids, as a graph gives them. */
function written({ messages, format }, library) {
  const list = library.prepare.encode(messages, format);
  if (format !== "langchain" || messages.every((message) => message.format === format)) return list;
  return list.map((message, index) => ({ ...message, id: `m${index}` }));
}
