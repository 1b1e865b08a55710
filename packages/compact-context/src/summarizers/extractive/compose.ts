import { escapeSummaryTags } from "../../core/message.ts";
import type { SummaryStrategy } from "../../core/ports.ts";
import { isRule } from "./directives.ts";
import { gatherEvidence } from "./evidence.ts";
import { factsIn } from "./facts.ts";
import { fitLines } from "./fit.ts";
import {
  HEADINGS,
  type HeadingKey,
  INTRODUCTION,
  NOT_ALL,
  REPEATED,
  SHORT_INTRODUCTION,
  WISH,
} from "./headings.ts";
import { workedWith } from "./identifiers.ts";
import { addLines, type Line, readLines } from "./lines.ts";
import { markPrinted, markStaying } from "./printed.ts";
import { neededLater } from "./score.ts";
import { type Section, sectionLines } from "./section.ts";
import { buildSection } from "./sections.ts";
import { createKept, createPurse, type Selection, selectLines } from "./select.ts";
import { keepSkeleton } from "./skeleton.ts";
import { readState, type TaskState } from "./state.ts";
import { STRATEGIES } from "./strategies.ts";
import type { Scene } from "./surroundings.ts";
import { clipToTokens, oneLine, plainWords } from "./text.ts";
import { timelineTexts } from "./timeline.ts";

export interface ComposeOptions {
  readonly maxTokens: number;
  readonly strategy: SummaryStrategy;
  readonly previous: string | undefined;
  readonly instruction: string | undefined;
  readonly countText: (text: string) => number;
}

/** In less room the clipped request is all there is. */
const TINY = 12;
/** In less room there are no sections. */
const LITTLE = 240;
/** In less room an introduction would take what a telling line takes. */
const WITHOUT_INTRODUCTION = 120;
const BRIEF_INTRODUCTION = 1000;
const ROOMY = 1500;
/** From here on sections have the whole of their shares; below `ROOMY` the lean part of them. */
const AMPLE = 8000;
/** Without room for sections the request may take this share, unless the clip would say nothing; telling lines have the rest. */
const LITTLE_SHARE = 0.1;
const LEAST_REQUEST = 128;
/** Longest line in characters, from so many tokens of summary on: where few lines fit, they are split at clauses. */
const LONGEST_LINES = [
  [ROOMY, 300],
  [64, 140],
  [0, 70],
] as const;
/** Part of their shares that sections are given where the lines leave room, the most that fits. */
const WIDER = [1, 0.7];
/** Least room of the sections that a short summary has too. */
const LEAST: Readonly<Partial<Record<HeadingKey, number>>> = { request: 40, constraints: 30, errors: 40 };
/** Most of the budget that the user's rules may take. */
const RULES_SHARE = 0.2;
/** In less room a section is a heading and a stub. */
const LEAST_SECTION = 24;
const LISTS: ReadonlySet<HeadingKey> = new Set(["files", "commands", "identifiers"]);
/** `brief` stays short whatever it is given. */
const BRIEF_MOST = 600;

/** The text of a summary, at most `maxTokens` tokens; empty when there is no room or nothing to say. */
export function composeSummary(scene: Scene, options: ComposeOptions): string {
  const maxTokens =
    options.strategy === "brief" ? Math.min(BRIEF_MOST, options.maxTokens) : options.maxTokens;
  if (maxTokens < 1) return "";
  const state = readState(scene, options.previous);
  const countText = options.countText;
  if (maxTokens < TINY) return tinySummary(state, maxTokens, countText);
  const head = headLines(options, maxTokens);
  const selection = { ...readSelection(state, maxTokens, options), cut: scene.cut };
  const within = { ...options, maxTokens };
  const build = (part: number): SectionTexts => sectionTexts(state, selection, within, part);
  const part = partOfShares(STRATEGIES[options.strategy].lean, maxTokens);
  const lean = build(part);
  const shown = new Set(factsIn(lean.prose.join("\n")).map((fact) => fact.key));
  const spent = countText(`${[...head, ...lean.lines].join("\n")}\n`);
  const timeline = timelineLines({ ...selection, shown }, lean, maxTokens - spent, maxTokens);
  if (lean.lines.join("") === "" && timeline.lines.length === 0) {
    const repeated = [...head, REPEATED].join("\n");
    return scene.repeats && countText(repeated) <= maxTokens ? repeated : "";
  }
  const whole = (sections: SectionTexts): string[] =>
    [...head, ...sections.lines, ...timeline.lines].map(escapeSummaryTags);
  const wider = WIDER.filter((more) => more > part).map((more) => whole(build(more)));
  const lines = wider.find((candidate) => countText(candidate.join("\n")) <= maxTokens) ?? whole(lean);
  const fitted = fitLines(lines, timeline.expendable, maxTokens, countText);
  return fitted === "" ? tinySummary(state, maxTokens, countText) : fitted;
}

function partOfShares(lean: number, maxTokens: number): number {
  const way = (maxTokens - ROOMY) / (AMPLE - ROOMY);
  return lean + (1 - lean) * Math.min(1, Math.max(0, way));
}

function tinySummary(state: TaskState, maxTokens: number, countText: (text: string) => number): string {
  const said =
    state.request.at(0) ?? state.earlier.prose.find((line) => line.trim() !== "") ?? lastSaid(state);
  const line = escapeSummaryTags(oneLine(said));
  const tag = state.request.length > 0 && maxTokens >= 12 ? "[user] " : "";
  const clipped = clipToTokens(line, maxTokens - (tag === "" ? 0 : countText(tag)), countText);
  const text = clipped === "" ? "" : `${tag}${clipped}`;
  return countText(text) <= maxTokens ? text : clipToTokens(text, maxTokens, countText);
}

function lastSaid(state: TaskState): string {
  for (const message of [...state.conversation.messages].reverse()) {
    for (const part of message.parts) if (part.type === "text" && part.text.trim() !== "") return part.text;
  }
  return "";
}

function headLines(options: ComposeOptions, maxTokens: number): string[] {
  if (maxTokens < WITHOUT_INTRODUCTION) return [];
  const introduction = maxTokens < BRIEF_INTRODUCTION ? SHORT_INTRODUCTION : INTRODUCTION;
  if (options.instruction === undefined || options.instruction.trim() === "") return [introduction];
  const wish = clipToTokens(oneLine(options.instruction), Math.floor(maxTokens * 0.1), options.countText);
  return wish === "" ? [introduction] : [introduction, `${WISH}${wish}`];
}

function longestLine(maxTokens: number): number {
  return LONGEST_LINES.find(([from]) => maxTokens >= from)?.[1] ?? 70;
}

function readSelection(state: TaskState, maxTokens: number, options: ComposeOptions): Selection {
  const longest = longestLine(maxTokens);
  const earlier: Line[] = [];
  for (const text of state.earlier.prose) {
    const origin = { source: "summary", message: -1, part: -1, superseded: false } as const;
    addLines(earlier, { ...origin, text: text.replace(/^\s{0,8}(?:- |\[earlier\] )/, "") }, longest);
  }
  const lines = [...earlier, ...readLines(state.conversation, longest)];
  const index = gatherEvidence(state.conversation, lines);
  for (const fact of index.facts) fact.likely = neededLater(fact, state.conversation.messages.length);
  const wished = new Set(plainWords(options.instruction ?? ""));
  return { lines, index, shown: new Set(), wished, cut: [], countText: options.countText };
}

interface SectionTexts {
  readonly lines: readonly string[];
  /** The lines that are sentences, not lists of names: a name in a list says nothing about itself. */
  readonly prose: readonly string[];
}

function sectionTexts(
  state: TaskState,
  selection: Selection,
  options: ComposeOptions,
  part: number,
): SectionTexts {
  const { maxTokens, countText } = options;
  const plan = STRATEGIES[options.strategy];
  if (maxTokens < LITTLE) {
    const lines = littleSections(state, options);
    return { lines, prose: lines };
  }
  const identifiers = workedWith(state.conversation, selection.index.facts, state.earlier.identifiers);
  const texts: string[] = [];
  const prose: string[] = [];
  let left = Math.floor(maxTokens * plan.sectionsShare);
  for (const [heading, share] of plan.sections.filter(([, , from = 0]) => maxTokens >= from)) {
    const usual = Math.max(LEAST[heading] ?? 0, part * share * maxTokens);
    const lines =
      heading === "constraints"
        ? constraintLines(state, { share, usual, left }, options)
        : linesWithin(
            buildSection(heading, share, state, identifiers),
            Math.floor(Math.min(left, usual)),
            countText,
          );
    if (lines.length > 0) left -= countText(`${lines.join("\n")}\n`);
    texts.push(...lines);
    if (!LISTS.has(heading)) prose.push(...lines);
  }
  return { lines: texts, prose };
}

function constraintLines(
  state: TaskState,
  { share, usual, left }: { readonly share: number; readonly usual: number; readonly left: number },
  options: ComposeOptions,
): string[] {
  const rules = rulesFirst(state.constraints, usual, options);
  const section = buildSection("constraints", share, { ...state, constraints: rules.texts }, []);
  const lines = linesWithin(section, Math.floor(Math.min(left, rules.room)), options.countText);
  const noted = [...lines, NOT_ALL];
  return leavesOut(lines, state) && options.countText(`${noted.join("\n")}\n`) <= left ? noted : lines;
}

// Wishes leave without a word; that a rule is missing is worth a line.
function leavesOut(lines: readonly string[], { constraints, earlier }: TaskState): boolean {
  const rules = lines.filter((line) => line.startsWith("- ") && isRule(line)).length;
  return lines.length > 0 && (rules < constraints.filter(isRule).length || earlier.rulesLeftOut);
}

function linesWithin(section: Section, room: number, countText: (text: string) => number): string[] {
  return section.blocks.length === 0 || room < LEAST_SECTION ? [] : sectionLines(section, room, countText);
}

/** Constraints have their usual room, or as much as their rules take up to `RULES_SHARE`; without room for all, wishes go first. */
function rulesFirst(
  constraints: readonly string[],
  usual: number,
  { maxTokens, countText }: ComposeOptions,
): { readonly texts: readonly string[]; readonly room: number } {
  const cost = (texts: readonly string[]): number =>
    countText(`## ${HEADINGS.constraints}\n`) +
    texts.reduce((total, text) => total + countText(`- ${oneLine(text)}\n>`), 0);
  const rules = constraints.filter(isRule);
  const room = Math.max(usual, Math.min(cost(rules), maxTokens * RULES_SHARE));
  return { texts: cost(constraints) <= room ? constraints : rules, room };
}

function littleSections(state: TaskState, options: ComposeOptions): string[] {
  const { maxTokens, countText } = options;
  if (maxTokens < LEAST_REQUEST) return [];
  const rules = rulesFirst(state.constraints, 0, options);
  const told = { ...state, constraints: rules.texts };
  const section = buildSection("constraints", RULES_SHARE, told, []);
  const room = Math.max(LEAST_SECTION, Math.floor(rules.room));
  return [...littleRequest(state, options), ...linesWithin(section, room, countText)];
}

// Where a newer request stands beside the summary, an older one is a line like others.
function littleRequest(state: TaskState, { maxTokens, countText }: ComposeOptions): string[] {
  if (state.conversation.requests.some(({ stays }) => stays !== "no")) return [];
  const request = tinySummary(state, Math.floor(maxTokens * LITTLE_SHARE), countText);
  return request === "" ? [] : [request];
}

function timelineLines(
  selection: Selection,
  sections: SectionTexts,
  room: number,
  maxTokens: number,
): { lines: string[]; expendable: number } {
  const headings = maxTokens < LITTLE ? [] : [`## ${HEADINGS.timeline}`];
  const purse = room - headings.reduce((sum, heading) => sum + selection.countText(`${heading}\n`), 0);
  if (purse < 8) return { lines: [], expendable: 0 };
  const roomy = maxTokens >= ROOMY;
  const kept = createKept();
  markStaying(selection, kept, longestLine(maxTokens));
  markPrinted(selection, kept, sections.prose, longestLine(maxTokens));
  const skeleton = createPurse(Math.floor(purse * (roomy ? 0.55 : 0.3)));
  const given = skeleton.left();
  keepSkeleton(selection, kept, skeleton, roomy ? 2000 : 600);
  selectLines(selection, kept, createPurse(purse - (given - skeleton.left())));
  const texts = timelineTexts(selection.lines, kept.positions);
  return texts.length === 0
    ? { lines: [], expendable: 0 }
    : { lines: [...headings, ...texts], expendable: texts.length };
}
