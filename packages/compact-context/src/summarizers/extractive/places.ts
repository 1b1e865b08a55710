/** Where commands ran, and with which settings: the same check in two folders is two checks. */

import { argumentsValue, type ToolCallPart } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import type { Action } from "./actions.ts";
import { commandKey, isLookingCommand, settingsOf } from "./commands.ts";
import { groupBy } from "./text.ts";

/** The place of a command beside the session's own; what is not told is empty. */
export interface Place {
  /** Relative to the session's folder where it is below it. */
  readonly folder: string;
  /** The variables that other runs of the same command have with another value: `GOOS=linux`. */
  readonly settings: string;
}

/** A call in its place. */
interface Placed {
  readonly call: ToolCallPart;
  readonly action: Action;
  readonly place: Place;
}

export const NO_PLACE: Place = { folder: "", settings: "" };

/** The steps with the places of their commands; a command that only looks around has none. */
export function withPlaces<Step extends Placed>(steps: readonly Step[]): Step[] {
  const found = steps.flatMap((step) => {
    const { command } = step.action;
    if (command === undefined || isLookingCommand(command)) return [];
    const { folders, variables } = settingsOf(command);
    return [{ step, key: commandKey(command), folder: folderOf([...given(step), ...folders]), variables }];
  });
  const root = rootOf(found.map(({ folder }) => folder).filter((folder) => ABSOLUTE.test(folder)));
  const placed = found.map((one) => ({ ...one, folder: below(root, one.folder) }));
  const places = new Map<Step, Place>();
  for (const runs of groupBy(placed, ({ folder, key }) => `${folder}\n${key}`).values()) {
    const values = groupBy([...new Set(runs.flatMap(({ variables }) => variables))], nameOf);
    const differs = (variable: string): boolean => (values.get(nameOf(variable)) ?? []).length > 1;
    for (const { step, folder, variables } of runs)
      places.set(step, { folder, settings: variables.filter(differs).join(" ") });
  }
  return steps.map((step) => ({ ...step, place: places.get(step) ?? NO_PLACE }));
}

function nameOf(variable: string): string {
  return variable.slice(0, variable.indexOf("="));
}

/** The folder that a call's arguments name. */
function given({ call }: Placed): string[] {
  const args = argumentsValue(call);
  if (!isObject(args)) return [];
  return [args.workdir, args.cwd, args.working_directory, args.directory, args.dir_path]
    .filter((value) => typeof value === "string")
    .slice(0, 1);
}

const ABSOLUTE = /^[/~]/;

/** The folder after several changes of it; empty if one of them is not told. */
function folderOf(changes: readonly string[]): string {
  if (changes.some((change) => change === "" || /[$`*]|^-/.test(change))) return "";
  const from = changes.findLastIndex((change) => ABSOLUTE.test(change));
  const parts: string[] = [];
  for (const part of changes.slice(Math.max(0, from)).join("/").split("/")) {
    if (part === ".." && parts.pop() === undefined) return "";
    if (part !== ".." && part !== "." && part !== "") parts.push(part);
  }
  return from >= 0 && parts[0] !== "~" ? `/${parts.join("/")}` : parts.join("/");
}

/** Share of the folders that the session's own one has in or below it. */
const SHARED = 0.8;
const TEMPORARY = /^(?:\/private)?\/(?:tmp|var\/folders)(?:\/|$)/;

/** The session's own folder: the deepest one with most of the others, or the one that occurs most often. */
function rootOf(all: readonly string[]): string {
  const lasting = all.filter((folder) => !TEMPORARY.test(folder));
  const folders = lasting.length > 0 ? lasting : all;
  const counts = new Map<string, number>();
  for (const folder of folders) {
    const parts = folder.split("/");
    for (let at = folder.startsWith("/") ? 2 : 1; at <= parts.length; at += 1) {
      const above = parts.slice(0, at).join("/");
      counts.set(above, (counts.get(above) ?? 0) + 1);
    }
  }
  const shared = [...counts].filter(([, count]) => count >= folders.length * SHARED);
  if (shared.length > 0) return shared.reduce((root, [one]) => (one.length > root.length ? one : root), "");
  const exact = [...groupBy(folders, (folder) => folder).values()];
  return exact.reduce<string[]>((most, one) => (one.length > most.length ? one : most), [])[0] ?? "";
}

function below(root: string, folder: string): string {
  if (folder === root) return "";
  return root !== "" && folder.startsWith(`${root}/`) ? folder.slice(root.length + 1) : folder;
}

/** False where two commands ran in different places; one whose place is not told may have run in any. */
export function mayMeet(
  { place: one }: Pick<Placed, "place">,
  { place: other }: Pick<Placed, "place">,
): boolean {
  const meets = (a: string, b: string): boolean => a === "" || b === "" || a === b;
  return meets(one.folder, other.folder) && meets(one.settings, other.settings);
}

/** What a command has in front of it in its place. */
export function leadOf({ folder, settings }: Place): string {
  return `${folder === "" ? "" : `cd ${folder} && `}${settings === "" ? "" : `${settings} `}`;
}

/** The place in words, behind what was done in it. */
export function placeWords({ folder, settings }: Place): string {
  return `${folder === "" ? "" : ` in ${folder}`}${settings === "" ? "" : ` with ${settings}`}`;
}
