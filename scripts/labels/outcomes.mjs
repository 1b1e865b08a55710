// How the program says that commands ended, beside how labels say it.
const RESULTS = ["passed", "failed", "unknown"];

/** The labelled calls of a session, each with what the program says. */
export function readOutcomes({ file, messages, labels, reading }) {
  return labels
    .filter(({ section }) => section === "outcome")
    .map(({ message, part, result }) => {
      const call = messages[message].parts[part];
      const step = reading.steps.find((one) => one.call === call);
      const says = step?.outcome.state ?? "unknown";
      const read = `read as ${says} (${step?.outcome.detail ?? "no step"})`;
      return { file, result, says, text: `${message}.${part} is ${result}, ${read}: ${wordsOf(call)}` };
    });
}

function wordsOf(call) {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}

/** Of what is said to have passed or failed, how much is right; of what passed or failed, how much is said. */
export function scoreOutcomes(outcomes) {
  return {
    outputs: outcomes
      .filter(({ says }) => says !== "unknown")
      .map(({ file, says, result, text }) => ({ file, text, right: says === result })),
    groups: outcomes
      .filter(({ result }) => result !== "unknown")
      .map(({ file, says, result, text }) => ({ file, text, labels: 1, found: says === result })),
  };
}

/** Markdown: labels in rows, what the program says in columns. */
export function confusionTable(outcomes) {
  const count = (result, says) => outcomes.filter((one) => one.result === result && one.says === says).length;
  const rows = RESULTS.map(
    (result) => `| ${result} | ${RESULTS.map((says) => count(result, says)).join(" | ")} |`,
  );
  const claims = outcomes.filter(({ says, result }) => says !== "unknown" && says !== result).length;
  return [
    `| labelled | ${RESULTS.map((says) => `read as ${says}`).join(" | ")} |`,
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    `Claims without evidence: ${claims}`,
  ].join("\n");
}
