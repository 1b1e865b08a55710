// The settings as Markdown tables: all of them, and those that most people look for.

/** The settings of the README, in its order. */
const COMMON = [
  "model",
  "max_context_tokens",
  "policy.trigger_pct",
  "policy.hard_cap_buffer",
  "policy.target_context_tokens",
  "policy.keep_recent_turns",
  "policy.keep_tool_io_pairs",
  "policy.roles_never_prune",
  "policy.strategy",
  "policy.on_overflow",
  "storage.kind",
  "storage.root",
  "redaction.enabled",
];

/** The rows of `configTable()` that most people look for, without variables; throws when one of them is no setting. */
export function commonSettings(table) {
  const [head, line, ...rows] = table.split("\n");
  const chosen = COMMON.map((path) => {
    const row = rows.find((one) => one.startsWith(`| \`${path}\` |`));
    if (row === undefined) throw new Error(`${path} is no setting`);
    return row;
  });
  return [head, line, ...chosen].map(withoutVariable).join("\n");
}

/** A row of four cells, less the second. */
function withoutVariable(row) {
  return row
    .split("|")
    .filter((_, cell) => cell !== 2)
    .join("|");
}
