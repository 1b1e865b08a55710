/**
 * Joins lines and, should the whole count more than its parts did, drops lines from the end until it fits.
 * Headings and the first `lines.length - expendable` lines go last; empty when not even one line fits.
 */
export function fitLines(
  lines: readonly string[],
  expendable: number,
  maxTokens: number,
  countText: (text: string) => number,
): string {
  let kept = [...lines];
  let spare = expendable;
  for (;;) {
    const text = kept.join("\n").trimEnd();
    const tokens = countText(text);
    if (tokens <= maxTokens) return text;
    if (kept.length <= 1) return "";
    const excess = Math.ceil(kept.length * (1 - maxTokens / tokens));
    const drop = Math.max(1, Math.min(excess, kept.length - 1));
    kept = dropLines(kept, spare, drop);
    spare = Math.max(0, spare - drop);
  }
}

// The oldest telling lines are given up first; then sections from the last on.
function dropLines(lines: readonly string[], spare: number, drop: number): string[] {
  if (spare === 0) return lines.slice(0, lines.length - drop);
  const from = lines.length - spare;
  const count = Math.min(spare, drop);
  const rest = [...lines.slice(0, from), ...lines.slice(from + count)];
  return count === spare ? rest.slice(0, -1) : rest;
}
