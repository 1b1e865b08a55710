import { carriesCompaction } from "../messages/native-compaction.ts";
import { isUnderWay } from "../policy/partition.ts";
import { type Draft, editContext, floorOf, isTight, isTiny, type PlanInput, sum } from "./draft.ts";
import { applyEdit, type Edit } from "./edit.ts";

/** How texts are cut, tried in this order. */
interface Cuts {
  /** Shares of the room beside what is pinned and the newest ask that all else that is kept may take. */
  readonly within: readonly number[];
  /** Elided texts keep at least this much, in tokens, before fewer messages are kept. */
  readonly floors: readonly number[];
  /** Shares of that room that kept messages beside the newest ask may take. */
  readonly shares: readonly number[];
}
/** Below this many tokens the newest words would leave no room for a summary that says anything. */
const SMALL_LIMIT = 1500;
const CUTS: Cuts = { within: [0.6, 1], floors: [400, 48, 8], shares: [Number.POSITIVE_INFINITY, 0.5, 0] };
const SMALL_CUTS: Cuts = { ...CUTS, within: [0.3, 0.6, 1] };
const TIGHT_CUTS: Cuts = { within: [0.3, 0.6, 1], floors: [8], shares: [1, 0] };
/** The shortest that a text is cut to, in tokens. */
const LEAST = 8;

/** What the newest ask may take, as shares of the room beside what is pinned. */
interface AskShares {
  /** All of it, with what was injected and pasted; of the room that is aimed at. */
  readonly whole: number;
  /** The user's own words; of the room that there is. */
  readonly ownWords: number;
  /** What is left where even those are cut; of the room that is aimed at. */
  readonly cut: number;
}
const ASK_SHARES: AskShares = { whole: 0.5, ownWords: 0.75, cut: 0.75 };
/** Of a tight limit a summary has half beside an ask that must be cut anyway. */
const TIGHT_SHARES: AskShares = { ...ASK_SHARES, cut: 0.5 };
/** Where there is no room for a summary, the ask may have all of it. */
const TINY_SHARES: AskShares = { whole: 1, ownWords: 1, cut: 1 };
/** The ask leaves more to an exchange that is still under way only where that does not fit otherwise. */
const LAST_SHARES: readonly AskShares[] = [0.65, 0.5, 0.35, 0.2, 0].map((cut) => ({
  whole: cut,
  ownWords: 0,
  cut,
}));

/** An aim below what is pinned is an aim for the rest; one that no eliding reaches grows until it is the budget. */
export function elideTowards(input: PlanInput, draft: Draft, limit: number): Draft | undefined {
  const { budget } = input;
  const { pinnedTokens } = draft;
  const shares = sharesFor(input, draft, limit);
  let aim = pinnedTokens >= limit ? pinnedTokens + limit : limit;
  for (;;) {
    const within = Math.min(aim, budget);
    const elided = elide(input, fitAsk(input, draft, { limit: within, shares }), within);
    if (elided !== undefined) return elided;
    if (within === budget) break;
    aim = pinnedTokens + (aim - pinnedTokens) * 1.5;
  }
  for (const last of LAST_SHARES) {
    const elided = elide(input, fitAsk(input, draft, { limit: budget, shares: last }), budget);
    if (elided !== undefined) return elided;
  }
  return undefined;
}

function sharesFor(input: PlanInput, draft: Draft, limit: number): AskShares {
  if (isTiny(input, draft)) return TINY_SHARES;
  return isTight(input, draft, limit) ? TIGHT_SHARES : ASK_SHARES;
}

/** Least tokens that eliding can reach, the shortest summary included. */
export function leastElided(input: PlanInput, draft: Draft): number {
  const kept = newestWithin(input, draft, 0);
  return floorOf(input, capped(input, { ...draft, kept, ask: -1 }, { elideTo: LEAST }));
}

/** The ask as it stays: whole, with its own words whole and the rest cut, or cut as any text. */
function fitAsk(
  input: PlanInput,
  draft: Draft,
  { limit, shares }: { readonly limit: number; readonly shares: AskShares },
): Draft {
  const { ask, pinnedTokens, costs, partition } = draft;
  const message = input.messages[ask];
  if (message === undefined || partition.layers[ask] === "pinned") return draft;
  const room = limit - pinnedTokens;
  if ((costs[ask] ?? 0) <= room * shares.whole) return draft;
  const context = editContext(input);
  const cost = (edit: Edit): number => input.counter.countMessage(applyEdit(message, edit, context));
  const ownWords = cost({ elideTo: LEAST, sparesOwnWords: true });
  const spares = ownWords <= (input.budget - pinnedTokens) * shares.ownWords;
  const most = spares ? Math.max(ownWords, room * shares.whole) : room * shares.cut;
  const edit = (cap: number): Edit => (spares ? { elideTo: cap, sparesOwnWords: true } : { elideTo: cap });
  const found = edit(largest({ from: LEAST, to: limit }, (tokens) => cost(edit(tokens)) <= most));
  const after = cost(found);
  if (after >= (costs[ask] ?? 0)) return draft;
  return { ...draft, costs: costs.with(ask, after), edits: new Map(draft.edits).set(ask, found) };
}

/** The largest number that fits, to within a twentieth; `from` where none does. */
function largest(
  { from, to }: { readonly from: number; readonly to: number },
  fits: (value: number) => boolean,
): number {
  let low = from;
  let high = Math.max(low, to);
  while (high - low > Math.max(4, low * 0.05)) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Cuts what is kept until it fits: rather fewer messages than cuts that leave little of each, and rather a
 * summary of some length than more of the newest words.
 */
function elide(input: PlanInput, draft: Draft, limit: number): Draft | undefined {
  const { within, floors, shares } = cutsFor(input, draft, limit);
  const isPinned = draft.partition.layers[draft.ask] === "pinned";
  const stays = draft.pinnedTokens + (isPinned ? 0 : (draft.costs[draft.ask] ?? 0));
  for (const room of within.map((part) => part * Math.max(limit - stays, 0))) {
    for (const floor of floors) {
      for (const share of shares) {
        const kept = newestWithin(input, draft, room * share);
        const elided = elideKept(input, { ...draft, kept }, { limit: Math.min(limit, stays + room), floor });
        if (elided !== undefined) return elided;
      }
    }
  }
  return undefined;
}

function cutsFor(input: PlanInput, draft: Draft, limit: number): Cuts {
  if (isTight(input, draft, limit)) return TIGHT_CUTS;
  return limit < SMALL_LIMIT ? SMALL_CUTS : CUTS;
}

/** What is pinned or always stays (see `partition`), and of the rest the newest units that fit into so many tokens. */
function newestWithin(input: PlanInput, draft: Draft, tokens: number): Set<number> {
  const { layers, units } = draft.partition;
  const last = input.messages.length - 1;
  const needed = new Set([draft.ask, input.messages.findLastIndex(carriesCompaction)]);
  const kept = new Set<number>();
  let room = tokens;
  for (const unit of units.toReversed()) {
    const must =
      isUnderWay(unit, last) || unit.indexes.some((index) => layers[index] === "pinned" || needed.has(index));
    const eligible = unit.indexes.some((index) => draft.kept.has(index));
    const cost = sum(unit.indexes, draft.costs);
    if (!must && (!eligible || cost > room)) continue;
    if (!must) room -= cost;
    for (const index of unit.indexes) kept.add(index);
  }
  return kept;
}

/** Finds the largest cap per text under which the kept messages fit `limit`; the ask is what it was made before. */
function elideKept(
  input: PlanInput,
  draft: Draft,
  { limit, floor }: { readonly limit: number; readonly floor: number },
): Draft | undefined {
  const at = (cap: number): Draft => capped(input, draft, { elideTo: cap });
  const fits = (cap: number): boolean => floorOf(input, at(cap)) <= limit;
  return fits(floor) ? at(largest({ from: floor, to: limit }, fits)) : undefined;
}

/** The draft with every kept message edited that is neither pinned nor the ask. */
function capped(input: PlanInput, draft: Draft, edit: Edit): Draft {
  const context = editContext(input);
  const edits = new Map(draft.edits);
  const costs = [...draft.costs];
  for (const index of draft.kept) {
    const message = input.messages[index];
    if (message === undefined || index === draft.ask || draft.partition.layers[index] === "pinned") continue;
    const cost = input.counter.countMessage(applyEdit(message, edit, context));
    // The marker of a cut has its price: a text little longer than the cap stays as it is.
    if (cost >= (costs[index] ?? 0)) continue;
    edits.set(index, edit);
    costs[index] = cost;
  }
  return { ...draft, edits, costs };
}
