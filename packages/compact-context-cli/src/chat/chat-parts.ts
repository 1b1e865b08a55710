import type { Agent } from "compact-context/internal/agent/agent";
import type { AgentModel } from "compact-context/internal/agent/agent-model";
import type { Skill } from "compact-context/internal/agent/skills/skill";
import type { ChatInput } from "./input.ts";
import type { Interrupts } from "./interrupts.ts";
import type { ChatScreen } from "./screen.ts";

/** What one chat is made of. */
export interface Chat {
  readonly agent: Agent;
  readonly screen: ChatScreen;
  readonly input: ChatInput;
  readonly interrupts: Interrupts;
  readonly skills: readonly Skill[];
  /** The working folder, which paths are named from. */
  readonly folder: string;
  /** The model of a name such as `openai/gpt-5.4`. */
  modelNamed(name: string): Promise<AgentModel>;
  /** Milliseconds of a steady clock. */
  clock(): number;
}
