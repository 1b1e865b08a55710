// Lines of recorded agent sessions beside the repository, where there are any: what a redaction should leave alone.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const LINES_OF_EACH_FILE = 4000;

/** Different lines of the texts in every session file below a folder; undefined where there is no such folder. */
export function sessionLines(root) {
  if (!existsSync(root)) return undefined;
  const lines = new Set();
  for (const path of filesBelow(root)) {
    const own = new Set();
    for (const text of textsOf(readFileSync(path, "utf8"))) {
      for (const line of text.split("\n")) if (line.length >= 4 && line.length <= 400) own.add(line);
    }
    // Every n-th where there are many, so that no long session drowns the others.
    const step = Math.ceil(own.size / LINES_OF_EACH_FILE);
    [...own].forEach((line, index) => {
      if (index % step === 0) lines.add(line);
    });
  }
  return [...lines];
}

function filesBelow(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:jsonl?|md|traj)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .toSorted();
}

/** The strings of JSON or JSON lines; text of any other kind as it is. */
function textsOf(content) {
  const whole = parsed(content);
  if (whole !== undefined) return stringsIn(whole);
  return content.split("\n").flatMap((line) => {
    const value = parsed(line);
    return value === undefined ? [line] : stringsIn(value);
  });
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function stringsIn(value) {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
