import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CompactError, requireText } from "../errors.ts";

/** Names under which a configuration is looked for. */
const CONFIG_FILES: readonly string[] = ["compact.yaml", "compact.yml", "compact.json"];

/** Bytes above which a file is refused unread; far more than any configuration has. */
const MAX_BYTES = 1_048_576;

/** The configuration in a folder, not in its parents; throws InvalidConfig when there is more than one. */
export function findConfig(folder: string): string | undefined {
  requireText(folder, "folder", "Pass the path of the folder to look into.");
  const present = CONFIG_FILES.map((name) => join(folder, name)).filter((path) => existsSync(path));
  if (present.length > 1) {
    throw new CompactError("InvalidConfig", `${present.join(" and ")} are both there`, {
      hint: "Keep one of them, or name the one to use with --config.",
      place: present[0],
    });
  }
  return present[0];
}

/** A configuration file's text; throws NotFound, or InvalidConfig when it is no file or far too large. */
export function readConfigFile(path: string): string {
  try {
    const facts = statSync(path);
    if (facts.isFile() && facts.size <= MAX_BYTES) return readFileSync(path, "utf8");
    const fault = facts.isFile() ? `holds ${facts.size} bytes, more than ${MAX_BYTES}` : "is no file";
    throw new CompactError("InvalidConfig", `${path} ${fault}`, {
      place: path,
      hint: "Name the configuration file itself, such as compact.yaml.",
    });
  } catch (error) {
    if (CompactError.isInstance(error)) throw error;
    throw new CompactError("NotFound", `the configuration ${path} cannot be read`, {
      place: path,
      hint: "Check the path and that the file may be read.",
      cause: error,
    });
  }
}
