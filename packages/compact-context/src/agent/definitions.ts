import { join } from "node:path";
import { defined, requireText } from "../errors.ts";
import type { ThinkingLevel } from "./agent-message.ts";
import { type Frontmatter, isDefinitionName, type Loaded, readDefinitions } from "./definition-files.ts";
import type { Diagnostic } from "./event.ts";
import type { AgentLimits } from "./tool.ts";

/** Definitions from an agent's folders: `createAgent({ skills, subAgents, … })`. */
export interface Definitions {
  readonly skills: readonly Skill[];
  readonly subAgents: readonly SubAgent[];
  /** Problems of individual files; the other files are used. */
  readonly problems: readonly Diagnostic[];
}

/**
 * Reads `skills/` and `sub-agents/` of folders such as the workspace and the channel; for duplicate names,
 * the later folder wins. A missing folder defines nothing.
 */
export async function loadDefinitions(...folders: readonly string[]): Promise<Definitions> {
  for (const [index, folder] of folders.entries())
    requireText(folder, `folders[${index}]`, "Pass the path of a folder.");
  const skills = await loadSkills(folders.map((folder) => join(folder, "skills")));
  const subAgents = await loadSubAgents(folders.map((folder) => join(folder, "sub-agents")));
  return {
    skills: skills.found,
    subAgents: subAgents.found,
    problems: [...skills.problems, ...subAgents.problems],
  };
}

// ---- sub-agents

export type SubAgentMemory = "none" | "relevant" | "session" | "channel";

/** An agent that works for another agent, with its own session and prompt. */
export interface SubAgent {
  readonly name: string;
  /** Shown to the agent that can call it. */
  readonly description: string;
  /** The system prompt. */
  readonly prompt: string;
  /** Names of the parent's tools that it can use. Default: all. Never includes the tool that starts sub-agents. */
  readonly tools?: readonly string[];
  /** Default: the parent's model. */
  readonly model?: string;
  /** `isolated` sees only its prompt and its task. */
  readonly contextMode: "isolated" | "contextual";
  /** Channel memory placed before the task of a contextual sub-agent. */
  readonly memory: SubAgentMemory;
  /** Globs relative to the workspace; calls that touch other files are refused. */
  readonly paths?: readonly string[];
  readonly thinkingLevel?: ThinkingLevel;
  readonly limits: Partial<AgentLimits>;
  /** The file that defines it. */
  readonly place: string;
}

const SUB_AGENT_FIELDS = [
  "name",
  "description",
  "tools",
  "model",
  "contextMode",
  "memory",
  "paths",
  "thinkingLevel",
  "maxTurns",
  "maxToolCalls",
  "maxSeconds",
];
const DAY_SECONDS = 86_400;

/** An invalid field makes a definition unusable, because an intended limit would not apply. */
export function loadSubAgents(folders: readonly string[]): Promise<Loaded<SubAgent>> {
  return readDefinitions(folders, { read: readSubAgent });
}

function readSubAgent(file: Frontmatter, place: string): SubAgent {
  const { name, description } = file.identity("Say in a sentence what to call it for.");
  const contextMode = file.choice("contextMode", ["isolated", "contextual"]) ?? "isolated";
  const memory = file.choice("memory", ["none", "relevant", "session", "channel"]);
  file.tellOthers(SUB_AGENT_FIELDS);
  if (contextMode === "isolated" && memory !== undefined && memory !== "none")
    file.remark(
      "memory",
      "an isolated sub-agent gets no memory",
      "Set contextMode: contextual, or leave memory out.",
    );
  const seconds = file.amount("maxSeconds", DAY_SECONDS);
  return {
    name,
    description,
    prompt: file.body,
    tools: file.list("tools"),
    model: file.text("model"),
    contextMode,
    memory: contextMode === "isolated" ? "none" : (memory ?? "relevant"),
    paths: file.list("paths"),
    thinkingLevel: file.choice("thinkingLevel", ["off", "minimal", "low", "medium", "high"]),
    limits: defined({
      requests: file.amount("maxTurns", 1000),
      calls: file.amount("maxToolCalls", 10_000),
      wallMs: seconds && seconds * 1000,
    }),
    place,
  };
}

// ---- skills

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
const SKILL_FIELDS = [
  "name",
  "description",
  "when_to_use",
  "allowed_tools",
  "paths",
  "hooks",
  "memory_scope",
];
/** Fields of other programs' skills that have no effect here. */
const FOREIGN = ["license", "metadata", "version", "compatibility", "author", "tags"];
const BOUNDS = ["allowed_tools", "paths", "memory_scope"];
const LOOKS_LIKE_A_BOUND = /tool|path|permission|allow|deny|scope|sandbox/i;
const HOOK_SECONDS = 10;
const MOST_HOOK_SECONDS = 120;

/** Skills are `name.md` and `name/SKILL.md`. An invalid hook is skipped; an invalid bound makes one unusable. */
export function loadSkills(folders: readonly string[]): Promise<Loaded<Skill>> {
  return readDefinitions(folders, { index: "SKILL.md", spelled: inOurSpelling, read: readSkill });
}

/** The spellings of other programs, `allowed-tools` and `allowedTools`, are equivalent. */
function inOurSpelling(field: string): string {
  const plain = field.replace(/(?<=[a-z])[A-Z]/g, "_$&").replaceAll("-", "_");
  return SKILL_FIELDS.includes(plain.toLowerCase()) ? plain.toLowerCase() : field;
}

function readSkill(file: Frontmatter, place: string): Skill {
  const { name, description } = file.identity("Say in a sentence what the skill does.");
  if (file.body === "")
    file.wrong("name", "the skill has no text", "Write the instructions behind the frontmatter.");
  const allowedTools = toolNames(file);
  for (const field of file.fields.keys()) {
    if (SKILL_FIELDS.includes(field) || !LOOKS_LIKE_A_BOUND.test(field)) continue;
    file.wrong(field, "looks like a bound that is not known here", `The bounds are ${BOUNDS.join(", ")}.`);
  }
  const made: Skill = {
    name,
    description,
    whenToUse: file.text("when_to_use") ?? "",
    body: file.body,
    allowedTools,
    paths: file.list("paths"),
    memoryScope: file.choice("memory_scope", ["none", "relevant", "session"]),
    hooks: readHooks(file),
    place,
  };
  file.tellOthers([...SKILL_FIELDS, ...FOREIGN]);
  return made;
}

/** Tool names as a list, or as text separated by commas or (as in Agent Skills) spaces. */
function toolNames(file: Frontmatter): readonly string[] | undefined {
  const names = file
    .list("allowed_tools")
    ?.flatMap((name) => (/[()]/.test(name) ? [name] : name.split(/\s+/)));
  const narrowed = names?.find((name) => /[()*]/.test(name));
  if (narrowed !== undefined)
    file.wrong(
      "allowed_tools",
      `"${narrowed}" narrows a tool's arguments, which is not possible here`,
      "Name the tools alone, and bound what they touch with paths.",
    );
  return names;
}

function readHooks(file: Frontmatter): Skill["hooks"] {
  const hooks = file.fields.get("hooks");
  const none = (message: string, hint: string): [] => {
    file.wrong("hooks", message, hint, "bad-hook");
    return [];
  };
  const events = `The events are ${HOOK_EVENTS.join(", ")}.`;
  if (hooks === undefined) return [];
  if (file.isBroken)
    return none("none is run while the YAML is broken", "Mend the line that is named above.");
  if (typeof hooks !== "object" || hooks === null || Array.isArray(hooks))
    return none("events with lists are expected; none is run", events);
  return Object.entries(hooks).flatMap(([name, declared]) => {
    const event = HOOK_EVENTS.find((one) => one === name);
    if (event === undefined) return none(`there is no event "${name}"; it is not run`, events);
    const list: readonly unknown[] = Array.isArray(declared) ? declared : [declared];
    return list.flatMap((one) => {
      const hook = readHook(one, file.placeOf("hooks"));
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
  if (typeof declared === "string") return readHook({ call: declared }, place);
  if (typeof declared !== "object" || declared === null) return `${JSON.stringify(declared)} is no hook`;
  const { run, call, seconds = HOOK_SECONDS, ...rest } = declared as Record<string, unknown>;
  const [other] = Object.keys(rest);
  if (other !== undefined) return `"${other}" is no part of a hook`;
  if (typeof seconds !== "number" || !(seconds > 0 && seconds <= MOST_HOOK_SECONDS))
    return `seconds must be over 0, up to ${MOST_HOOK_SECONDS}`;
  if (typeof run === "string" && call === undefined && run.trim() !== "") return { run, seconds, place };
  if (typeof call !== "string" || run !== undefined)
    return "either a command (run) or a function (call) is expected";
  return isDefinitionName(call)
    ? { call, seconds, place }
    : `"${call.slice(0, 60)}" is no name of a function`;
}
