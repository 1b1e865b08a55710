import {
  type FieldReader,
  type FrontmatterFile,
  isDefinitionName,
  type Loaded,
  type Read,
  readDefinitions,
  readFields,
  readFrontmatter,
  readIdentity,
} from "../definition-files.ts";

export type HookEvent = "before_prompt" | "after_response" | "before_compact" | "after_subagent";

/**
 * What a skill runs at an event: a command, which needs permission like any other, or a function registered
 * by the host.
 */
export type Hook = ({ readonly run: string } | { readonly call: string }) & {
  readonly seconds: number;
  /** `file:line`. */
  readonly place: string;
};

export type SkillMemory = "none" | "relevant" | "session";

/** Instructions that a session activates on demand. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly whenToUse: string;
  /** The instructions. */
  readonly body: string;
  /** Names of the tools that can be called while it is in use. Default: all. */
  readonly allowedTools?: readonly string[];
  /** Globs relative to the workspace; calls that touch other files are refused while it is in use. */
  readonly paths?: readonly string[];
  /** Which memory goes into prompts while it is in use. */
  readonly memoryScope?: SkillMemory;
  readonly hooks: readonly (readonly [HookEvent, Hook])[];
  readonly place: string;
}

const HOOK_EVENTS: readonly HookEvent[] = [
  "before_prompt",
  "after_response",
  "before_compact",
  "after_subagent",
];
/** The spellings of other programs, `allowed-tools` and `allowedTools`, are equivalent. */
const FIELDS = ["name", "description", "when_to_use", "allowed_tools", "paths", "hooks", "memory_scope"];
/** Fields of other programs' skills that have no effect here. */
const FOREIGN = ["license", "metadata", "version", "compatibility", "author", "tags"];
const SCOPES = ["none", "relevant", "session"] as const;
const HOOK_SECONDS = 10;
const MOST_HOOK_SECONDS = 120;

/**
 * Reads the skills of folders such as `skills/`: `name.md` and `name/SKILL.md`; for duplicate names, the
 * later folder wins.
 */
export function loadSkills(folders: readonly string[]): Promise<Loaded<Skill>> {
  return readDefinitions(folders, readSkill, "SKILL.md");
}

/** Reads one skill. An invalid hook is skipped and reported; an invalid bound makes the skill unusable. */
function readSkill(text: string, path: string): Read<Skill> {
  const { file, twice } = inOurSpelling(readFrontmatter(text, path));
  const fields = readFields(file);
  for (const field of twice) fields.wrong(field, "stands there twice, in two spellings", "Keep one of them.");
  const { name, description } = readIdentity(fields, "Say in a sentence what the skill does.");
  if (file.body === "")
    fields.wrong("name", "the skill has no text", "Write the instructions behind the frontmatter.");
  const bounds = readBounds(fields);
  const isUsable = !fields.problems.some(
    ({ code }) => code === "bad-frontmatter" || code === "no-frontmatter",
  );
  const hooks = readHooks(file, fields);
  fields.tellOthers([...FIELDS, ...FOREIGN]);
  const whenToUse = fields.text("when_to_use") ?? "";
  const made: Skill = { name, description, whenToUse, body: file.body, ...bounds, hooks, place: path };
  return { made: isUsable ? made : undefined, problems: fields.problems };
}

function inOurSpelling(file: FrontmatterFile): { readonly file: FrontmatterFile; readonly twice: string[] } {
  const spelt = new Map<string, string>();
  const fields: Record<string, unknown> = {};
  const twice: string[] = [];
  for (const [name, value] of Object.entries(file.fields)) {
    const plain = name
      .replace(/(?<=[a-z])[A-Z]/g, "_$&")
      .replaceAll("-", "_")
      .toLowerCase();
    const own = FIELDS.includes(plain) ? plain : name;
    if (spelt.has(own)) twice.push(own);
    spelt.set(own, name);
    fields[own] = value;
  }
  const placeOf = (field: string): string => file.placeOf(spelt.get(field) ?? field);
  return { file: { ...file, fields, placeOf }, twice };
}

const BOUNDS = ["allowed_tools", "paths", "memory_scope"];
const LOOKS_LIKE_A_BOUND = /tool|path|permission|allow|deny|scope|sandbox/i;

/** Tool names as a list, or as text separated by commas or (as in Agent Skills) spaces. */
function toolNames(fields: FieldReader): readonly string[] | undefined {
  const names = fields
    .list("allowed_tools")
    ?.flatMap((name) => (/[()]/.test(name) ? [name] : name.split(/\s+/)));
  const narrowed = names?.find((name) => /[()*]/.test(name));
  if (narrowed !== undefined)
    fields.wrong(
      "allowed_tools",
      `"${narrowed}" narrows a tool's arguments, which is not possible here`,
      "Name the tools alone, and bound what they touch with paths.",
    );
  return names;
}

/**
 * A declared bound is enforced or the skill is not used, even if the YAML is broken and the line unreadable.
 */
function readBounds(fields: FieldReader): Pick<Skill, "allowedTools" | "paths" | "memoryScope"> {
  const allowedTools = toolNames(fields);
  for (const field of Object.keys(fields.raw)) {
    if (!FIELDS.includes(field) && LOOKS_LIKE_A_BOUND.test(field))
      fields.wrong(
        field,
        "looks like a bound that is not known here",
        `The bounds are ${BOUNDS.join(", ")}.`,
      );
  }
  const paths = fields.list("paths");
  const memoryScope = fields.choice("memory_scope", SCOPES);
  return { allowedTools, paths, memoryScope };
}

const THE_EVENTS = `The events are ${HOOK_EVENTS.join(", ")}.`;

function readHooks({ fields: { hooks }, lenient }: FrontmatterFile, fields: FieldReader): Skill["hooks"] {
  const none = (message: string, hint = THE_EVENTS): [] => {
    fields.wrong("hooks", message, hint);
    return [];
  };
  if (hooks === undefined || hooks === null) {
    const isBroken = lenient && "hooks" in fields.raw;
    const problem = "cannot be read while the YAML is broken; none is run";
    return isBroken ? none(problem, "Mend the line that is named above.") : [];
  }
  if (typeof hooks !== "object" || Array.isArray(hooks))
    return none("events with lists are expected; none is run");
  return Object.entries(hooks).flatMap(([name, declared]) => {
    const event = HOOK_EVENTS.find((one) => one === name);
    if (event === undefined) return none(`there is no event "${name}"; it is not run`);
    const list: readonly unknown[] = Array.isArray(declared) ? declared : [declared];
    return list.flatMap((one) => {
      const hook = readHook(one, fields.placeOf("hooks"));
      if (typeof hook !== "string") return [[event, hook] as const];
      return none(
        `${name}: ${hook}; it is not run`,
        "Write - run: COMMAND, or - call: FUNCTION, with seconds: 10 where it may take long.",
      );
    });
  });
}

/** A hook, or the reason it is invalid. Prose is never taken for a command. */
function readHook(declared: unknown, place: string): Hook | string {
  if (typeof declared === "string") return namedHook(declared, HOOK_SECONDS, place);
  if (typeof declared !== "object" || declared === null) return `${JSON.stringify(declared)} is no hook`;
  const { run, call, seconds = HOOK_SECONDS, ...rest } = declared as Record<string, unknown>;
  const [other] = Object.keys(rest);
  if (other !== undefined) return `"${other}" is no part of a hook`;
  if (typeof seconds !== "number" || !(seconds > 0 && seconds <= MOST_HOOK_SECONDS))
    return `seconds must be over 0, up to ${MOST_HOOK_SECONDS}`;
  if (typeof run === "string" && call === undefined && run.trim() !== "") return { run, seconds, place };
  if (typeof call === "string" && run === undefined) return namedHook(call, seconds, place);
  return "either a command (run) or a function (call) is expected";
}

function namedHook(call: string, seconds: number, place: string): Hook | string {
  return isDefinitionName(call)
    ? { call, seconds, place }
    : `"${call.slice(0, 60)}" is no name of a function`;
}
