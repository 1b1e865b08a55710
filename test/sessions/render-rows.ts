import type { CutRow } from "./cut-session.ts";
import { REPLAY_WINDOW, type SessionRow } from "./run-session.ts";

const number = (value: number): string => value.toLocaleString("en");

/** The results of all recorded sessions as a Markdown page. */
export function renderRows(rows: readonly SessionRow[], cuts: readonly CutRow[]): string {
  const calls = rows.reduce((total, row) => total + row.replay.calls, 0);
  const rounds = rows.reduce((total, row) => total + row.replay.rounds, 0);
  const sum = (name: keyof CutRow): number => cuts.reduce((total, row) => total + row[name], 0);
  const lines = rows.map((row) => {
    const [quarter, tenth] = row.compactions.map(
      (done) =>
        `${number(done.tokens)}${done.tokens > done.target ? " *" : ""} · ${done.messages} · ${done.pruned}/${done.cleared}/${done.elided}`,
    );
    const { replay } = row;
    return `| ${shortName(row.name)} | ${row.format} | ${row.messages} | ${number(row.tokens)} | ${quarter} | ${tenth} | ${number(replay.tokens)} | ${replay.calls} | ${replay.rounds} | ${number(replay.largest)} |`;
  });
  return `# Recorded sessions

${rows.length} real agent sessions of ${new Set(rows.map((row) => row.format)).size} formats were compacted to 25 % and to 10 % of their tokens, and replayed call by call in a window of
${number(REPLAY_WINDOW)} tokens. None of them is part of this repository. No run failed, no request exceeded its budget, and no result broke a
provider rule (\`compact lint\`) that the session had kept before: ${number(calls)} replayed calls, ${number(rounds)} compactions. Made by \`npm run sessions\`.

Each session was also cut at ${sum("cuts") === sum("boundaries") ? `each of the ${number(sum("boundaries"))}` : `${number(sum("cuts"))} of the ${number(sum("boundaries"))}`} places where its model was called. The list up to there was
compacted five times in a row, each time from the previous result: to 80, 60, 45, 30 and 20 % of its tokens. Of
${number(sum("compactions"))} compactions ${sum("newFaults") === 0 ? "none" : number(sum("newFaults"))} broke a pair or a rule that the list had kept before; ${number(sum("refused"))} more were refused with ${"`InsufficientBudget`"}.

Compactions start from the live part of a session (after its own last compaction); the replay plays all of it. Cells of the two
compactions: tokens after · messages after · pruned/cleared/elided. \`*\`: the target was missed, because the system prompt, the newest
user request and whatever else must stay are larger.

| session | format | messages | tokens | to 25 % | to 10 % | replayed tokens | calls | rounds | largest request |
|---|---|---|---|---|---|---|---|---|---|
${lines.join("\n")}
`;
}

function shortName(name: string): string {
  const [folder, file = ""] = name.split("/");
  return `${folder}/${file.length > 24 ? `${file.slice(0, 12)}…${file.slice(-8)}` : file}`;
}
