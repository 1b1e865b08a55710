// Sentences in many languages: whether the program reads a rule, a request, or neither.

const KINDS = ["rule", "request"];

/** A tally of rules and one of requests, by language and in all: `zh rule`, `all rule`. */
export function scoreSentences({ rulesIn, requestsIn }, rows) {
  const read = rows.map((row) => ({ ...row, says: kindOf(row.text) }));
  const languages = [...new Set(rows.map(({ lang }) => lang))].sort();
  const tallies = {};
  for (const kind of KINDS) {
    tallies[`all ${kind}`] = tallyOf(read, kind);
    for (const lang of languages)
      tallies[`${lang} ${kind}`] = tallyOf(
        read.filter((row) => row.lang === lang),
        kind,
      );
  }
  return tallies;

  function kindOf(text) {
    if (rulesIn(text).length > 0) return "rule";
    return requestsIn(text).length > 0 ? "request" : "none";
  }
}

function tallyOf(rows, kind) {
  const textOf = (row) => `${row.lang} is ${row.kind}, read as ${row.says}: ${row.text}`;
  return {
    outputs: rows
      .filter(({ says }) => says === kind)
      .map((row) => ({ text: textOf(row), right: row.kind === kind })),
    groups: rows
      .filter((row) => row.kind === kind)
      .map((row) => ({ text: textOf(row), labels: 1, found: row.says === kind })),
  };
}
