import { defined } from "../../errors.ts";
import type { ThinkingLevel } from "../agent-message.ts";
import {
  type FieldReader,
  type Loaded,
  type Read,
  readDefinitions,
  readFields,
  readFrontmatter,
  readIdentity,
} from "../definition-files.ts";
import type { AgentLimits } from "../tool.ts";

export type SubAgentMemory = "none" | "relevant" | "session" | "channel";

/** An agent that works for another agent, with its own session and prompt. */
export interface SubAgent {
  readonly name: string;
  /** Shown to the agent that can call it. */
  readonly description: string;
  /** The system prompt. */
  readonly prompt: string;
  /**
   * Names of the parent's tools that it can use. Default: all. Never includes the tool that starts
   * sub-agents.
   */
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

const LEVELS = ["off", "minimal", "low", "medium", "high"] as const;
const MODES = ["isolated", "contextual"] as const;
const MEMORIES = ["none", "relevant", "session", "channel"] as const;
const FIELDS = [
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

/** Reads the definitions of folders such as `sub-agents/`; for duplicate names, the later folder wins. */
export function loadSubAgents(folders: readonly string[]): Promise<Loaded<SubAgent>> {
  return readDefinitions(folders, readSubAgent);
}

/** Reads one definition. An invalid field makes it unusable, because an intended limit would not apply. */
function readSubAgent(text: string, path: string): Read<SubAgent> {
  const file = readFrontmatter(text, path);
  const fields = readFields(file);
  const { name, description } = readIdentity(fields, "Say in a sentence what to call it for.");
  const contextMode = fields.choice("contextMode", MODES) ?? "isolated";
  const memory = fields.choice("memory", MEMORIES);
  fields.tellOthers(FIELDS);
  if (contextMode === "isolated" && memory !== undefined && memory !== "none")
    fields.remark(
      "memory",
      "an isolated sub-agent gets no memory",
      "Set contextMode: contextual, or leave memory out.",
    );
  const made: SubAgent = {
    name,
    description,
    prompt: file.body,
    tools: fields.list("tools"),
    model: fields.text("model"),
    contextMode,
    memory: contextMode === "isolated" ? "none" : (memory ?? "relevant"),
    paths: fields.list("paths"),
    thinkingLevel: fields.choice("thinkingLevel", LEVELS),
    limits: limitsOf(fields),
    place: path,
  };
  const usable = fields.problems.every(({ code }) => code === "bad-yaml" || code === "remark");
  return { made: usable ? made : undefined, problems: fields.problems };
}

function limitsOf(fields: FieldReader): Partial<AgentLimits> {
  const seconds = fields.amount("maxSeconds", DAY_SECONDS);
  return defined({
    requests: fields.amount("maxTurns", 1000),
    calls: fields.amount("maxToolCalls", 10_000),
    wallMs: seconds === undefined ? undefined : seconds * 1000,
  });
}
