// Compiled, never run: the adapter matches the SDK's types.
import * as sdk from "@openai/agents";
import { Agent, MemorySession, Runner, type Session } from "@openai/agents";
import { CompactManager } from "compact-context";
import {
  CompactSession,
  compactInputFilter,
  createSpanExporter,
} from "compact-context/adapters/openai-agents";
import { formatTools, recallTools } from "compact-context/recall";
import { z } from "zod";

const spans = createSpanExporter(sdk);
const manager = new CompactManager({ model: "gpt-4o" }, { exporters: [spans] });
const callModelInputFilter = compactInputFilter({ manager, sessionId: "typed", spans });
export const runner: Runner = new Runner({ callModelInputFilter });
const agent = new Agent({ name: "typed", model: "gpt-4o" });
const context = { user: "u" };
const perUser = compactInputFilter({
  manager,
  sessionId: (call) => String((call.context as typeof context).user),
});
export const perAgent: Runner = new Runner({
  callModelInputFilter: compactInputFilter({ manager, sessionId: ({ agent }) => agent.name }),
});
const own = sdk.tool({
  name: "weigh",
  description: "Weighs a rope.",
  parameters: z.object({ rope: z.string() }),
  execute: async ({ rope }) => String(rope.length),
});
const recall = formatTools(recallTools(manager, "typed"), "openai-agents");
export const recalling: unknown = new Agent({ name: "typed", tools: [own, ...recall] });
export const session: Session = new CompactSession({ manager, underlyingSession: new MemorySession() });
export const called: Session = CompactSession({ manager, underlyingSession: new MemorySession() });
export const run: Promise<unknown> = runner.run(agent, "hello", {
  session,
  context,
  callModelInputFilter: perUser,
});
const kept: Session = new MemorySession();
export const compacted: Promise<null> = new CompactSession({
  manager,
  underlyingSession: kept,
}).runCompaction({
  force: true,
});
