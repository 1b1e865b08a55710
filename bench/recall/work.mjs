// What a channel's memory gives back of recorded coding work: sessions go in as a host's do, questions come as a user's text.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createChannelMemory } from "../../packages/compact-context/dist/memory/index.js";
import { CHANNELS, storyOf } from "./stories.mjs";

const DAY = 24 * 60 * 60 * 1000;
const FIRST = Date.UTC(2026, 8, 1, 9);

function messagesOf(turns, session) {
  const messages = [];
  const push = (role, parts) => messages.push({ id: `s${session}m${messages.length}`, role, parts });
  for (const { user, calls = [], reply } of turns) {
    push("user", [{ type: "text", text: user }]);
    for (const [name, args, content, isError] of calls) {
      const id = `s${session}c${messages.length}`;
      push("assistant", [{ type: "toolCall", id, name, arguments: args }]);
      push("tool", [{ type: "toolResult", id, name, content, isError }]);
    }
    push("assistant", [{ type: "text", text: reply }]);
  }
  return messages;
}

/** The sessions of a channel one after the other, each in a memory opened anew; then its questions. */
async function asked(story) {
  const workspaceDir = mkdtempSync(join(tmpdir(), "compact-work-"));
  const channelDir = join(workspaceDir, "team");
  const open = (day) => createChannelMemory({ workspaceDir, channelDir, now: () => FIRST + day * DAY });
  try {
    for (const [index, turns] of story.sessions.entries()) {
      const memory = open(index);
      const messages = messagesOf(turns, index);
      memory.afterTurn(messages, { sessionId: `s${index}` });
      await memory.beforeNewSession(messages, { sessionId: `s${index}` });
      await memory.close();
    }
    const memory = open(story.sessions.length);
    const rows = [];
    for (const [kind, question, answer, stale] of story.questions) {
      const { renderedText, items } = await memory.recall(question);
      const lines = items.map(({ content }) => content);
      const first = lines.findIndex((line) => line.includes(answer));
      const old =
        stale === undefined ? -1 : lines.findIndex((line) => line.includes(stale) && !line.includes(answer));
      rows.push({
        kind,
        question,
        answer,
        kept: story.kept,
        found: first >= 0,
        first: first === 0,
        stale: old >= 0 && (first < 0 || old < first),
        characters: renderedText.length,
      });
    }
    await memory.close();
    return rows;
  } finally {
    rmSync(workspaceDir, { recursive: true, force: true });
  }
}

async function measure({ quick = false } = {}) {
  const rows = [];
  for (let n = 0; n < (quick ? 2 : CHANNELS); n++) rows.push(...(await asked(storyOf(n))));
  const half = (kept) => {
    const some = rows.filter((row) => row.kept === kept);
    const kinds = [...new Set(some.map(({ kind }) => kind))];
    return {
      ...summed(some),
      kinds: kinds.map((kind) => [kind, summed(some.filter((row) => row.kind === kind))]),
    };
  };
  return { open: half(false), kept: half(true), missed: rows.filter(({ found, kept }) => !found && !kept) };
}

function summed(rows) {
  const share = (is) => (100 * rows.filter(is).length) / Math.max(1, rows.length);
  return {
    questions: rows.length,
    found: share(({ found }) => found),
    first: share(({ first }) => first),
    stale: share(({ stale }) => stale),
    characters: rows.reduce((sum, { characters }) => sum + characters, 0) / Math.max(1, rows.length),
  };
}

const one = (value) => value.toFixed(1);
const KINDS = {
  changed: "values that were changed",
  fact: "facts",
  rule: "rules",
  decision: "decisions and their reasons",
  work: "what was done, why, what failed",
  next: "next steps",
};

function table({ open, kept }) {
  const row = (name, left, right) =>
    `| ${name} | ${left.questions} | ${one(left.found)} | ${one(left.first)} | ${right.questions} | ${one(right.found)} | ${one(right.first)} |`;
  const inKept = new Map(kept.kinds);
  return [
    "| questions about | open half | in the text, % | first line, % | kept half | in the text, % | first line, % |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...open.kinds.map(([kind, figures]) => row(KINDS[kind], figures, inKept.get(kind) ?? summed([]))),
    row("**all**", open, kept),
    "",
    `A value that was out of date came before the one that holds, or alone: ${one(open.stale)} % and ${one(kept.stale)} %. A text had ${Math.round(open.characters)} and ${Math.round(kept.characters)} characters on average.`,
  ].join("\n");
}

export const bench = {
  title: "Recall of coding work",
  timed: false,
  run: measure,
  headline: ({ open, kept }) =>
    `The answer is in what a memory recalls for ${one(open.found)} % of ${open.questions} questions about coding work, ${one(kept.found)} % of ${kept.questions} kept back.`,
  section: table,
  pages: [{ path: "docs/memory.md", mark: "work", render: table }],
};

if (process.argv[2] === "--missed")
  for (const { kind, question, answer } of (await measure()).missed)
    console.log(`${kind}: ${question} (${answer})`);
