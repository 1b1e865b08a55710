import type { CompactionPlan } from "compact-context";
import { planCompaction } from "compact-context";
import type { Invocation } from "../command.ts";
import { readSource } from "../files/read.ts";
import { DECIDING } from "../flags.ts";
import { requestOf } from "../job.ts";
import { createProgress } from "../progress.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, type Settings, settingsFor } from "../settings.ts";
import { untouchedView } from "../views/compaction.ts";
import { headline } from "../views/headline.ts";
import { planView } from "../views/plan.ts";
import { commandLine } from "../words.ts";

export async function planSession({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const transcript = await readSource(source, flags.format, createProgress(ports));
  const settings = settingsFor(transcript, early, flags);
  const small = settings.tokensBefore <= settings.target;
  const planned = small ? undefined : planCompaction(transcript.messages, requestOf(transcript, settings));
  const plan = planned?.entries.some((entry) => entry.action !== "keep")
    ? told(planned, settings)
    : undefined;
  if (flags.json === true) {
    terminal.printJson(planJson(plan, settings));
    return 0;
  }
  terminal.print([
    ...headline(transcript, settings, terminal),
    ...(plan === undefined
      ? untouchedView(
          settings,
          terminal,
          commandLine(["compact", "plan", source.word ?? source.name], flags, DECIDING),
        )
      : planView(plan, transcript.messages, { terminal, all: flags.all === true })),
  ]);
  return 0;
}

/** The plan with the tokens counted in that only the provider's report tells of. */
function told(plan: CompactionPlan, { unseenTokens }: Settings): CompactionPlan {
  return {
    ...plan,
    tokensBefore: plan.tokensBefore + unseenTokens,
    tokensAfter: plan.tokensAfter + unseenTokens,
  };
}

function planJson(plan: CompactionPlan | undefined, settings: Settings): Record<string, unknown> {
  return {
    compacts: plan !== undefined,
    budget: settings.budget,
    target: settings.target,
    fixed_tokens: settings.fixedTokens,
    tokens_before: settings.tokensBefore,
    tokens_after_at_most: plan?.tokensAfter ?? settings.tokensBefore,
    summary_tokens_at_most: plan?.summaryTokens ?? 0,
    messages: (plan?.entries ?? []).map(
      ({ index, id, role, layer, action, tokens, tokensAfter, reason }) => ({
        index,
        id,
        role,
        layer: layer === "toolPairs" ? "tool_pairs" : layer,
        action,
        tokens,
        tokens_after: tokensAfter,
        reason,
      }),
    ),
  };
}
