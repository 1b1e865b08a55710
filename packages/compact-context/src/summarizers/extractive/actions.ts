import { argumentsValue, type ToolCallPart } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import {
  filesOfSteps,
  isLookingCommand,
  isSearch,
  readSteps,
  wordsOfCommand,
  worksElsewhere,
} from "./commands.ts";
import { created, edited, type FileChange, type Hunk, readPatch, readSearchBlocks, untold } from "./edits.ts";
import { clipLine, oneLine, quotedCode } from "./text.ts";

export type ActionKind =
  | "read"
  | "search"
  | "edit"
  | "run"
  | "plan"
  | "ask"
  | "agent"
  | "web"
  | "message"
  | "other";

/** What a tool call does, as far as name and arguments show. */
export interface Action {
  readonly kind: ActionKind;
  readonly files: readonly FileChange[];
  /** The complete shell command. */
  readonly command: string | undefined;
  /** The call in words, without its outcome. */
  readonly words: string;
}

const LONGEST_WORDS = 300;

/** Reads a call of any agent; unknown tools are described by name and short arguments. Never throws. */
export function readAction(call: ToolCallPart): Action {
  const value = argumentsValue(call);
  const args: Arguments = isObject(value) ? value : {};
  const given: Given = { name: call.name, args, text: typeof value === "string" ? value : undefined };
  const action = readPatchCall(given) ?? TOOLS.get(plainName(call.name))?.(given) ?? readByArguments(given);
  return { ...action, words: clipLine(action.words, LONGEST_WORDS) };
}

type Arguments = Readonly<Record<string, unknown>>;

interface Given {
  readonly name: string;
  readonly args: Arguments;
  /** The arguments, if they are text instead of an object. */
  readonly text: string | undefined;
}

type Reader = (given: Given) => Action | undefined;

function action(kind: ActionKind, words: string, files: readonly FileChange[] = []): Action {
  return { kind, files, command: undefined, words };
}

// ---- arguments, under any host's names

const listed = (names: string): readonly string[] => names.split(" ");

const PATH = listed(
  "file_path filePath path absolute_path notebook_path target_file file filename file_name relative_path",
);
const OLD = listed("old_string oldString oldText old_str old_text search old_content");
const NEW = listed(
  "new_string newString newText new_str new_text replace new_content replacement new_source",
);
const CONTENT = listed("content contents file_text text code new_source body");
const PATTERN = listed(
  "pattern query regex search_term glob_pattern search keyword file_name function_name class_name glob file_pattern",
);
const PLACE = listed("path dir directory dir_path target_directory include glob file_pattern file_path");
const TASK_ID = listed("task_id taskId bash_id shell_id agent_id session_id sessionId id");

/** The id of what a call reads from, writes to or stops; "" if there is none. */
export function idOf(args: Arguments): string {
  const name = TASK_ID.find((key) => args[key] !== undefined);
  return name === undefined ? "" : scalar(args[name]);
}

export function textOf(args: Arguments, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = args[name];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return undefined;
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectsOf(value: unknown): Arguments[] {
  return itemsOf(value).filter(isObject);
}

function pathsOf(args: Arguments): string[] {
  const single = textOf(args, PATH);
  if (single !== undefined) return [single];
  const items = ["paths", "files", "filePaths", "file_paths"].flatMap((name) => itemsOf(args[name]));
  return items.flatMap((item) => (typeof item === "string" ? [item] : isObject(item) ? pathsOf(item) : []));
}

// ---- files

const read: Reader = ({ args }) => {
  const paths = pathsOf(args);
  if (paths.length === 0) return undefined;
  const files = paths.map((path) => untold(path, "read"));
  return action("read", `read ${paths.slice(0, 8).join(", ")}${rangeOf(args)}`, files);
};

function rangeOf(args: Arguments): string {
  const from = args.offset ?? args.start_line ?? args.line_number ?? args.startLine;
  const [first = from, last = args.end_line ?? args.endLine] = itemsOf(args.view_range);
  if (typeof first !== "number" || first < 2) return "";
  if (typeof last === "number") return ` (lines ${first}–${last})`;
  const { limit } = args;
  return typeof limit === "number" ? ` (lines ${first}–${first + limit - 1})` : ` (from line ${first})`;
}

const edit: Reader = ({ args }) => {
  const [path] = pathsOf(args);
  const change = edited(path ?? "", hunksOf(args));
  if (path !== undefined) return changed([change]);
  // SWE-agent edits the open file.
  return change.what === "" ? undefined : action("edit", told("edited the open file", change.what));
};

function hunksOf(args: Arguments): Hunk[] {
  const blocks = textOf(args, ["diff"]);
  if (blocks !== undefined) return readSearchBlocks(blocks);
  const pairs = objectsOf(args.edits ?? args.replacements);
  const hunks = (pairs.length > 0 ? pairs : [args]).map((pair): Hunk => {
    const before = textOf(pair, OLD);
    const after = textOf(pair, NEW) ?? (before === undefined ? textOf(pair, CONTENT) : undefined);
    return { before: before?.split("\n") ?? [], after: after?.split("\n") ?? [] };
  });
  return hunks.filter(({ before, after }) => before.length + after.length > 0);
}

const write: Reader = ({ args, name }) => {
  const [path] = pathsOf(args);
  if (path === undefined) return undefined;
  const file = created(path, textOf(args, CONTENT));
  const verb = /create/i.test(name) || args.command === "create" ? "created" : "wrote";
  return action("edit", `${verb} ${withContent(file)}`, [file]);
};

function withContent({ path, what }: FileChange): string {
  return what === "" ? path : `${path} with ${what}`;
}

const remove: Reader = ({ args }) => {
  const paths = pathsOf(args);
  return paths.length === 0 ? undefined : changed(paths.map((path) => untold(path, "deleted")));
};

/** A single tool whose `command` argument selects the file operation. */
const editor: Reader = (given) => {
  const { command } = given.args;
  if (command === "view") return read(given);
  if (command === "create") return write(given);
  return edit(given);
};

function changed(files: readonly FileChange[]): Action {
  const words = files.map((file) =>
    file.effect === "created"
      ? `created ${withContent(file)}`
      : told(`${file.effect} ${file.path}`, file.what),
  );
  return action("edit", words.join("; "), files);
}

function told(what: string, detail: string): string {
  return detail === "" ? what : `${what}: ${detail}`;
}

const PATCH_KEYS = ["patchText", "patch", "input", "diff", "command", "cmd"];

function readPatchCall({ name, args, text }: Given): Action | undefined {
  const texts = text === undefined ? PATCH_KEYS.flatMap((key) => wordsIn(args[key])) : [text];
  const patch = texts.find(
    (candidate) =>
      candidate.includes("*** Begin Patch") || (/patch/i.test(name) && /^(?:\*\*\* |--- )/m.test(candidate)),
  );
  const files = patch === undefined ? [] : readPatch(patch);
  return files.length === 0 ? undefined : changed(files);
}

function wordsIn(value: unknown): string[] {
  return [value].flat().filter((item): item is string => typeof item === "string");
}

// ---- commands

const run: Reader = ({ args, text }) => {
  const command = text ?? commandIn(args);
  return command === undefined ? undefined : (readEditorLine(command) ?? runOf(command));
};

const HANDS_IN =
  /^echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT(?:(?: && git add -A)? && (?:cat|git diff)(?: [^;&|<>`$()]*)?)?$/;

/** Commands of SWE-agent's file editor, issued like shell commands, and the last one of mini-swe-agent. */
function readEditorLine(command: string): Action | undefined {
  const [first = "", ...rest] = command.trim().split("\n");
  const [verb = "", target = ""] = first.slice(0, 400).split(/\s+/);
  if (verb === "edit" && /^\d{1,7}:\d{1,7}$/.test(target) && rest.at(-1)?.trim() === "end_of_edit") {
    const { what } = created("", rest.slice(0, -1).join("\n"));
    return action("edit", told(`edited lines ${target.replace(":", "–")} of the open file`, what));
  }
  if (rest.length > 0) return undefined;
  if (HANDS_IN.test(first)) return action("message", "submitted");
  if (verb === "open" && target !== "") return read({ name: verb, args: { path: target }, text: undefined });
  if (verb === "create" && target !== "") return changed([untold(target, "created")]);
  return verb === "submit"
    ? action("message", told("submitted", target === "" ? "" : first.slice(7)))
    : undefined;
}

function commandIn(args: Arguments): string | undefined {
  for (const name of ["command", "cmd", "script", "bash", "commands", "code"]) {
    const value = args[name];
    if (typeof value === "string" && value !== "") return value;
    if (Array.isArray(value) && value.length > 0)
      return name === "commands" ? wordsIn(value).join("\n") : shellWords(value);
  }
  return undefined;
}

// `["bash", "-lc", "npm test"]` runs its last element; `["npm", "test"]` is the command itself.
function shellWords(words: readonly unknown[]): string {
  const texts = words.map(String);
  return /^-\w{0,5}c$/.test(texts[1] ?? "") ? (texts[2] ?? "") : texts.join(" ");
}

function runOf(command: string): Action {
  const steps = readSteps(command);
  const files = worksElsewhere(command) ? [] : filesOfSteps(steps);
  const looks = isLookingCommand(command);
  const reads = looks && files.length > 0 && files.every(({ effect }) => effect === "read");
  const kind = looks && isSearch(steps) ? "search" : reads ? "read" : "run";
  const written = files.filter(({ effect }) => effect === "created" || effect === "edited");
  const ran = wordsOfCommand(command);
  const telling = ran === "" || files.some(({ what }) => what !== "");
  const wrote = written.length > 0 && telling ? `wrote ${written.map(withContent).join("; ")}` : "";
  return { kind, files, command, words: [wrote, ran].filter((part) => part !== "").join("; ") };
}

const typeInto: Reader = ({ args }) => {
  const session = `session ${idOf(args)}`.trim();
  const typed = clipLine(textOf(args, ["chars", "input", "text"]) ?? "", 160);
  return action("run", typed === "" ? `waited for ${session}` : `typed ${quotedCode(typed)} into ${session}`);
};

// ---- searches

const search: Reader = ({ args, name }) => {
  const pattern = textOf(args, PATTERN);
  if (pattern === undefined) return undefined;
  const place = textOf(args, PLACE);
  const where = place === undefined || place === pattern ? "" : ` in ${place}`;
  const what = /glob|find_?file|file_?search/i.test(name) ? "files " : "";
  return action("search", `searched for ${what}${quotedCode(clipLine(pattern, 160))}${where}`);
};

// ---- plans

const FINISHED = /^(?:completed|complete|done|finished)$/i;
const UNDER_WAY = /^(?:in[_ -]progress|doing|active)$/i;

const writePlan: Reader = ({ args }) => {
  const steps = objectsOf(args.todos ?? args.plan ?? args.items ?? args.tasks);
  if (steps.length === 0) return undefined;
  const ofStatus = (pattern: RegExp): Arguments[] =>
    steps.filter(({ status }) => typeof status === "string" && pattern.test(status));
  const now = ofStatus(UNDER_WAY).flatMap(
    (step) => textOf(step, listed("content step description title text")) ?? [],
  );
  const words = `updated the plan: ${ofStatus(FINISHED).length} of ${steps.length} done`;
  const active = now.map((step) => clipLine(step, 100)).join("; ");
  return action("plan", active === "" ? words : `${words}; in progress: ${active}`);
};

// ---- people, agents and calls described by one argument

const askUser: Reader = ({ args }) => {
  const questions = objectsOf(args.questions).flatMap((one) => textOf(one, ["question", "text"]) ?? []);
  const single = textOf(args, ["question", "prompt", "message", "text"]);
  const asked = questions.length > 0 ? questions : single === undefined ? [] : [single];
  return asked.length === 0 ? undefined : action("ask", `asked the user: ${asked.map(oneLine).join(" / ")}`);
};

/** A call described by the first of the named arguments; `bare` is used without one. */
function byText(
  kind: ActionKind,
  names: string,
  words: (short: string, text: string, args: Arguments) => string,
  bare?: string,
): Reader {
  return ({ args, text }) => {
    const said = textOf(args, listed(names)) ?? text;
    if (said !== undefined) return action(kind, words(clipLine(said, 250), said, args));
    return bare === undefined ? undefined : action(kind, bare);
  };
}

const always =
  (kind: ActionKind, words: (args: Arguments) => string): Reader =>
  ({ args }) =>
    action(kind, words(args));

// ---- the table

/** Readers by the names of their tools. */
const TABLE: readonly (readonly [names: string, reader: Reader])[] = [
  [
    "bash shell localshell localshellcall exec execcommand runshellcommand executecommand executebash runcommand runcommands runterminalcmd runinterminal terminal cmdrun executeipython computerbash powershell",
    run,
  ],
  ["writestdin sendinput writebash", typeInto],
  [
    "read readfile readfiles readmanyfiles view viewcode viewimage viewfile open openfile catfile notebookread",
    read,
  ],
  [
    "edit multiedit strreplace stringreplace replace replaceinfile searchandreplace editfile applydiff notebookedit insert insertcontent insertedit replacestringinfile multireplacestringinfile editor smarteditor insertlines appendstring editblock",
    edit,
  ],
  ["write writefile writetofile create createfile createnewfile savefile", write],
  ["delete deletefile removefile", remove],
  ["strreplaceeditor strreplacebasededittool fileeditor texteditor", editor],
  [
    "grep glob search searchfiles searchfilecontent filesearch codesearch codebasesearch grepsearch semanticsearch findfile findfiles searchfile searchdir findfunction findclass findcodesnippet find grepcode globfiles",
    search,
  ],
  [
    "ls list listdir listdirectory listfiles",
    always("search", (args) => `listed ${textOf(args, [...PLACE, ...PATH]) ?? "the folder"}`),
  ],
  [
    "webfetch fetch fetchurl fetchwebpage webbrowsergo browsernavigate gotourl urlfetch readurl websearch googlewebsearch searchweb googlesearch tavilysearch",
    byText("web", "url uri link query q search_term search_query prompt", (text) => {
      const url = /https?:\/\/\S{1,300}/.exec(text)?.[0];
      return url === undefined ? `searched the web for "${text}"` : `fetched ${url}`;
    }),
  ],
  ["todowrite updateplan updatetodos writetodos todo updatetodolist tasktracker managetodolist", writePlan],
  ["todoread tasklist taskget listtasks", always("plan", () => "read the task list")],
  ["taskcreate", byText("plan", "subject title content description", (text) => `added task "${text}"`)],
  [
    "taskupdate",
    always("plan", (args) => {
      const status = textOf(args, ["status"])?.replace(/_/g, " ");
      const subject = clipLine(textOf(args, ["subject", "description"]) ?? "", 150);
      return told(`task ${idOf(args)}${status === undefined ? "" : ` is ${status}`}`, subject);
    }),
  ],
  [
    "exitplanmode planmoderespond",
    byText("plan", "plan response", (_, plan) =>
      told("proposed a plan", clipLine(/\w.*/.exec(plan)?.[0] ?? "", 200)),
    ),
  ],
  ["askuserquestion askfollowupquestion askuser question requestuserinput askquestion", askUser],
  [
    "task agent newtask spawnagent delegate dispatchagent runsubagent",
    byText("agent", "description task message prompt query objective", (_, text, args) => {
      const type = textOf(args, listed("subagent_type agent_type agent mode"));
      return `started agent${type === undefined ? "" : ` (${type})`}: ${clipLine(text, 200)}`;
    }),
  ],
  [
    "taskoutput bashoutput agentoutput readbash wait waitagent",
    always("agent", (args) => `looked at the output of task ${idOf(args)}`.trim()),
  ],
  [
    "attemptcompletion finish submit taskcomplete done",
    byText(
      "message",
      "message result finish_reason response answer summary content text output",
      (text) => `finished: ${text}`,
      "finished",
    ),
  ],
  [
    "think sequentialthinking",
    byText("other", "thought thoughts text content", (text) => `thought: ${text}`, "thought"),
  ],
  ["skill useskill", byText("other", "skill name command skill_name", (text) => `used skill ${text}`)],
];

const TOOLS: ReadonlyMap<string, Reader> = new Map(
  TABLE.flatMap(([names, reader]) => names.split(" ").map((name): [string, Reader] => [name, reader])),
);

/** Normalizes `functions.exec_command`, `EditActionArguments` and `run-command` to table names. */
function plainName(name: string): string {
  return name
    .slice(0, 100)
    .replace(/^functions?\./, "")
    .replace(/(?:Action)?(?:Args|Arguments)$/, "")
    .replace(/[-_.\s]/g, "")
    .toLowerCase();
}

// ---- tools missing from the table

const RUNNER = /bash|shell|exec|terminal|command/i;

function readByArguments(given: Given): Action {
  return (given.name.startsWith("mcp__") ? undefined : readerFor(given)?.(given)) ?? generic(given);
}

function readerFor({ name, args }: Given): Reader | undefined {
  const hasPath = pathsOf(args).length > 0;
  if (hasPath && textOf(args, OLD) !== undefined) return edit;
  if (hasPath && /write|create|save/i.test(name)) return write;
  return RUNNER.test(name) ? run : undefined;
}

/** The tool's name in words, with its short arguments. */
function generic({ name, args, text }: Given): Action {
  const title = name.replace(/^mcp__/, "").replace(/__/g, " ");
  const told = text === undefined ? spokenArguments(args) : clipLine(text, 200);
  const kind = /^(?:web_|browser)/i.test(name) ? "web" : /ask_?(?:user|human)/i.test(name) ? "ask" : "other";
  return action(kind, told === "" ? title : `${title}: ${told}`);
}

const NOISE = /^(?:security_risk|timeout|timeout_ms|yield_time_ms|max_output_tokens)$/;

function spokenArguments(args: Arguments): string {
  return Object.entries(args)
    .slice(0, 20)
    .filter(([key]) => !NOISE.test(key))
    .flatMap(([key, value]) => {
      const spoken = spokenValue(value, 0);
      return spoken === "" ? [] : [`${key} ${spoken}`];
    })
    .join(", ");
}

/** A value in words: scalars unchanged, lists and objects as their scalars. */
function spokenValue(value: unknown, depth: number): string {
  if (depth > 3) return "";
  if (typeof value !== "object" || value === null) return scalar(value);
  const values: unknown[] = Object.values(value);
  const spoken = values.slice(0, 6).map((one) => spokenValue(one, depth + 1));
  const words = spoken.filter((text) => text !== "").join(Array.isArray(value) ? " + " : " ");
  return values.length > 6 ? `${words} …` : words;
}

function scalar(value: unknown): string {
  if (typeof value === "string") return clipLine(value, 120);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
