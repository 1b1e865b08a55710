import { objectOf, textOf } from "../../providers/request.ts";
import { type Diagnostic, diagnosticText } from "../event.ts";
import type { AgentTool } from "../tool.ts";
import type { Skill } from "./skill.ts";
import type { SkillSession } from "./skill-session.ts";

export const USE_SKILL = "use_skill";

/** The tool with which a model takes up a skill, or puts it down. */
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

/** A skill as a model reads it. */
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
