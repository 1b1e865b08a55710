import { type Deadline, orAborted } from "../../host.ts";
import { objectOf, textOf } from "../../providers/request.ts";
import { type AgentEvent, type Diagnostic, diagnosticText, wordsOf } from "../event.ts";
import type { AgentTool, Permissions } from "../tool.ts";
import { type PathBound, refusalOf, startShared } from "../tool-runs.ts";
import type { Hook, HookEvent, Skill, SkillMemory } from "./skill.ts";

/** Argument of a hook. */
export interface HookContext {
  readonly event: HookEvent;
  readonly skill: string;
  readonly sessionId: string;
  /** The prompt, the answer, the sub-agent's answer, or the reason for the compaction. */
  readonly text: string;
  readonly signal: AbortSignal;
}

/** The returned text is reported; before a prompt it is added to the prompt. */
export type HookFunction = (context: HookContext) => string | undefined | Promise<string | undefined>;

/** Runs a command that a skill declares; resolves to its output, rejects on failure. */
export type RunCommand = (command: string, context: HookContext) => Promise<string>;

export interface HookPorts {
  readonly hookFunctions?: Readonly<Record<string, HookFunction>>;
  /** If omitted, commands of skills are not run. */
  readonly runCommand?: RunCommand;
  readonly permissions?: Permissions;
}

/** Skills active in one session. */
export interface SkillSession {
  readonly inUse: readonly SkillInUse[];
  /** Activates a skill and reports hooks that cannot run. Undefined for an unknown name. */
  begin(
    name: string,
    by: SkillInUse["by"],
  ): { readonly skill: Skill; readonly problems: readonly Diagnostic[] } | undefined;
  /** Deactivates a skill. Only the user can deactivate what the user activated: otherwise false. */
  end(name: string, by: SkillInUse["by"]): boolean;
  /** Why a tool cannot be called now; undefined if it can. */
  refuse(tool: string): string | undefined;
  readonly bounds: readonly PathBound[];
  /** The narrowest scope among the skills in use. */
  readonly memoryScope: SkillMemory | undefined;
  /**
   * Runs the hooks of the skills in use, sequentially; failures are reported. Resolves to their combined
   * output.
   */
  run(event: HookEvent, text: string, signal: AbortSignal): Promise<string>;
}

export interface SkillInUse {
  readonly skill: Skill;
  readonly by: "user" | "model";
}

export interface SkillSessionOptions {
  readonly skills: readonly Skill[];
  readonly sessionId: string;
  readonly ports: HookPorts;
  readonly emit: (event: AgentEvent) => void;
  /** Monotonic clock, milliseconds. */
  readonly clock: () => number;
}

const NARROWEST: readonly SkillMemory[] = ["none", "session", "relevant"];
/** Maximum characters of one hook's text. */
const MOST_TEXT = 2000;

export function createSkillSession(options: SkillSessionOptions): SkillSession {
  const { skills, emit } = options;
  const inUse: SkillInUse[] = [];
  return {
    inUse,
    begin(name, by) {
      const skill = skills.find((one) => one.name === name);
      if (skill === undefined) return undefined;
      const known = inUse.findIndex((one) => one.skill.name === name);
      if (known === -1) inUse.push({ skill, by });
      else if (by === "user") inUse[known] = { skill, by };
      if (known === -1) emit({ type: "skillStarted", name });
      return { skill, problems: problemsOf(skill, options.ports) };
    },
    end(name, by) {
      const index = inUse.findIndex((one) => one.skill.name === name);
      if (index === -1 || (by === "model" && inUse[index]?.by === "user")) return false;
      inUse.splice(index, 1);
      emit({ type: "skillEnded", name });
      return true;
    },
    refuse(tool) {
      const by = inUse.find(({ skill }) => skill.allowedTools?.includes(tool) === false)?.skill;
      if (by === undefined) return undefined;
      return `Not run: the skill ${by.name} is in use and allows only ${by.allowedTools?.join(", ") || "no tools"}.`;
    },
    get bounds() {
      return inUse.flatMap(({ skill }) =>
        skill.paths === undefined ? [] : [{ by: `the skill ${skill.name}`, paths: skill.paths }],
      );
    },
    get memoryScope() {
      return NARROWEST.find((scope) => inUse.some(({ skill }) => skill.memoryScope === scope));
    },
    async run(event, text, signal) {
      const due = inUse.flatMap(({ skill }) =>
        skill.hooks.flatMap(([when, hook]) => (when === event ? [{ hook, skill, event, text }] : [])),
      );
      const said: string[] = [];
      for (const run of due) said.push(signal.aborted ? "" : await runHook(run, options, signal));
      return said.filter((output) => output !== "").join("\n");
    },
  };
}

interface HookRun {
  readonly hook: Hook;
  readonly skill: Skill;
  readonly event: HookEvent;
  readonly text: string;
}

async function runHook(run: HookRun, options: SkillSessionOptions, signal: AbortSignal): Promise<string> {
  const { hook, skill, event, text } = run;
  const { emit, clock, sessionId, ports } = options;
  let deadline: Deadline | undefined;
  try {
    const start = await orAborted(ready(run, ports, signal), signal);
    // The hook's timeout starts once it runs: waiting for a person's permission is unlimited.
    deadline = startShared(hook.seconds * 1000, signal);
    const started = clock();
    const context = { event, skill: skill.name, sessionId, text, signal: deadline.signal };
    const output = ((await orAborted(start(context), deadline.signal)) ?? "").trim().slice(0, MOST_TEXT);
    emit({ type: "hookRan", skill: skill.name, event, output, elapsedMs: clock() - started });
    return output;
  } catch (error) {
    const late = deadline?.passed() === true;
    const why = late ? `took longer than ${hook.seconds} s` : `failed: ${wordsOf(error)}`;
    const message = `the ${event} hook of the skill ${skill.name} ${why}`;
    emit({ type: "warning", diagnostic: { code: "hook-failed", message, place: hook.place } });
    return "";
  } finally {
    deadline?.stop();
  }
}

/** The function that starts the hook, after permission for a command was granted. */
async function ready(
  { hook, skill }: HookRun,
  ports: HookPorts,
  signal: AbortSignal,
): Promise<(context: HookContext) => Promise<string | undefined>> {
  const problem = unrunnable(hook, ports);
  if (problem !== undefined) throw new Error(problem.message);
  const { hookFunctions = {}, runCommand, permissions } = ports;
  if ("call" in hook) return async (context) => hookFunctions[hook.call]?.(context);
  const asked = { tool: "run", arguments: { command: hook.run }, skill: skill.name, signal };
  const refused = permissions && refusalOf(await permissions(asked));
  if (refused !== undefined) throw new Error("the user did not allow the command");
  return async (context) => runCommand?.(hook.run, context);
}

/** Why a hook cannot run, and how to fix it. */
function unrunnable(
  hook: Hook,
  { hookFunctions = {}, runCommand, permissions }: HookPorts,
): Pick<Diagnostic, "message" | "hint"> | undefined {
  if ("run" in hook) {
    if (runCommand !== undefined && permissions !== undefined) return undefined;
    const hint = "The host runs no commands of skills: pass runCommand and permissions.";
    return { message: `"${hook.run}" is not run`, hint };
  }
  if (Object.hasOwn(hookFunctions, hook.call)) return undefined;
  const known = Object.keys(hookFunctions).join(", ") || "none";
  const hint = `Registered are: ${known}. A command is declared as - run: COMMAND.`;
  return { message: `no function is registered as "${hook.call}"`, hint };
}

function problemsOf({ hooks }: Skill, ports: HookPorts): Diagnostic[] {
  return hooks.flatMap(([event, hook]) => {
    const problem = unrunnable(hook, ports);
    if (problem === undefined) return [];
    return [{ ...problem, code: "bad-hook", message: `${event}: ${problem.message}`, place: hook.place }];
  });
}

export const USE_SKILL = "use_skill";

/** The tool with which a model activates or deactivates a skill. */
export function useSkillTool(
  skills: readonly Skill[],
  session: () => SkillSession,
  warn: (problem: Diagnostic) => void,
): AgentTool {
  const list = skills.map(({ name, description, whenToUse }) => {
    const when = whenToUse === "" ? "" : ` Use it when: ${whenToUse}`;
    return `- ${name}: ${description}${when}`;
  });
  return {
    name: USE_SKILL,
    description: `Takes up a skill and gives its instructions; they hold until it is put down.\n${list.join("\n")}`,
    schema: {
      type: "object",
      properties: {
        name: { type: "string", description: "The skill.", enum: skills.map(({ name }) => name) },
        end: { type: "boolean", description: "True to put the skill down; false when left out." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    paths: "none",
    execute(args) {
      const { name, end } = objectOf(args);
      if (end === true) {
        if (session().end(textOf(name), "model")) return `The skill ${textOf(name)} is put down.`;
        throw new Error(`the skill ${textOf(name)} is not in use, or the user took it up`);
      }
      const begun = session().begin(textOf(name), "model");
      if (begun === undefined)
        throw new Error(
          `there is no skill "${textOf(name)}"; there are ${skills.map((one) => one.name).join(", ")}`,
        );
      begun.problems.forEach(warn);
      return skillText(begun.skill, begun.problems);
    },
  };
}

/** A skill as shown to a model. */
export function skillText(
  { name, body, allowedTools, paths }: Skill,
  problems: readonly Diagnostic[],
): string {
  const bounds = [
    allowedTools === undefined
      ? ""
      : `While it is in use, only these tools may be called: ${allowedTools.join(", ")}.`,
    paths === undefined ? "" : `While it is in use, only these files may be touched: ${paths.join(", ")}.`,
    ...problems.map((problem) => `Not run: ${diagnosticText(problem)}`),
  ].filter((line) => line !== "");
  return [`Skill ${name}.`, ...bounds, "", body].join("\n");
}
