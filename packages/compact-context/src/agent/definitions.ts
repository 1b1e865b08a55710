import { join } from "node:path";
import { requireText } from "../errors.ts";
import type { Diagnostic } from "./event.ts";
import { loadSkills, type Skill } from "./skills/skill.ts";
import { loadSubAgents, type SubAgent } from "./sub-agents/sub-agent.ts";

/** What an agent's folders define: `createAgent({ skills, subAgents, … })`. */
export interface Definitions {
  readonly skills: readonly Skill[];
  readonly subAgents: readonly SubAgent[];
  /** What is wrong with a file; the others are used. */
  readonly problems: readonly Diagnostic[];
}

/**
 * Reads `skills/` and `sub-agents/` of folders such as the workspace and the channel; of two definitions with one name
 * the later folder's is taken. A folder that is missing defines nothing.
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
