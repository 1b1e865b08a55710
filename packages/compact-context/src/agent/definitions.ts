import { join } from "node:path";
import { requireText } from "../errors.ts";
import type { Diagnostic } from "./event.ts";
import { loadSkills, type Skill } from "./skills/skill.ts";
import { loadSubAgents, type SubAgent } from "./sub-agents/sub-agent.ts";

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
