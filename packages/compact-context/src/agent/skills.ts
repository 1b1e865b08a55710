import { type Deadline, orAborted } from "../host.ts";
import { objectOf, textOf } from "../providers/request.ts";
import type { AgentOptions, HookContext } from "./agent-options.ts";
import type { Hook, HookEvent, Skill, SkillMemory } from "./definitions.ts";
import { type AgentEvent, type Diagnostic, diagnosticText, wordsOf } from "./event.ts";
import { type AgentTool, type Bound, refusalOf, startShared } from "./tool.ts";

interface SkillInUse {
  readonly skill: Skill;
  readonly by: "user" | "model";
}

interface SkillPorts {
  readonly sessionId: string;
  readonly options: AgentOptions;
  readonly emit: (event: AgentEvent) => void;
  /** Monotonic clock, milliseconds. */
  readonly clock: () => number;
}

const NARROWEST: readonly SkillMemory[] = ["none", "session", "relevant"];
/** Maximum characters of one hook's text. */
const MOST_TEXT = 2000;

/** Skills active in one session. */
export class SkillSession {
  readonly inUse: SkillInUse[] = [];
  readonly #ports: SkillPorts;

  constructor(ports: SkillPorts) {
    this.#ports = ports;
  }

  /** Activates a skill; returns its text for a model, and the hooks that cannot run. Undefined for an unknown name. */
  begin(
    name: string,
    by: SkillInUse["by"],
  ): { readonly text: string; readonly problems: readonly Diagnostic[] } | undefined {
    const { options, emit } = this.#ports;
    const skill = options.skills?.find((one) => one.name === name);
    if (skill === undefined) return undefined;
    const known = this.inUse.findIndex((one) => one.skill.name === name);
    if (known === -1) {
      this.inUse.push({ skill, by });
      emit({ type: "skillStarted", name });
    } else if (by === "user") this.inUse[known] = { skill, by };
    const problems = skill.hooks.flatMap(([event, hook]): Diagnostic[] => {
      const problem = unrunnable(hook, options);
      if (problem === undefined) return [];
      return [{ ...problem, code: "bad-hook", message: `${event}: ${problem.message}`, place: hook.place }];
    });
    return { text: skillText(skill, problems), problems };
  }

  /** Deactivates a skill. Only the user can deactivate what the user activated: otherwise false. */
  end(name: string, by: SkillInUse["by"]): boolean {
    const index = this.inUse.findIndex((one) => one.skill.name === name);
    if (index === -1 || (by === "model" && this.inUse[index]?.by === "user")) return false;
    this.inUse.splice(index, 1);
    this.#ports.emit({ type: "skillEnded", name });
    return true;
  }

  get bounds(): readonly Bound[] {
    return this.inUse.map(({ skill: { name, allowedTools: tools, paths } }) => ({
      by: `the skill ${name}`,
      tools,
      paths,
    }));
  }

  /** The narrowest scope among the skills in use. */
  get memoryScope(): SkillMemory | undefined {
    return NARROWEST.find((scope) => this.inUse.some(({ skill }) => skill.memoryScope === scope));
  }

  /** Runs the hooks of the skills in use, sequentially; failures are reported. Resolves to their combined output. */
  async run(event: HookEvent, text: string, signal: AbortSignal): Promise<string> {
    const due = this.inUse.flatMap(({ skill }) =>
      skill.hooks.flatMap(([when, hook]) => (when === event ? [{ hook, skill: skill.name }] : [])),
    );
    const said: string[] = [];
    for (const { hook, skill } of due) {
      if (signal.aborted) break;
      const { sessionId } = this.#ports;
      said.push(await runHook(hook, { event, skill, sessionId, text, signal }, this.#ports));
    }
    return said.filter((output) => output !== "").join("\n");
  }
}

async function runHook(
  hook: Hook,
  context: HookContext,
  { emit, clock, options }: SkillPorts,
): Promise<string> {
  const { event, skill, signal } = context;
  let deadline: Deadline | undefined;
  try {
    await orAborted(allowed(hook, context, options), signal);
    // The hook's timeout starts once it runs: waiting for a person's permission is unlimited.
    deadline = startShared(hook.seconds * 1000, signal);
    const started = clock();
    const within = { ...context, signal: deadline.signal };
    const work = (async () =>
      "call" in hook
        ? options.hookFunctions?.[hook.call]?.(within)
        : options.runCommand?.(hook.run, within))();
    const output = ((await orAborted(work, deadline.signal)) ?? "").trim().slice(0, MOST_TEXT);
    emit({ type: "hookRan", skill, event, output, elapsedMs: clock() - started });
    return output;
  } catch (error) {
    const late = deadline?.passed() === true;
    const why = late ? `took longer than ${hook.seconds} s` : `failed: ${wordsOf(error)}`;
    const message = `the ${event} hook of the skill ${skill} ${why}`;
    emit({ type: "warning", diagnostic: { code: "hook-failed", message, place: hook.place } });
    return "";
  } finally {
    deadline?.stop();
  }
}

/** Rejects if the hook cannot run, or the user does not allow its command. */
async function allowed(hook: Hook, { skill, signal }: HookContext, options: AgentOptions): Promise<void> {
  const problem = unrunnable(hook, options);
  if (problem !== undefined) throw new Error(problem.message);
  if ("call" in hook) return;
  const asked = { tool: "run", arguments: { command: hook.run }, skill, signal };
  const permission = (await options.permissions?.(asked)) ?? "allow";
  if (refusalOf(permission) !== undefined) throw new Error("the user did not allow the command");
}

/** Why a hook cannot run, and how to fix it. */
function unrunnable(
  hook: Hook,
  { hookFunctions = {}, runCommand, permissions }: AgentOptions,
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

export const USE_SKILL = "use_skill";

/** The tool with which a model activates or deactivates a skill. */
export function useSkillTool(
  skills: readonly Skill[],
  session: () => SkillSession,
  warn: (problem: Diagnostic) => void,
): AgentTool {
  const names = skills.map(({ name }) => name);
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
        name: { type: "string", description: "The skill.", enum: names },
        end: { type: "boolean", description: "True to put the skill down; false when left out." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    paths: "none",
    execute(args) {
      const { name: given, end } = objectOf(args);
      const name = textOf(given);
      if (end === true) {
        if (session().end(name, "model")) return `The skill ${name} is put down.`;
        throw new Error(`the skill ${name} is not in use, or the user took it up`);
      }
      const begun = session().begin(name, "model");
      if (begun === undefined) throw new Error(`there is no skill "${name}"; there are ${names.join(", ")}`);
      begun.problems.forEach(warn);
      return begun.text;
    },
  };
}

/** A skill as shown to a model. */
function skillText({ name, body, allowedTools, paths }: Skill, problems: readonly Diagnostic[]): string {
  const bounds = [
    allowedTools && `While it is in use, only these tools may be called: ${allowedTools.join(", ")}.`,
    paths && `While it is in use, only these files may be touched: ${paths.join(", ")}.`,
    ...problems.map((problem) => `Not run: ${diagnosticText(problem)}`),
  ].filter((line) => line !== undefined);
  return [`Skill ${name}.`, ...bounds, "", body].join("\n");
}
