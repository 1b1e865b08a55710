import { plural } from "../render/numbers.ts";
import { firstWords, safeLines } from "../render/width.ts";
import { recordOf, stringOf } from "../transcripts/json.ts";
import { lineCount } from "./tools/read.ts";
import type { Workplace } from "./workplace.ts";

const text = (value: unknown): string => stringOf(value) ?? "";

/** A call in a few words: `read src/a.ts`. */
export function callWords(name: string, args: unknown): string {
  const { path, command } = recordOf(args);
  if (name === "run" && typeof command === "string") return `run  ${command}`;
  if (typeof path === "string") return `${name}  ${path}`;
  const given = typeof args === "string" ? args : JSON.stringify(args ?? {});
  return given === "{}" ? name : `${name}  ${firstWords(given, 200)}`;
}

/** Lines of a change that whoever is asked sees at first. */
export const FIRST_LINES = 8;

/** What would change, for whoever is asked: lines with - and + in front, of each side at most so many. */
export function changeLines(name: string, args: unknown, most: number): string[] {
  const { content, old, new: next } = recordOf(args);
  if (name === "write") {
    const count = plural(lineCount(text(content)), "line");
    return [`writes ${count}:`, ...marked("+", text(content), most)];
  }
  return name === "edit" ? [...marked("-", text(old), most), ...marked("+", text(next), most)] : [];
}

function marked(mark: string, passage: string, most: number): string[] {
  const lines = safeLines(passage.replace(/\n$/, ""));
  const left = lines.length - most;
  const more = left > 0 ? [`${mark} (${plural(left, "more line")})`] : [];
  return [...lines.slice(0, most).map((line) => `${mark} ${line}`), ...more];
}

const TAIL = 6;

/** What came of a call: for a command the end of its output, else its size. */
export function resultWords(name: string, output: string): string {
  const lines = lineCount(output);
  if (name !== "run") return lines <= 1 ? firstWords(output, 300) : plural(lines, "line");
  const all = output.trimEnd().split("\n");
  const left = all.length - TAIL - 1;
  const last = left > 0 ? [`(${plural(left, "line")} before)`, ...all.slice(-TAIL - 1)] : all;
  return last.map((line) => line.slice(0, 400)).join("\n");
}

/** Whether the path of a call is one that the tool will take. */
export async function isInside(workplace: Workplace, args: unknown): Promise<boolean> {
  const { path } = recordOf(args);
  if (typeof path !== "string") return true;
  return workplace.toRead(path).then(
    () => true,
    () => false,
  );
}
