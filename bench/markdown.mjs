// Numbers and tables of Markdown.

/** Three significant digits, thousands separated. */
export function digits(value) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return number(Math.round(value));
  return Number(value.toPrecision(3)).toString();
}

export const number = (value) => value.toLocaleString("en");

export const percent = (share) => `${(share * 100).toFixed(1)} %`;

export function table(head, rows) {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
