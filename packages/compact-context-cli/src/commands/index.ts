import { type Command, type FlagName, RESULT_FLAGS } from "../flags.ts";

const ARCHIVE_NOTE =
  "The archive is --archive, else that of the settings, else .compact/archive if this folder has a .compact folder, else one in the user's data folder.";

const storage: Command = {
  name: "storage",
  summary: "prints the SQL for the Postgres tables",
  examples: ["compact storage ddl compact_app | psql"],
  actions: [
    {
      name: "ddl",
      summary: "the SQL for the Postgres tables, for programs without the right to create them",
      words: "[role] [version]",
      flags: ["config"],
      notes: [
        "Run it as a user that may create the schema of storage.schema. With a role it also grants that role what the programs need; with the current version of the tables (select max(version) from compact.migrations) it migrates from there.",
      ],
      examples: ["compact storage ddl compact_app | psql", "compact storage ddl compact_app 2"],
      load: async () => (await import("./config.ts")).printDdl,
    },
  ],
};

const archive: Command = {
  name: "archive",
  summary: "lists, reads, searches, restores and deletes archived originals",
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
      summary: "lists the archived sessions, the newest first, with their steps, sizes and titles",
      flags: ["config", "archive", "tenant", "user", "json"],
      flagHelp: { user: "the sessions of this user" },
      examples: ["compact archive list", "compact archive list --tenant acme"],
      load: async () => (await import("./archive.ts")).listArchive,
    },
    {
      name: "show",
      words: "[session] [step]",
      summary: "shows the messages of a step, or one message in full",
      flags: ["config", "archive", "json"],
      notes: [
        "The step may also be the id of one message. The session defaults to the only one, the step to the newest.",
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
      summary: "finds messages with these words, the best first",
      flags: ["config", "archive", "json"],
      notes: ['Whole words are matched; "words in double quotes" are matched as a phrase.'],
      examples: ['compact archive search "port 5433"', "compact archive search 'migration failed' SESSION"],
      load: async () => (await import("./archive.ts")).searchArchive,
    },
    {
      name: "restore",
      words: "[session] [step]",
      summary: "writes the messages of a session up to a step as a JSON list in their provider's format",
      flags: ["config", "archive", "output", "force", "json"],
      notes: ["The step defaults to the newest."],
      examples: [
        "compact archive restore -o session.json",
        "compact archive restore SESSION 1 -o first.json",
      ],
      load: async () => (await import("./archive.ts")).restoreArchived,
    },
    {
      name: "undo",
      words: "<session>",
      summary: "undoes the newest compaction of a program's session",
      flags: ["config", "archive"],
      notes: [
        "For sessions of a CompactManager whose state is kept with the archive: its next call gets the list as it was before, and compacts it again only over the budget or after it has grown. The archive is unchanged.",
      ],
      examples: ["compact archive undo SESSION"],
      load: async () => (await import("./archive.ts")).undoCompaction,
    },
    {
      name: "delete",
      words: "[session]",
      summary: "permanently deletes a session, or all of a tenant or a user",
      flags: ["config", "archive", "tenant", "user", "yes", "json"],
      flagHelp: { user: "the sessions of this user" },
      notes: [
        "This deletes transcripts, summaries, events, state, search index and queued work. For 30 days nothing is stored under the same id: compact refuses the same file, unless --archive names another folder.",
        "For a session of a tenant or user add --tenant and --user.",
      ],
      examples: [
        "compact archive delete SESSION --yes",
        "compact archive delete --tenant acme --user max --yes",
      ],
      load: async () => (await import("./archive.ts")).deleteArchived,
    },
    {
      name: "sweep",
      summary: "deletes expired sessions",
      flags: ["config", "archive", "days", "max-bytes", "dry-run", "json"],
      flagHelp: { "dry-run": "delete nothing: list what would be deleted" },
      notes: ["--days and --max-bytes default to retention.days and retention.max_bytes of the settings."],
      examples: ["compact archive sweep --days 90", "compact archive sweep --max-bytes 10G --dry-run"],
      load: async () => (await import("./archive.ts")).sweepArchive,
    },
  ],
};

const CHANNEL: readonly FlagName[] = ["channel", "workspace", "user", "json"];

const memory: Command = {
  name: "memory",
  summary: "shows, checks and changes a channel's memory",
  examples: ["compact memory --channel DIR", "compact memory log --channel DIR"],
  actions: [
    {
      name: "show",
      isDefault: true,
      summary: "shows SESSION.md, MEMORY.md and HISTORY.md with id, age and author of every item",
      flags: CHANNEL,
      examples: ["compact memory show --channel DIR"],
      load: async () => (await import("./memory.ts")).showMemory,
    },
    {
      name: "log",
      words: "[change]",
      summary: "lists the newest 20 changes, or shows one with what it did and what was refused",
      flags: [...CHANNEL, "all"],
      flagHelp: { all: "all changes, not only the newest 20" },
      examples: ["compact memory log --channel DIR", "compact memory log CHANGE --channel DIR"],
      load: async () => (await import("./memory.ts")).logMemory,
    },
    {
      name: "undo",
      words: "<change>",
      summary: "undoes a change",
      flags: [...CHANNEL, "partial"],
      notes: [
        "If some of its lines have changed since, nothing is undone; with --partial the other lines are.",
      ],
      examples: ["compact memory undo CHANGE --channel DIR"],
      load: async () => (await import("./memory.ts")).undoMemory,
    },
    {
      name: "forget",
      words: "<item>",
      summary: "removes an item from all files of the channel, and reports where it was",
      flags: [...CHANNEL, "archive"],
      notes: [
        "It is not learned again, and this cannot be undone.",
        "With --archive the archived sessions there that contain it literally are deleted, too.",
      ],
      examples: ["compact memory forget ITEM --channel DIR"],
      load: async () => (await import("./memory.ts")).forgetMemory,
    },
    {
      name: "check",
      summary: "reports problems of the files",
      flags: CHANNEL,
      notes: ["Exit code 1 if it finds errors."],
      examples: ["compact memory check --channel DIR"],
      load: async () => (await import("./memory.ts")).checkMemoryFiles,
    },
  ],
};

const config: Command = {
  name: "config",
  summary: "shows the effective settings with their origins, or checks a file",
  examples: ["compact config show", "compact config check compact.yaml"],
  actions: [
    {
      name: "show",
      isDefault: true,
      summary: "shows every setting with its value and origin",
      flags: ["config", "json"],
      notes: ["The origin is a line of the file, or an environment variable, which overrides the file."],
      examples: ["compact config show", "compact config show --config other.yaml --json"],
      load: async () => (await import("./config.ts")).showConfig,
    },
    {
      name: "check",
      words: "[file]",
      summary: "checks a configuration file and the environment, without running anything",
      flags: ["json"],
      notes: ["The file defaults to compact.yaml here. Exit code 1 if there is a problem."],
      examples: ["compact config check compact.yaml"],
      load: async () => (await import("./config.ts")).checkConfigFile,
    },
    {
      name: "schema",
      summary: "prints the JSON schema of compact.yaml, for editors",
      notes: ["The package contains it as compact.schema.json."],
      examples: ["compact config schema > compact.schema.json"],
      load: async () => (await import("./config.ts")).printSchema,
    },
  ],
};

/** Flags that affect a replay. */
const REPLAY_FLAGS: readonly FlagName[] = ["model", "window", "format", "strategy", "on-overflow", "config"];

/** All commands in the order of the help. The first one runs if no command is named. */
export const COMMANDS: Command = {
  name: "compact",
  summary: "fits a long agent session into its context window without losing anything",
  notes: [
    "[transcript] is a file, - for standard input, or the number or id of a session in the list of `compact` without arguments.",
    "The window is --window, else that of the configuration, else the one at which the session was compacted, else the model's, else 128,000.",
    "The target is --target, else that of the configuration, else half of the session, at most half of the size that triggers a compaction; a smaller session is left as it is.",
    "`compact help COMMAND` shows the help of a command, `compact --version` the version.",
    "Exit codes: 0 success, 1 failure, 2 wrong usage.",
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
      summary: "compacts a session, and shows before and after, what was kept, and where the rest is",
      flags: [...RESULT_FLAGS, "output", "force", "summary", "json"],
      examples: ["compact session.jsonl", "compact 1 --target 40k -o smaller.jsonl"],
      load: async () => (await import("./compact.ts")).compactSession,
    },
    {
      name: "sessions",
      summary: "lists the agent sessions on this computer, the newest first",
      flags: ["all", "json"],
      flagHelp: { all: "all sessions, not only the newest" },
      notes: ["Each has a number and an id, which every command takes in place of a transcript."],
      examples: ["compact sessions", "compact sessions --all"],
      load: async () => (await import("./sessions.ts")).listSessions,
    },
    {
      name: "inspect",
      words: "<transcript>",
      summary:
        "shows tokens by layer, role and tool, how full the window is, and whether a compaction would start",
      flags: ["model", "window", "format", "config", "json"],
      examples: ["compact inspect session.jsonl", "compact inspect 1 --window 200k"],
      load: async () => (await import("./inspect.ts")).inspectSession,
    },
    {
      name: "plan",
      words: "<transcript>",
      summary: "dry run: shows for each message whether it is kept, cleared or summarized, and why",
      flags: ["model", "window", "target", "format", "strategy", "on-overflow", "config", "all", "json"],
      examples: ["compact plan session.jsonl", "compact plan 1 --target 40k --all"],
      load: async () => (await import("./plan.ts")).planSession,
    },
    {
      name: "replay",
      words: "<transcript>",
      summary: "plays the session call by call as a live agent would: compactions, tokens, time, cache",
      flags: [...REPLAY_FLAGS, "json"],
      notes: [
        "It starts at the session's first message, including what its own compactions replaced; nothing is written.",
        "It also shows what other policies would cost, with the provider's prompt cache simulated.",
        "Exit code 1 if a request over the budget would have been sent.",
      ],
      examples: ["compact replay session.jsonl", "compact replay 1 --window 100k"],
      load: async () => (await import("./replay.ts")).replayCommand,
    },
    {
      name: "view",
      words: "[source]",
      summary: "serves a page for your browser: the window over the session, each compaction, spans, search",
      flags: ["port", "open", "archive", ...REPLAY_FLAGS],
      notes: [
        "The source is a transcript, the folder of an archive, or a file of events; by default the archive here, even if it is still empty, and incoming events. A transcript is replayed first, as with compact replay.",
        "The page is served on this computer only, to the browser that opens the printed link.",
        "Programs can send events to its /ingest: set COMPACT_TRACING_ARIADNE to that URL. Ctrl-C stops it.",
      ],
      examples: ["compact view", "compact view session.jsonl --open", "compact view .compact/archive"],
      load: async () => (await import("./view.ts")).viewSessions,
    },
    {
      name: "lint",
      words: "<transcript>",
      summary: "reports violations of the provider's rules, each with its place",
      flags: ["provider", "model", "format", "config", "pending", "strict", "json"],
      notes: ["Exit code 1 if the provider would refuse the session."],
      examples: ["compact lint session.json", "compact lint session.json --provider anthropic"],
      load: async () => (await import("./lint.ts")).lintSession,
    },
    {
      name: "repair",
      words: "<transcript>",
      summary: "repairs violations without inventing content; -o writes the result",
      flags: ["provider", "model", "format", "config", "pending", "strict", "output", "force", "json"],
      notes: ["Exit code 1 if the provider would still refuse the session."],
      examples: ["compact repair session.json -o mended.json"],
      load: async () => (await import("./lint.ts")).repairSession,
    },
    {
      name: "diff",
      words: "<transcript> <second-file>",
      summary: "compares two transcripts message by message, with the tokens by layer",
      flags: ["model", "window", "format", "config", "all", "json"],
      examples: ["compact diff session.json smaller.json"],
      load: async () => (await import("./diff.ts")).diffSessions,
    },
    {
      name: "redact",
      words: "<file>",
      summary: "prints a text with its secrets redacted; counts them by kind on stderr",
      flags: ["pii", "config", "output", "force", "json"],
      flagHelp: {
        output: "write the text to this file instead",
        json: "print the counts as JSON instead of the text",
      },
      notes: [
        "It uses the built-in patterns and redaction.patterns of the settings, and ignores redaction.enabled.",
        "- reads standard input. With --json the text is only written with -o.",
        "Exit code 1 if a part could not be searched and was left out.",
      ],
      examples: ["compact redact run.log -o clean.log", "compact redact - < run.log"],
      load: async () => (await import("./redact.ts")).redactText,
    },
    archive,
    storage,
    {
      name: "recall",
      words: "<query>",
      summary: "shows the sections of a channel's memory that a question would recall",
      flags: ["channel", "workspace", "user", "all", "debug", "json"],
      flagHelp: { all: "the channel's logs as well" },
      notes: [
        "It reads SESSION.md, MEMORY.md and HISTORY.md of the channel and MEMORY.md of the workspace, and writes nothing.",
        "--debug adds all candidate sections with their scores, and why each is recalled or left out.",
        "The exit code is 0 even if nothing is relevant.",
      ],
      examples: ["compact recall 'which port' --channel DIR"],
      load: async () => (await import("./memory.ts")).recallMemory,
    },
    memory,
    {
      name: "chat",
      summary:
        "an agent for the terminal whose context never overflows; asks before it reads, writes or runs anything",
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
        summarizer: "who writes the summaries: builtin (without a model), or own, the chat's model",
        model: "the model: provider/model, or with --base-url a model of that server; default: a demo script",
        workspace: "the agent's folder; default: .compact/agent",
        channel: "folder of this session and its memory; default: main in the agent's folder",
      },
      notes: [
        "--model provider/model uses the AI SDK's package of that provider, with the key of the environment. Without a model a script answers, for a trial.",
        "The chat resumes the session of this folder, even after a crash; --new starts another. Everything is kept in .compact/agent.",
      ],
      examples: ["compact chat", "compact chat --model anthropic/claude-sonnet-4-5"],
      load: async () => (await import("../chat/start-chat.ts")).startChat,
    },
    {
      name: "proxy",
      words: "[command...]",
      summary: "a proxy between an agent and its provider that keeps each session inside the window",
      flags: ["port", "upstream", "window", "dry-run", "log", "config", "archive"],
      flagHelp: {
        port: "the port to listen on; default: 4180, or a free one if a command is given",
        window: "maximum tokens of a prompt; default: the model's window, at most 150k",
      },
      notes: [
        "The command after -- is started with its calls redirected to the proxy; the exit code is that of the command. Without one it prints how to configure each agent.",
        "It listens on this computer only. Keys are forwarded and never stored; what is removed from a prompt is archived, with secrets redacted.",
        "A call that cannot be compacted is forwarded unmodified, with x-compact: sent-unmodified and a log line.",
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
      summary: "serves archive search, expand and memory recall as MCP tools over stdio",
      flags: ["config", "archive", "session", "channel", "workspace", "user"],
      notes: [
        "An MCP client starts it: stdout carries only the protocol, messages for people go to stderr.",
        "--session limits every tool to one session of the archive. --channel adds compact_recall, which reads its memory files.",
      ],
      examples: ["compact mcp", "claude mcp add compact -- npx -y -p compact-context-cli compact mcp"],
      load: async () => (await import("./mcp.ts")).serveTools,
    },
    config,
    {
      name: "doctor",
      summary: "checks what compact needs here: settings, store, permissions, disk, clock, model",
      flags: ["config", "archive", "upstream", "json"],
      notes: [
        "It writes, reads and deletes one value in the store. It requests the list of models, which is free, from each provider whose key is in the environment; without a key it only connects to the server of --upstream.",
        "Exit code 1 if a check failed; warnings do not count.",
      ],
      examples: ["compact doctor", "compact doctor --config compact.yaml --json"],
      load: async () => (await import("./doctor.ts")).checkEverything,
    },
    {
      name: "demo",
      summary: "compacts a bundled sample session, without any setup",
      flags: ["window", "target", "strategy", "json"],
      examples: ["compact demo"],
      load: async () => (await import("./compact.ts")).runDemo,
    },
    {
      name: "completion",
      words: "<shell>",
      summary: "prints a completion script for bash, zsh or fish",
      notes: ["Save it where your shell loads it on start, as in the examples."],
      examples: [
        'eval "$(compact completion bash)"',
        "compact completion zsh > ~/.zfunc/_compact",
        "compact completion fish > ~/.config/fish/completions/compact.fish",
      ],
      load: async () => (await import("./completion.ts")).completionOf(COMMANDS),
    },
  ],
};
