import type { AttemptFailure, SummaryAttempt } from "../../core/ports.ts";
import { type Ask, attempt, type KnownModel, type PartToAsk, type Run, type Tried } from "./run.ts";

/** Most times that a shorter text is asked for, each time half of the last. */
const SHORTER = 2;
/** Least tokens worth asking for. */
const LEAST = 48;
/** Room for thinking that is given to a model whose answer was nothing else. */
const THINKING_TOKENS = 8192;

/** What one model made of one part: its text, or why there is none. */
export type Climbed =
  | { readonly text: string; readonly strategy: Ask["strategy"] }
  | { readonly last: SummaryAttempt };

/**
 * Asks one model about one part, down the rungs that may help: shorter (twice at most), with room to think (once),
 * `brief` after a refusal (once). Every attempt but the last is told; the last one's fallback is the caller's to name.
 */
export async function climb(known: KnownModel, part: PartToAsk, run: Run): Promise<Climbed> {
  let wanted: Ask = { strategy: run.strategy, maxTokens: run.room };
  let shorter = 0;
  let thinking = false;
  for (;;) {
    const tried: Tried = await attempt(known, part, wanted, run);
    if (tried.text !== undefined) {
      run.request.onAttempt?.(tried.attempt);
      return { text: tried.text, strategy: wanted.strategy };
    }
    const next = nextRung(tried.attempt.outcome as AttemptFailure, wanted, { shorter, thinking, known });
    if (next === undefined) return { last: tried.attempt };
    if (next.rung === "shorter") shorter += 1;
    if (next.rung === "thinking") {
      thinking = true;
      known.thinkingTokens = THINKING_TOKENS;
    }
    run.request.onAttempt?.({ ...tried.attempt, fallback: next.rung });
    wanted = next.wanted;
  }
}

interface Climb {
  readonly shorter: number;
  readonly thinking: boolean;
  readonly known: KnownModel;
}

function nextRung(
  failure: AttemptFailure,
  wanted: Ask,
  { shorter, thinking, known }: Climb,
): { readonly rung: "shorter" | "thinking" | "brief"; readonly wanted: Ask } | undefined {
  if (failure === "too-long" || failure === "truncated") {
    const maxTokens = Math.floor(wanted.maxTokens / 2);
    return shorter < SHORTER && maxTokens >= LEAST
      ? { rung: "shorter", wanted: { ...wanted, maxTokens } }
      : undefined;
  }
  if (failure === "refusal") {
    return wanted.strategy === "brief"
      ? undefined
      : { rung: "brief", wanted: { ...wanted, strategy: "brief" } };
  }
  if (failure === "reasoning-only" && !thinking && known.thinkingTokens < THINKING_TOKENS)
    return { rung: "thinking", wanted };
  return undefined;
}
