import { argumentsValue, type ToolCallPart } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import type { FileEffect } from "./file-effect.ts";
import { shellEffects } from "./shell.ts";

/** What a tool call does, as far as its name and arguments tell. */
export interface Action {
  /** The shell command, when it runs one. */
  readonly command: string | undefined;
  readonly files: readonly FileEffect[];
  /** True when its result shows the content of a file rather than the outcome of work. */
  readonly reads: boolean;
}

const PATH_KEY =
  /^(?:path|file_?path|file_?name|file|notebook_path|target_file|absolute_path|relative_path|paths|files|filePaths)$/i;
const COMMAND_KEY = /^(?:command|cmd|script|bash)$/i;
const EDITOR_COMMAND = /^(?:view|create|str_replace|insert|undo_edit)$/;
const RUNNER = /bash|shell|exec|terminal|run|command/i;
const PATCH_KEY = /^(?:input|patch|diff|patchText|command|cmd)$/;
const PATCH_FILE = /^\*\*\* (Update File|Add File|Delete File|Move to): (.+)$/gm;

/** Reads a call; bounded in the depth of its arguments, never throws. */
export function readAction(call: ToolCallPart): Action {
  const value = argumentsValue(call);
  const patched = patchEffects(call.name, value);
  if (patched.length > 0) return { command: undefined, files: patched, reads: false };
  const command = commandOf(call.name, value);
  if (command !== undefined) {
    const files = shellEffects(command);
    return { command, files, reads: files.length > 0 && files.every((file) => file.effect === "read") };
  }
  const effect = effectOf(call.name, value);
  const files = effect === undefined ? [] : pathsIn(value, 0).map((path) => ({ path, effect }));
  return { command: undefined, files, reads: effect === "read" };
}

function patchEffects(name: string, value: unknown): FileEffect[] {
  return patchTexts(name, value)
    .flatMap((text) => [...text.matchAll(PATCH_FILE)])
    .map(([, verb, path]) => ({ path: (path ?? "").trim(), effect: PATCH_VERBS[verb ?? ""] ?? "edited" }));
}

const PATCH_VERBS: Readonly<Record<string, FileEffect["effect"]>> = {
  "Add File": "created",
  "Delete File": "deleted",
};

function patchTexts(name: string, value: unknown): string[] {
  const texts = isObject(value)
    ? Object.entries(value)
        .filter(([key]) => PATCH_KEY.test(key))
        .map(([, text]) => text)
    : [value];
  return texts
    .flatMap((text) => (Array.isArray(text) ? (text as unknown[]) : [text]))
    .filter((text): text is string => typeof text === "string")
    .filter((text) => text.includes("*** Begin Patch") || (name === "apply_patch" && text.includes("*** ")));
}

function commandOf(name: string, value: unknown): string | undefined {
  if (typeof value === "string") return RUNNER.test(name) ? value : undefined;
  if (!isObject(value)) return undefined;
  for (const [key, entry] of Object.entries(value)) {
    if (!COMMAND_KEY.test(key)) continue;
    const text = Array.isArray(entry) ? shellWords(entry) : entry;
    if (typeof text === "string" && text !== "" && !EDITOR_COMMAND.test(text)) return text;
  }
  return undefined;
}

// `["bash", "-lc", "npm test"]` runs its last word; `["npm", "test"]` is the command itself.
function shellWords(words: readonly unknown[]): string {
  const texts = words.map(String);
  return /^-\w*c$/.test(texts[1] ?? "") ? (texts[2] ?? "") : texts.join(" ");
}

function effectOf(name: string, value: unknown): FileEffect["effect"] | undefined {
  const inner = isObject(value) && typeof value.command === "string" ? value.command : "";
  const verb = `${name} ${inner}`.toLowerCase();
  if (/todo|plan|task/.test(verb)) return undefined;
  if (/edit|replace|patch|insert|update|append/.test(verb)) return "edited";
  if (/write|create|save/.test(verb)) return "created";
  if (/delete|remove/.test(verb)) return "deleted";
  return /read|view|open|cat|get|show|load/.test(verb) ? "read" : undefined;
}

function pathsIn(value: unknown, depth: number): string[] {
  if (depth > 3 || !isObject(value)) return [];
  return Object.entries(value).flatMap(([key, entry]) => {
    const items: unknown[] = Array.isArray(entry) ? entry.slice(0, 50) : [entry];
    const named = PATH_KEY.test(key);
    return items.flatMap((item) => {
      if (typeof item === "string") return named && isPath(item) ? [item] : [];
      return pathsIn(item, depth + 1);
    });
  });
}

function isPath(text: string): boolean {
  return text.length > 0 && text.length <= 300 && !/[\n*"<>|]/.test(text);
}
