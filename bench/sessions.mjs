// Made-up sessions of a coding agent, the same for the same seed: asks, calls, results of which a tenth hold most of the
// text, answers. Lines of output differ from one another, so that nothing is counted or read twice for free.
import { seeded } from "./measure.mjs";

const WORDS = "retry queue ledger worker session budget token window archive policy report stream".split(" ");
/** Characters of one token of these texts, o200k_base. */
const CHARACTERS_PER_TOKEN = 3.03;

function createWriter(seed) {
  const random = seeded(seed);
  const below = (most) => Math.floor(random() * most);
  const word = () => WORDS[below(WORDS.length)];
  const line = (index, place) =>
    `${place}: const ${word()}_${index}_${place} = ${word()}(${below(90_000)}); // ${word()} ${word()}`;
  const lines = (index, count) => Array.from({ length: count }, (_, place) => line(index, place)).join("\n");
  const path = (index) => `src/${word()}/${word()}_${index % 400}.ts`;
  return { below, word, lines, path };
}

/** Messages of one turn, as OpenAI's chat API takes them: an ask, a call with its result, an answer. */
function turn(writer, index) {
  const { below, word, lines, path } = writer;
  const file = path(index);
  const id = `call_${index}`;
  const args = JSON.stringify({ path: file });
  return [
    { role: "user", content: `Now make ${file} handle the ${word()}. Never touch ${word()}_${index}.sql.` },
    {
      role: "assistant",
      content: `The ${word()} in ${file} waits for the ${word()}, I look at it.`,
      tool_calls: [{ id, type: "function", function: { name: "read_file", arguments: args } }],
    },
    { role: "tool", tool_call_id: id, content: lines(index, index % 10 === 5 ? 90 : 4 + below(6)) },
    {
      role: "assistant",
      content: `Done: ${file} now keeps its ${word()} when the ${word()} is empty, and the tests of case ${index} pass.`,
    },
  ];
}

/** Turns without end. */
export function* turns(seed) {
  const writer = createWriter(seed);
  for (let index = 0; ; index += 1) yield turn(writer, index);
}

const charactersOf = ({ content, tool_calls: calls }) =>
  content.length + (calls === undefined ? 0 : calls[0].function.arguments.length);

/** A session of about so many tokens in whole turns; the last message is an ask. */
export function session(tokens, seed = 1) {
  const list = [];
  let characters = 0;
  for (const one of turns(seed)) {
    if (characters >= tokens * CHARACTERS_PER_TOKEN) return [...list, one[0]];
    list.push(...one);
    for (const message of one) characters += charactersOf(message);
  }
  return list;
}
