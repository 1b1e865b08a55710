// The part of OBSERVABILITY.md that comes from the code: every event with its properties and a real example, made by
// a run over the bundled session with clocks that tick by themselves, and every metric.
import { eventSchema, recordSchema } from "./events-schema.mjs";

/** A clock that moves on by some milliseconds whenever it is read. */
function ticking(start, step) {
  let now = start;
  return () => {
    now += step;
    return now;
  };
}

const HOST = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const NOTES = `### Goal
- The line of \`/status\` says why the next compaction would be due.

### Decisions
- The reason is told by one function that both the command and the manager call.`;

/** A model that will not at first, then writes; it reports what it read and wrote. */
function writer() {
  const usage = {
    input_tokens: 131_402,
    output_tokens: 84,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  };
  const answers = [
    { text: "I can't help with that.", stop: "refusal", usage },
    { text: NOTES, stop: "end", usage },
  ];
  return { name: "anthropic:claude-haiku-4-5", generate: async () => answers.shift() ?? answers.at(-1) };
}

/** One record of every event, by name, as a run over the session gives them. */
async function examples({ createJsonlExporter, CompactManager, createMemoryDriver }, session) {
  const found = new Map();
  const note = (line) => {
    const record = JSON.parse(line);
    // Of several decisions the one that led to a compaction shows more.
    if (!found.has(record.name) || record.properties.triggered === true) found.set(record.name, record);
  };
  const jsonl = createJsonlExporter({ append: note });
  const play = async (config, ports, lengths, undo) => {
    const now = ticking(Date.UTC(2026, 10, 20, 9, 30), 7);
    const manager = new CompactManager(
      { model: session.model, storage: { kind: "memory" }, ...config },
      {
        storage: createMemoryDriver(),
        exporters: [{ ...jsonl, here: () => ({ host: HOST }) }],
        now: () => new Date(now()),
        clock: ticking(0, 3),
        onWarning: () => undefined,
        ...ports,
      },
    );
    const { system, tools, messages } = session;
    for (const length of lengths)
      await manager.preflight("demo", messages.slice(0, length), { system, tools });
    if (undo) await manager.undo("demo");
    await manager.flush();
  };
  const { length } = session.messages;
  await play({ maxContextTokens: 64_000 }, { summarizer: writer() }, [8, length], true);
  await play({ redaction: { enabled: false } }, {}, [1], false);
  return found;
}

const LONGEST_TEXT = 200;

/** Indented, with long texts cut; what lies deep stands on one line. */
function shown(record) {
  const cut = (_key, value) =>
    typeof value === "string" && value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
  const clean = JSON.parse(JSON.stringify(record, cut), (key, value) => (key === "duration_ms" ? 0 : value));
  return JSON.stringify(clean, undefined, 2);
}

const cell = (text) => text.replaceAll("|", "\\|");

/** Rows of a table, one a property, those inside of an object below it. */
function rows(properties, before = "") {
  return Object.entries(properties).flatMap(([name, property]) => {
    const { type, unit, meaning, optional, values, open } = property;
    const kind = [type, unit].filter((word) => word !== undefined).join(", ");
    const row = `| \`${before}${name}\` | ${kind}${optional === true ? ", may be left out" : ""} | ${cell(meaning)}${words(values, open)} |`;
    const inner = type === "objects" ? `${before}${name}[].` : `${before}${name}.`;
    return [row, ...(property.properties === undefined ? [] : rows(property.properties, inner))];
  });
}

function words(values, open) {
  if (values === undefined) return "";
  const told = Object.entries(values).map(
    ([word, meaning]) => `\`${word}\`${meaning === "" ? "" : ` (${cell(meaning)})`}`,
  );
  return `: ${told.join(", ")}${open === true ? ", or another" : ""}`;
}

const table = (lines) => ["| property | type | meaning |", "|---|---|---|", ...lines].join("\n");

/** The text between the marks of OBSERVABILITY.md; `library` are the modules that make the examples, `session` is demo/session.json. */
export async function eventsSection(library, session) {
  const found = await examples(library, session);
  const events = Object.entries(eventSchema).map(([name, { when, properties, payload }]) => {
    const example = found.get(name);
    if (example === undefined) throw new Error(`the run gave no ${name}`);
    return [
      `### \`${name}\``,
      `Sent ${when}.${payload === undefined ? "" : ` The payload is ${payload}.`}`,
      table(rows(properties)),
      `\`\`\`json\n${shown(example)}\n\`\`\``,
    ].join("\n\n");
  });
  const { version } = [...found.values()][0];
  return [
    `This is version ${version}. Every record has:`,
    table(rows(recordSchema)),
    "The examples come from a run over the bundled session with a scripted model, whose requests take no time; texts over 200 characters are cut here.",
    ...events,
  ].join("\n\n");
}

/** The table of metrics; `metrics` is what the exporter creates its instruments from. */
export function metricsTable(metrics) {
  const lines = Object.entries(metrics).map(
    ([name, { kind, unit, description }]) => `| \`${name}\` | ${kind} | \`${unit}\` | ${description} |`,
  );
  return ["| metric | kind | unit | what it measures |", "|---|---|---|---|", ...lines].join("\n");
}

/** The text between `<!-- name -->` and `<!-- /name -->` replaced. */
export function fill(text, name, content) {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const start = text.indexOf(open);
  const end = text.indexOf(close);
  if (start < 0 || end < start) throw new Error(`no place called ${name}`);
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`;
}
