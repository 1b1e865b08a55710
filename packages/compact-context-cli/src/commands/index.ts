import type { Command } from "../flags.ts";
import { type FlagName, RESULT_FLAGS } from "../flags.ts";

const ARCHIVE_NOTE =
  "The archive is --archive, else the one of the settings, else .compact/archive of this project where there is a .compact folder, else the user's own data folder.";

const storage: Command = {
  name: "storage",
  summary: "what the storage of the settings needs",
  examples: ["compact storage ddl compact_app | psql"],
  actions: [
    {
      name: "ddl",
      summary: "the SQL that makes the tables of Postgres, for programs that may create none",
      words: "[role] [version]",
      flags: ["config"],
      notes: [
        "Run it as somebody who may create the schema, which storage.schema names. With the name of a role it also grants that role what the programs need, and with the version that the tables have (select max(version) from compact.migrations) it leads on from there.",
      ],
      examples: ["compact storage ddl compact_app | psql", "compact storage ddl compact_app 2"],
      load: async () => (await import("./config.ts")).printDdl,
    },
  ],
};

const archive: Command = {
  name: "archive",
  summary: "the originals of what was compacted: list, read, search, restore, delete",
  notes: [ARCHIVE_NOTE],
  examples: [
    "compact archive",
    'compact archive search "port 5433"',
    "compact archive restore -o session.json",
  ],
  actions: [
    {
      name: "list",
      isDefault: true,
      summary: "the archived sessions with their steps, sizes and first words",
      flags: ["config", "archive", "tenant", "user", "json"],
      flagHelp: { user: "the sessions of this user" },
      examples: ["compact archive list", "compact archive list --tenant acme"],
      load: async () => (await import("./archive.ts")).listArchive,
    },
    {
      name: "show",
      words: "[session] [step]",
      summary: "the messages of a step, or one message whole",
      flags: ["config", "archive", "json"],
      notes: [
        "In place of a step the id of one message. Without a session the only one there is; without a step the newest.",
      ],
      examples: [
        "compact archive show",
        "compact archive show SESSION 2",
        "compact archive show SESSION k3v9d0q2ma",
      ],
      load: async () => (await import("./archive.ts")).showArchived,
    },
    {
      name: "search",
      words: "<text> [session]",
      summary: "messages that hold these words, the best first",
      flags: ["config", "archive", "json"],
      notes: ['Whole words count; "words in double quotes" must stand there as they are.'],
      examples: ['compact archive search "port 5433"', "compact archive search 'migration failed' SESSION"],
      load: async () => (await import("./archive.ts")).searchArchive,
    },
    {
      name: "restore",
      words: "[session] [step]",
      summary: "writes the messages of a session up to a step, as a JSON list in their provider's format",
      flags: ["config", "archive", "output", "force", "json"],
      notes: ["Without a step the newest."],
      examples: [
        "compact archive restore -o session.json",
        "compact archive restore SESSION 1 -o first.json",
      ],
      load: async () => (await import("./archive.ts")).restoreArchived,
    },
    {
      name: "undo",
      words: "<session>",
      summary: "takes the newest compaction of a program's session back",
      flags: ["config", "archive"],
      notes: [
        "For sessions of a CompactManager whose state lies beside the archive: its next call with the whole list gets it as it was before, and compacts it again only over the budget or once it has grown. The archive stays as it is.",
      ],
      examples: ["compact archive undo SESSION"],
      load: async () => (await import("./archive.ts")).undoCompaction,
    },
    {
      name: "delete",
      words: "[session]",
      summary: "deletes a session, or all of a tenant or a user, for good",
      flags: ["config", "archive", "tenant", "user", "yes", "json"],
      flagHelp: { user: "the sessions of this user" },
      notes: [
        "Transcripts, summaries, events, state, search index and queued work go. For 30 days nothing is stored under the same id: compact refuses the same file, unless --archive names another folder.",
        "A session of a tenant or user is named with --tenant and --user beside it.",
      ],
      examples: [
        "compact archive delete SESSION --yes",
        "compact archive delete --tenant acme --user max --yes",
      ],
      load: async () => (await import("./archive.ts")).deleteArchived,
    },
    {
      name: "sweep",
      summary: "deletes the sessions that have expired",
      flags: ["config", "archive", "days", "max-bytes", "dry-run", "json"],
      flagHelp: { "dry-run": "delete nothing: say what would be deleted" },
      notes: ["Without --days and --max-bytes, retention.days and retention.max_bytes of the settings hold."],
      examples: ["compact archive sweep --days 90", "compact archive sweep --max-bytes 10G --dry-run"],
      load: async () => (await import("./archive.ts")).sweepArchive,
    },
  ],
};

const CHANNEL: readonly FlagName[] = ["channel", "workspace", "user", "json"];

const memory: Command = {
  name: "memory",
  summary: "a channel's memory: its items, every change of it, taking one back, what is wrong",
  examples: ["compact memory --channel DIR", "compact memory log --channel DIR"],
  actions: [
    {
      name: "show",
      isDefault: true,
      summary: "the sections of SESSION.md, MEMORY.md and HISTORY.md with id, age and author of every item",
      flags: CHANNEL,
      examples: ["compact memory show --channel DIR"],
      load: async () => (await import("./memory.ts")).showMemory,
    },
    {
      name: "log",
      words: "[change]",
      summary: "the newest 20 changes; with a change's id what it did and what it refused",
      flags: [...CHANNEL, "all"],
      flagHelp: { all: "every change, not the newest 20 alone" },
      examples: ["compact memory log --channel DIR", "compact memory log CHANGE --channel DIR"],
      load: async () => (await import("./memory.ts")).logMemory,
    },
    {
      name: "undo",
      words: "<change>",
      summary: "makes the files what they were before a change",
      flags: [...CHANNEL, "partial"],
      notes: [
        "Lines that were changed again since stay; then nothing is done, unless --partial says that the rest will do.",
      ],
      examples: ["compact memory undo CHANGE --channel DIR"],
      load: async () => (await import("./memory.ts")).undoMemory,
    },
    {
      name: "forget",
      words: "<item>",
      summary: "takes an item out of all files of the channel, and says where it was",
      flags: [...CHANNEL, "archive"],
      notes: [
        "It is not learned again, and cannot be undone.",
        "With --archive the archived sessions there that hold it word for word are deleted, too.",
      ],
      examples: ["compact memory forget ITEM --channel DIR"],
      load: async () => (await import("./memory.ts")).forgetMemory,
    },
    {
      name: "check",
      summary: "what is wrong with the files",
      flags: CHANNEL,
      notes: ["Exit code 1 when it finds errors, 0 otherwise."],
      examples: ["compact memory check --channel DIR"],
      load: async () => (await import("./memory.ts")).checkMemoryFiles,
    },
  ],
};

const config: Command = {
  name: "config",
  summary: "the settings: which ones hold here and where each comes from, and what is wrong with a file",
  examples: ["compact config show", "compact config check compact.yaml"],
  actions: [
    {
      name: "show",
      isDefault: true,
      summary: "every setting with its value and where the value comes from",
      flags: ["config", "json"],
      notes: ["A place is a line of the file, or a variable of the environment, which wins over the file."],
      examples: ["compact config show", "compact config show --config other.yaml --json"],
      load: async () => (await import("./config.ts")).showConfig,
    },
    {
      name: "check",
      words: "[file]",
      summary: "checks a configuration file, and the environment over it, without running anything",
      flags: ["json"],
      notes: ["Without a file compact.yaml here. Exit code 1 when something is wrong, 0 otherwise."],
      examples: ["compact config check compact.yaml"],
      load: async () => (await import("./config.ts")).checkConfigFile,
    },
    {
      name: "schema",
      summary: "the JSON schema of compact.yaml, for editors",
      notes: ["The package has it as compact.schema.json."],
      examples: ["compact config schema > compact.schema.json"],
      load: async () => (await import("./config.ts")).printSchema,
    },
  ],
};

/** What decides how a session is played. */
const PLAYING: readonly FlagName[] = ["model", "window", "format", "strategy", "on-overflow", "config"];

/** Every command, in the order of the help. The first is the main job: it runs where the words name no command. */
export const COMMANDS: Command = {
  name: "compact",
  summary: "Fits a long agent session into its context window, and loses nothing.",
  notes: [
    "[transcript] is a file, - for standard input, or the number or id of a session that `compact` alone lists.",
    "The window is --window, else the configuration's, else the one that the session was compacted at, else the model's, else 128,000.",
    "The aim is --target, else the configuration's, else half of what there is, at most half of where a compaction starts; a session that is smaller is left as it is.",
    "`compact help COMMAND` says what one command takes, `compact --version` which version this is.",
    "Exit codes: 0 done, 1 the work failed, 2 wrong use.",
  ],
  examples: [
    "compact",
    "compact session.jsonl",
    "compact session.jsonl --target 40k -o smaller.jsonl",
    "compact demo",
  ],
  actions: [
    {
      name: "session",
      words: "[transcript]",
      isDefault: true,
      summary: "compacts a session: before and after, what was kept, where the rest is",
      flags: [...RESULT_FLAGS, "output", "force", "summary", "json"],
      examples: ["compact session.jsonl", "compact 1 --target 40k -o smaller.jsonl"],
      load: async () => (await import("./compact.ts")).compactSession,
    },
    {
      name: "sessions",
      summary: "the agent sessions on this computer, the newest first",
      flags: ["all", "json"],
      flagHelp: { all: "every session, not the newest of each folder" },
      notes: ["Each has a number and an id; every command that reads a transcript takes either."],
      examples: ["compact sessions", "compact sessions --all"],
      load: async () => (await import("./sessions.ts")).listSessions,
    },
    {
      name: "inspect",
      words: "<transcript>",
      summary: "tokens by layer, role and tool; how full the window is; whether a compaction would start",
      flags: ["model", "window", "format", "config", "json"],
      examples: ["compact inspect session.jsonl", "compact inspect 1 --window 200k"],
      load: async () => (await import("./inspect.ts")).inspectSession,
    },
    {
      name: "plan",
      words: "<transcript>",
      summary: "dry run: message by message, kept, cleared or summarized, and why",
      flags: ["model", "window", "target", "format", "strategy", "on-overflow", "config", "all", "json"],
      examples: ["compact plan session.jsonl", "compact plan 1 --target 40k --all"],
      load: async () => (await import("./plan.ts")).planSession,
    },
    {
      name: "replay",
      words: "<transcript>",
      summary: "plays the session call by call as a live agent would: compactions, tokens, time, cache",
      flags: [...PLAYING, "json", "view", "port", "open"],
      notes: [
        "It starts at the session's first message, including what its own compactions replaced; nothing is written.",
        "It also shows what other policies would cost, with the provider's prompt cache simulated.",
        "With --view the replay starts when the page is open.",
        "Exit code 1 if a request over the budget would have been sent.",
      ],
      examples: ["compact replay session.jsonl", "compact replay 1 --window 100k --view --open"],
      load: async () => (await import("./replay.ts")).replayCommand,
    },
    {
      name: "view",
      words: "[source]",
      summary: "a page in your browser: the window over the session, each compaction, spans, search",
      flags: ["port", "open", "archive", ...PLAYING],
      notes: [
        "A transcript, the folder of an archive, or a file of events. Without one: the archive here, also one that is still empty, and events that come. A transcript is replayed first, as compact replay does.",
        "The page is served on this computer alone, to the browser that opens the printed link.",
        "Programs may send events to its /ingest: COMPACT_TRACING_ARIADNE names it. Ctrl-C ends it.",
      ],
      examples: ["compact view", "compact view session.jsonl --open", "compact view .compact/archive"],
      load: async () => (await import("./view.ts")).viewSessions,
    },
    {
      name: "lint",
      words: "<transcript>",
      summary: "rules of the provider that the session breaks, each with its place",
      flags: ["provider", "model", "format", "config", "pending", "strict", "json"],
      notes: ["Exit code 1 when the provider would refuse the session, 0 otherwise."],
      examples: ["compact lint session.json", "compact lint session.json --provider anthropic"],
      load: async () => (await import("./lint.ts")).lintSession,
    },
    {
      name: "repair",
      words: "<transcript>",
      summary: "mends what can be mended without inventing content; -o writes the result",
      flags: ["provider", "model", "format", "config", "pending", "strict", "output", "force", "json"],
      notes: ["Exit code 1 when something is left that the provider would refuse, 0 otherwise."],
      examples: ["compact repair session.json -o mended.json"],
      load: async () => (await import("./lint.ts")).repairSession,
    },
    {
      name: "diff",
      words: "<before> <after>",
      summary: "what became of each message, and the tokens by layer",
      flags: ["model", "window", "format", "config", "all", "json"],
      examples: ["compact diff session.json smaller.json"],
      load: async () => (await import("./diff.ts")).diffSessions,
    },
    {
      name: "redact",
      words: "<file>",
      summary: "prints any text with the secrets taken out; counts them by kind on stderr",
      flags: ["pii", "config", "output", "force", "json"],
      flagHelp: {
        output: "write the text here instead of printing it",
        json: "counts on stdout, instead of the text",
      },
      notes: [
        "The built-in patterns and redaction.patterns of the settings; redaction.enabled is not asked: this command always redacts.",
        "- reads standard input. --json prints the counts instead of the text; with -o the text is in the file.",
        "Exit code 1 when a part could not be searched and was left out as a whole, 0 otherwise.",
      ],
      examples: ["compact redact run.log -o clean.log", "compact redact - < run.log"],
      load: async () => (await import("./redact.ts")).redactText,
    },
    archive,
    storage,
    {
      name: "recall",
      words: "<query>",
      summary:
        "what a channel's memory says to a question: the sections that would be put before the message",
      flags: ["channel", "workspace", "user", "all", "debug", "json"],
      flagHelp: { all: "the channel's logs as well" },
      notes: [
        "Reads SESSION.md, MEMORY.md and HISTORY.md of the channel and MEMORY.md of the workspace; writes nothing.",
        "--debug adds every section that was looked at, its score, and why it is given to the model or left out.",
        "Exit code 0 also when nothing is relevant.",
      ],
      examples: ["compact recall 'which port' --channel DIR"],
      load: async () => (await import("./recall.ts")).recallMemory,
    },
    memory,
    {
      name: "chat",
      summary: "an agent for the terminal whose context never overflows; asks before it writes or runs",
      flags: [
        "model",
        "base-url",
        "window",
        "summarizer",
        "new",
        "channel",
        "workspace",
        "config",
        "archive",
      ],
      flagHelp: {
        summarizer: "who writes the summaries: builtin (no request is made), or own, the chat's model",
        model:
          "who answers: provider/model, or with --base-url a model of that server; a script when left out",
        workspace: "the agent's own folder; .compact/agent when left out",
        channel: "where this session and its memory are kept; main in the agent's own folder when left out",
      },
      notes: [
        "--model provider/model uses the AI SDK's package of that provider, with the key of the environment. Without a model a script answers, to try things out.",
        "The session of this folder goes on where it was left, also after a crash; --new begins another. All of it lies in .compact/agent.",
      ],
      examples: ["compact chat", "compact chat --model anthropic/claude-sonnet-4-5"],
      load: async () => (await import("../chat/start-chat.ts")).startChat,
    },
    {
      name: "proxy",
      words: "[command...]",
      summary: "stands between an agent and its provider and keeps each of its sessions inside the window",
      flags: ["port", "upstream", "window", "dry-run", "log", "config", "archive"],
      flagHelp: {
        port: "the port to listen on; 4180 when left out, one that is free where a command is named",
        window: "tokens that a prompt may have; the model's window, at most 150k, when left out",
      },
      notes: [
        "Behind -- stands a program to start with its calls led here; the exit code is the program's own. Without one it prints what each agent has to be told.",
        "It listens on this computer alone. Keys pass through and are kept nowhere; what left a prompt is in the archive, secrets taken out.",
        "A call that cannot be compacted goes on as it came, with x-compact: sent-unmodified and a line here.",
      ],
      examples: [
        "compact proxy -- claude",
        "compact proxy --window 100k",
        "compact proxy --dry-run -- claude",
      ],
      passesThrough: true,
      load: async () => (await import("../proxy/start-proxy.ts")).runProxy,
    },
    {
      name: "mcp",
      summary:
        "archive search, expand and memory recall as MCP tools over stdio, for agents of other programs",
      flags: ["config", "archive", "session", "channel", "workspace", "user"],
      notes: [
        "For an MCP client to start: stdout carries the protocol and nothing else; everything for people goes to stderr.",
        "--session bounds every tool to one session of the archive. --channel adds compact_recall, which reads its memory files.",
      ],
      examples: ["compact mcp", "claude mcp add compact -- npx -y -p compact-context-cli compact mcp"],
      load: async () => (await import("./mcp.ts")).serveTools,
    },
    config,
    {
      name: "doctor",
      summary: "tries what compact needs here: settings, store, rights, disk, clock, model; says what to do",
      flags: ["config", "archive", "upstream", "json"],
      notes: [
        "The store is written, read and deleted once. A provider whose key is in the environment is asked for its list of models, which costs nothing; without a key the server that --upstream names is tried, no more.",
        "Exit code 1 when a check failed, 0 otherwise; a warning is no failure.",
      ],
      examples: ["compact doctor", "compact doctor --config compact.yaml --json"],
      load: async () => (await import("./doctor.ts")).checkEverything,
    },
    {
      name: "demo",
      summary: "compacts a bundled sample session; needs nothing",
      flags: ["window", "target", "strategy", "json"],
      examples: ["compact demo"],
      load: async () => (await import("./demo.ts")).runDemo,
    },
    {
      name: "completion",
      words: "<shell>",
      summary: "a script that completes commands, flags and files in bash, zsh or fish",
      notes: ["Put it where your shell reads it at its start; the examples do."],
      examples: [
        'eval "$(compact completion bash)"',
        "compact completion zsh > ~/.zfunc/_compact",
        "compact completion fish > ~/.config/fish/completions/compact.fish",
      ],
      load: async () => (await import("./completion.ts")).completionOf(COMMANDS),
    },
  ],
};
