import { escapeSummaryTags } from "../../core/message.ts";
import type { UnfoundClaim } from "../../core/ports.ts";
import {
  HEADINGS,
  LEDGER_HEADINGS,
  SHORT_WRITTEN_INTRODUCTION,
  WRITTEN_INTRODUCTION,
} from "../extractive/headings.ts";
import type { FactsBlock } from "./facts-block.ts";
import { UNFOUND_HEADING, unfoundLines } from "./unfound-section.ts";

type Count = (text: string) => number;

/** Below this a summary is the model's prose alone. */
const LEAST_FOR_FACTS = 160;
const ROOMY = 300;
/** Most of the room that facts and warnings may claim before the prose is written. */
const FACTS_SHARE = 0.4;
const WARNINGS_SHARE = 0.06;
/** A heading and one claim. */
const LEAST_FOR_WARNINGS = 24;
/** How texts join. */
const SLACK = 6;

/** How the room of a summary is divided before the prose is known. */
export interface Division {
  /** Most tokens of the prose. */
  readonly prose: number;
  /** False where the room is too small for anything but prose. */
  readonly facts: boolean;
}

/** Leaves the prose what the facts do not need. */
export function divideRoom(maxTokens: number, facts: FactsBlock | undefined, countText: Count): Division {
  if (facts === undefined) return { prose: Math.max(0, Math.floor(maxTokens)), facts: false };
  if (maxTokens < LEAST_FOR_FACTS) return { prose: Math.max(0, Math.floor(maxTokens)), facts: false };
  const wanted = facts.lines(Math.floor(maxTokens * FACTS_SHARE));
  const reserved = countText(`${introductionFor(maxTokens)}\n${wanted.join("\n")}\n`) + SLACK;
  return { prose: Math.max(0, Math.floor(maxTokens - reserved)), facts: true };
}

/** False where a summary is so short that introduction and facts are kept to what matters most. */
export function isRoomy(maxTokens: number): boolean {
  return maxTokens >= ROOMY;
}

function introductionFor(maxTokens: number): string {
  return isRoomy(maxTokens) ? WRITTEN_INTRODUCTION : SHORT_WRITTEN_INTRODUCTION;
}

/** Prose, the facts that a program found, and a warning of what was not found; at most `maxTokens` tokens. */
export function completeSummary(
  prose: string,
  facts: FactsBlock,
  unfound: readonly UnfoundClaim[],
  { maxTokens, countText }: { readonly maxTokens: number; readonly countText: Count },
): string {
  const head = [introductionFor(maxTokens), ...ownHeadingsLowered(prose).split("\n")].map(escapeSummaryTags);
  const left = maxTokens - countText(`${head.join("\n")}\n`) - SLACK;
  const warnings = unfoundLines(
    unfound,
    Math.min(left, Math.max(LEAST_FOR_WARNINGS, maxTokens * WARNINGS_SHARE)),
    countText,
  );
  const spent = warnings.length === 0 ? 0 : countText(`${warnings.join("\n")}\n`);
  for (let room = left - spent; room > 0; room = Math.floor(room * 0.9) - 1) {
    const lines = [...head, ...facts.lines(room), ...warnings].map(escapeSummaryTags);
    const text = lines.join("\n");
    if (countText(text) <= maxTokens) return text;
  }
  const bare = [...head, ...warnings].map(escapeSummaryTags).join("\n");
  return countText(bare) <= maxTokens ? bare : escapeSummaryTags(prose);
}

const OWN_HEADINGS: ReadonlySet<string> = new Set(
  [...Object.values(HEADINGS), ...Object.values(LEDGER_HEADINGS), UNFOUND_HEADING.slice(3)].map(
    (name) => `## ${name}`,
  ),
);

const INTRODUCTIONS = [WRITTEN_INTRODUCTION, SHORT_WRITTEN_INTRODUCTION];

/** The prose of a completed summary; the whole of any other text. */
export function proseOf(summary: string): string {
  const introduction = INTRODUCTIONS.find((text) => summary.startsWith(text));
  if (introduction === undefined) return summary;
  const lines = summary.slice(introduction.length).trimStart().split("\n");
  const end = lines.findIndex((line) => OWN_HEADINGS.has(line));
  return lines.slice(0, end < 0 ? lines.length : end).join("\n");
}

// A later round reads the program's sections by their headings: prose cannot pass for one of them.
function ownHeadingsLowered(prose: string): string {
  return prose
    .split("\n")
    .map((line) => (OWN_HEADINGS.has(line.trimEnd()) ? `#${line}` : line))
    .join("\n");
}
