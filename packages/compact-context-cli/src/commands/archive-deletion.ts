import { ownedSession } from "compact-context";
import { CompactError } from "compact-context/internal/errors";
import type { Retention } from "compact-context/recall";
import type { Invocation } from "../command.ts";
import { readConfig } from "../files/config.ts";
import { formatBytes, plural } from "../render/numbers.ts";
import { oneLine } from "../render/safe.ts";
import { archiveOf, ownerOf } from "./archive.ts";

/** Deletes a session, or every session of an owner. */
export async function deleteArchived(invocation: Invocation): Promise<number> {
  const { words, flags, terminal } = invocation;
  const [given] = words;
  const owner = ownerOf(flags);
  if (given === undefined && owner === undefined) {
    throw new CompactError("InvalidUsage", "what is to be deleted is not named", {
      hint: "Name a session, or a tenant or user: compact archive delete --user NAME --yes.",
    });
  }
  const archive = archiveOf(invocation);
  const named = [
    ...(given === undefined ? ["all sessions"] : [`session ${oneLine(given)}`]),
    ...(flags.user === undefined ? [] : [`of user ${oneLine(flags.user)}`]),
    ...(flags.tenant === undefined ? [] : [`of tenant ${oneLine(flags.tenant)}`]),
  ].join(" ");
  if (flags.yes !== true) {
    throw new CompactError(
      "InvalidUsage",
      `${named} in ${oneLine(archive.location)} would be deleted for good`,
      {
        hint: "Say it again with --yes.",
      },
    );
  }
  const what = given === undefined ? (owner ?? {}) : owner === undefined ? given : ownedSession(given, owner);
  const deleted = await archive.delete(what);
  if (flags.json === true) terminal.printJson({ location: archive.location, ...deleted });
  else if (deleted.values === 0)
    terminal.print(["", `  There is nothing of ${named} in ${oneLine(archive.location)}.`, ""]);
  else {
    const counted = `${plural(deleted.sessions, "session")}, ${plural(deleted.values, "stored value")}`;
    terminal.print(["", `  Deleted ${named}: ${counted}.`, ""]);
  }
  return 0;
}

/** Deletes what has expired by the flags, else by the settings. */
export async function sweepArchive(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const retention = retentionOf(invocation);
  if ((retention.days ?? retention.maxBytes) === undefined) {
    throw new CompactError("InvalidUsage", "neither an age nor a size is named, so nothing expires", {
      hint: "Say --days N or --max-bytes N, or set retention.days in the file that --config names.",
    });
  }
  const archive = archiveOf({ ...invocation, ports });
  const dryRun = flags["dry-run"] === true;
  const swept = await archive.sweep(retention, { dryRun });
  if (flags.json === true) {
    terminal.printJson({ location: archive.location, dry_run: dryRun, ...swept });
    return 0;
  }
  const { sessions, bytes, kept } = swept;
  terminal.print([
    "",
    `  ${dryRun ? "Would delete" : "Deleted"} ${plural(sessions.length, "session")}, ${formatBytes(bytes)}; ` +
      `${plural(kept.sessions, "session")}, ${formatBytes(kept.bytes)} stay.`,
    ...sessions.map((session) => `    ${oneLine(session)}`),
    "",
  ]);
  return 0;
}

function retentionOf({ flags, ports, terminal }: Invocation): Retention {
  const { days, "max-bytes": most } = flags;
  if (days !== undefined || most !== undefined) {
    return {
      days: days === undefined ? undefined : wholeOf("days", days),
      maxBytes: most === undefined ? undefined : wholeOf("max-bytes", most),
    };
  }
  const warn = (text: string): void => terminal.warn(text);
  return readConfig({ file: flags.config, cwd: ports.cwd, env: ports.env, warn }).config.retention;
}

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

function wholeOf(flag: "days" | "max-bytes", text: string): number {
  const isSize = flag === "max-bytes";
  const [, digits = "", unit = ""] = (isSize ? /^(\d{1,12})([kmgt]?)$/i : /^(\d{1,6})$/).exec(text) ?? [];
  const number = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  if (number > 0) return number;
  throw new CompactError("InvalidUsage", `--${flag} must be a whole number from 1, not ${oneLine(text)}`, {
    hint: isSize ? "Such as --max-bytes 500M or 10G." : "Such as --days 90.",
  });
}
