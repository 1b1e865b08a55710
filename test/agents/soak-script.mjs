/** Seconds until the first token, tokens read and written per second: a quick model of 2026, with nothing cached. */
export const MODEL = { first: 0.6, reads: 10_000, writes: 120 };

const codeOf = (turn, by) => `${by[0]}x-${((turn * 7919) % 99_991).toString(36)}${turn}`;

/** What is planted: by the user, deep in a tool's output, in a sub-agent's answer. */
export function factsOf(turns) {
  const facts = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    const by = { 2: "user", 4: "tool", 7: turn % 20 === 7 ? "sub" : undefined }[turn % 10];
    if (by === undefined) continue;
    const code = codeOf(turn, by);
    const text = `The access code of vault${turn} is ${code}.`;
    facts.push({ turn, by, code, text, question: `access code of vault${turn}` });
  }
  return facts;
}

const results = ({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "tool" ? last.content.map(({ output }) => output.value) : undefined;
};

/** What the model says: tools in most turns, a sub-agent, a skill taken up and put down, a tool that fails. */
export function turnOf({ request, turn, asked, found }) {
  const seen = results(request);
  if (request.system.startsWith("You check")) {
    if (seen === undefined) return { text: "Reading.", calls: [{ name: "read" }] };
    const sub = factsOf(turn).find((fact) => fact.turn === turn && fact.by === "sub");
    return { text: `Checked part${turn % 40}: no faults. ${sub?.text ?? ""}` };
  }
  const text = JSON.stringify(request.messages.at(-1));
  if (text.includes("Search for these."))
    return {
      calls: asked.map(({ question }) => ({
        name: "compact_search",
        arguments: { query: question, limit: 3 },
      })),
    };
  if (asked.length > 0 && seen !== undefined) {
    asked.forEach((fact, index) => {
      fact.found = seen[index]?.includes(fact.code) === true;
      if (fact.found) found.push("search");
    });
    return { text: "Looked them up." };
  }
  if (seen !== undefined)
    return { text: `Turn ${turn} is done. ${"All of it went as it should. ".repeat(4)}` };
  const calls = [];
  if (turn % 10 === 4 || turn % 2 === 0) calls.push({ name: "read" });
  if (turn % 5 === 0)
    calls.push({ name: "write", arguments: { path: `part${turn % 40}.ts`, text: "x".repeat(200) } });
  if (turn % 20 === 7 || turn % 20 === 17)
    calls.push({ name: "sub_agent", arguments: { agent: "checker", task: `Check part${turn % 40}.` } });
  if (turn % 50 === 11) calls.push({ name: "use_skill", arguments: { name: "release" } });
  if (turn % 50 === 31) calls.push({ name: "use_skill", arguments: { name: "release", end: true } });
  if (turn % 30 === 13) calls.push({ name: "fail" });
  return calls.length > 0 ? { text: "Working on it.", calls } : { text: `Turn ${turn} needs nothing.` };
}
