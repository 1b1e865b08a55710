import type { RequestedCompaction } from "../core/report.ts";
import { requireFunction, requireOptions } from "../errors.ts";
import { COMPACT_TOOL, textIn } from "./arguments.ts";
import { type RecallTool, safely, schema } from "./tools.ts";

/** What a manager gives. */
export interface CompactionSource {
  requestCompaction(sessionId: string, note?: string): RequestedCompaction;
}

const HINT = "Pass the manager, which the tool asks.";

/**
 * A tool with which a model asks for a compaction, such as between two parts of its work. The list is compacted by the
 * next preflight, at most once in ten calls and not below half of the trigger; a refusal says why.
 */
export function compactTool(source: CompactionSource, sessionId: string): RecallTool {
  requireOptions(source, "source", HINT);
  requireFunction(source.requestCompaction, "source.requestCompaction", HINT);
  return {
    name: COMPACT_TOOL,
    description:
      "Summarizes the older part of this conversation to make room, such as when one part of the work is done and another begins. Everything that leaves stays searchable.",
    parameters: schema(
      { keep: { type: "string", description: "What the summary must preserve for the work that follows." } },
      [],
    ),
    execute: (args) =>
      safely(args, async (given) => {
        const note = given.keep === undefined || given.keep === "" ? "" : textIn(given, "keep");
        return answerOf(source.requestCompaction(sessionId, note));
      }),
  };
}

function answerOf({ accepted, tokens, triggerTokens, waitCalls }: RequestedCompaction): string {
  if (accepted)
    return "The older part of the conversation is summarized before your next step. Go on with the work.";
  if (waitCalls > 0) return `Not now: it was compacted a few steps ago. Ask again after ${waitCalls} steps.`;
  const full =
    triggerTokens === 0 ? "" : ` It takes ${tokens} tokens; from ${triggerTokens} on it is done by itself.`;
  return `Not needed: the conversation is small.${full}`;
}
