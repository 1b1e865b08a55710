// Sentences in many languages: whether the program reads a rule in them.

/** A tally of rules by language and in all: `zh rule`, `all rule`. */
export function scoreSentences({ rulesIn }, rows) {
  const read = rows.map((row) => ({ ...row, found: rulesIn(row.text).length > 0 }));
  const languages = [...new Set(rows.map(({ lang }) => lang))].sort();
  const tallies = { "all rule": tallyOf(read) };
  for (const lang of languages) tallies[`${lang} rule`] = tallyOf(read.filter((row) => row.lang === lang));
  return tallies;
}

function tallyOf(rows) {
  const textOf = (row) => `${row.lang} is ${row.kind}, read as ${row.found ? "rule" : "none"}: ${row.text}`;
  return {
    outputs: rows
      .filter(({ found }) => found)
      .map((row) => ({ text: textOf(row), right: row.kind === "rule" })),
    groups: rows
      .filter(({ kind }) => kind === "rule")
      .map((row) => ({ text: textOf(row), labels: 1, found: row.found })),
  };
}
