// Precision and recall of the built-in summarizer's reading, by the labels of recorded sessions.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readOutcomes, scoreOutcomes } from "./outcomes.mjs";
import { openSession, scoreSections } from "./sections.mjs";

/** Characters of a mistake that are printed. */
const MAX_LINE = 300;

/** The modules that read conversations, from a folder of the built library. */
export async function loadLibrary(dist, folder) {
  const load = async (name) => {
    const path = join(resolve(dist), folder, `${name}.js`);
    if (!existsSync(path))
      throw new Error(`There is no ${path}: build the library, or say --dist and --folder`);
    return import(pathToFileURL(path).href);
  };
  return { ...(await load("reading")), ...(await load("steps")), ...(await load("statements")) };
}

/** The tallies of all sessions of a set, joined by section, and every labelled outcome. */
export async function scoreSessions(library, sessions, messagesOf) {
  const tallies = {};
  const outcomes = [];
  for (const [file, rows] of sessions) {
    const session = openSession(library, file, await messagesOf(file), rows);
    for (const [name, tally] of Object.entries(scoreSections(session))) add(tallies, name, tally, file);
    outcomes.push(...readOutcomes(session));
  }
  tallies.outcome = scoreOutcomes(outcomes);
  return { tallies, outcomes };
}

function add(tallies, name, { outputs, groups }, file) {
  tallies[name] ??= { outputs: [], groups: [] };
  tallies[name].outputs.push(...outputs.map((one) => ({ ...one, file })));
  tallies[name].groups.push(...groups.map((one) => ({ ...one, file })));
}

/** How much of what was said is right, and how much of what was labelled was found; undefined of nothing. */
export function figuresOf({ outputs, groups }) {
  const judged = outputs.filter(({ right }) => right !== undefined);
  const share = (part, whole) => (whole === 0 ? undefined : part / whole);
  return {
    outputs: judged.length,
    precision: share(judged.filter(({ right }) => right).length, judged.length),
    labelled: groups.length,
    labels: groups.reduce((sum, group) => sum + group.labels, 0),
    recall: share(groups.filter(({ found }) => found).length, groups.length),
  };
}

/** Markdown: a row for each tally. */
export function tableOf(tallies) {
  const shown = (share) => (share === undefined ? "–" : share.toFixed(3));
  const rows = Object.entries(tallies).map(([name, tally]) => {
    const { outputs, precision, labelled, labels, recall } = figuresOf(tally);
    const counted = labels === labelled ? `${labelled}` : `${labelled} (${labels} lines)`;
    return `| ${name} | ${outputs} | ${shown(precision)} | ${counted} | ${shown(recall)} |`;
  });
  return [
    "| section | outputs | precision | labelled | recall |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

/** What was said and is wrong, and what was labelled and not found, of the tallies whose name begins so. */
export function mistakesOf(tallies, section) {
  const lines = [];
  for (const [name, { outputs, groups }] of Object.entries(tallies)) {
    if (!name.startsWith(section)) continue;
    const wrong = outputs.filter(({ right }) => right === false);
    const missed = groups.filter(({ found }) => !found);
    lines.push(`\n## ${name}: ${wrong.length} false`, ...wrong.map(lineOf));
    lines.push(`\n## ${name}: ${missed.length} missed`, ...missed.map(lineOf));
  }
  return lines.join("\n");
}

function lineOf({ file = "", text }) {
  const session = file.split("/").at(-1)?.slice(0, 8) ?? "";
  return `- ${session} ${text}`.replace(/\s+/g, " ").slice(0, MAX_LINE);
}
