import type { KeepCounts } from "./partition.ts";

/**
 * FIT-1: gives up one recent turn, then one tool pair, in turn, down to one of each. Yields the counts
 * to try, the given ones first; `keepRecentMessages` is halved in place of turns.
 */
export function* relaxations(keep: KeepCounts): Generator<KeepCounts> {
  let current = keep;
  let turnNext = true;
  yield current;
  while (canGiveTurn(current) || current.keepToolIoPairs > 1) {
    if ((turnNext && canGiveTurn(current)) || current.keepToolIoPairs <= 1) current = giveTurn(current);
    else current = { ...current, keepToolIoPairs: current.keepToolIoPairs - 1 };
    turnNext = !turnNext;
    yield current;
  }
}

function canGiveTurn(keep: KeepCounts): boolean {
  return (keep.keepRecentMessages ?? keep.keepRecentTurns) > 1;
}

function giveTurn(keep: KeepCounts): KeepCounts {
  if (keep.keepRecentMessages === undefined) return { ...keep, keepRecentTurns: keep.keepRecentTurns - 1 };
  return { ...keep, keepRecentMessages: Math.floor(keep.keepRecentMessages / 2) };
}
