import { existsSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { formatProblem } from "compact-context/internal/config/layer";
import { findConfig, readConfigFile } from "compact-context/internal/config/load";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import { driverOf, probeStorage } from "../archive.ts";
import { type CliConfig, configProblems, readConfig } from "../files/config.ts";
import { type Invocation, printResult } from "../flags.ts";
import { hintOf } from "../hints.ts";
import type { CliPorts } from "../ports.ts";
import { PROVIDER_NAMES, PROVIDERS } from "../providers.ts";
import { upstreamsOf } from "../proxy/sessions.ts";
import { type Row, table } from "../render/table.ts";
import { formatBytes, oneLine, plural } from "../render/text.ts";

/** The result of one check. */
interface Finding {
  readonly check: "configuration" | "store" | "rights" | "disk" | "clock" | "model";
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly message: string;
  /** What to do about a problem. */
  readonly hint?: string;
}

/** Checks everything that compact needs. Exit code 1 if a check failed. */
export async function checkEverything(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const { finding, config } = await readSettings(invocation);
  const findings: Finding[] = [
    finding,
    ...(config === undefined
      ? [found("store", "skipped", "the configuration is not valid")]
      : await checkStore(invocation, config)),
  ];
  // The providers whose keys are in the environment, at the addresses that `compact proxy` uses. Their lists of models are
  // free; without any key it is only checked that the server of `--upstream` answers.
  const upstreams = upstreamsOf(flags.upstream, ports.env);
  const answers = await Promise.all(
    PROVIDER_NAMES.flatMap((name) => {
      const { title, version, keyVariable, headers } = PROVIDERS[name];
      const key = ports.env[keyVariable]?.trim() ?? "";
      if (key === "") return [];
      const { href, origin } = upstreams[name];
      const url = `${href.replace(/\/$/, "")}${version}/models`;
      return [request(`${title} at ${origin}`, url, headers(key), keyVariable)];
    }),
  );
  if (answers.length === 0 && flags.upstream !== undefined) {
    const { href, origin } = upstreams.openai;
    answers.push(await request(origin, href, {}));
  }
  findings.push(...answers.map(({ finding }) => finding));
  if (answers.length === 0) findings.push(found("model", "skipped", NO_KEY));
  findings.push(checkClock(ports, answers[0]?.date));
  const failed = findings.filter(({ status }) => status === "failed").length;
  const verdict = failed === 0 ? "Everything works." : `${plural(failed, "check")} failed.`;
  printResult(invocation, { healthy: failed === 0, checks: findings }, () => [
    "",
    ...table(findings.flatMap(rowsOf), ["left", "left", "wrapped"], terminal),
    "",
    `  ${verdict}`,
    "",
  ]);
  return failed === 0 ? 0 : 1;
}

const STYLES = { ok: "good", warning: "warn", failed: "bad", skipped: "faint" } as const;

function rowsOf({ check, status, message, hint }: Finding): Row[] {
  const row: Row = [{ text: status, style: STYLES[status] }, check, oneLine(message)];
  return hint === undefined ? [row] : [row, ["", "", oneLine(hint)]];
}

function found(check: Finding["check"], status: Finding["status"], message: string, hint?: string): Finding {
  return { check, status, message, hint };
}

/** A failed check with the message and the hint of an error. */
function failed(check: Finding["check"], error: unknown, hint = "Fix this first."): Finding {
  return found(check, "failed", errorMessage(error), hintOf(error) || hint);
}

// ---- configuration

/** The settings here; none if they are invalid. */
async function readSettings({ flags, ports }: Invocation): Promise<{ finding: Finding; config?: CliConfig }> {
  const check = "configuration";
  try {
    const file = flags.config ?? ports.env.COMPACT_CONFIG ?? findConfig(ports.cwd);
    const problems =
      file === undefined
        ? []
        : await configProblems(readConfigFile(resolve(ports.cwd, file)), basename(file), { env: ports.env });
    const [first] = problems;
    if (first !== undefined) {
      const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
      const hint = `compact config check ${oneLine(basename(file ?? ""))} lists all problems; compact config schema prints the schema.`;
      return { finding: found(check, "failed", `${formatProblem(first)}${more}`, hint) };
    }
    const warnings: string[] = [];
    const config = readConfig({ flags, ports, terminal: { warn: (text) => void warnings.push(text) } });
    if (!config.config.redaction.enabled) warnings.push("redaction is off: secrets are stored as they are");
    const where = config.path ?? "no file; defaults and the environment";
    if (warnings.length === 0) return { finding: found(check, "ok", where), config };
    const hint = "compact config show lists each setting with its origin.";
    return { finding: found(check, "warning", warnings.join("; "), hint), config };
  } catch (error) {
    return { finding: failed(check, error) };
  }
}

// ---- store

/** Longer than a driver takes to report an unreachable server, as its error says more than a timeout. */
const STORE_MS = 20_000;

async function checkStore(invocation: Invocation, config: CliConfig): Promise<Finding[]> {
  const { ports } = invocation;
  const driver = await driverOf(invocation, config).catch((error: unknown) => failed("store", error));
  if ("check" in driver) return [driver];
  const { location } = driver;
  const started = ports.clock();
  try {
    await probeStorage(driver, ports.newId(), STORE_MS);
    const took = Math.round(ports.clock() - started);
    const message = `written, read and deleted in ${took} ms: ${location}`;
    return [found("store", "ok", message), checkRights(location), checkDisk(location)];
  } catch (error) {
    const place = CompactError.isInstance(error) ? (error.place ?? location) : location;
    const finding = failed("store", error, "Check that it exists and that this user can write to it.");
    return [{ ...finding, message: `${finding.message} (${place})` }, checkDisk(location)];
  }
}

const OTHERS = 0o077;

/** Archives hold conversations, so only their owner should have access. */
function checkRights(location: string): Finding {
  const check = "rights";
  if (!isAbsolute(location) || !existsSync(location))
    return found(check, "skipped", "the store is not a local folder");
  if (process.platform === "win32") return found(check, "skipped", "this system has no modes");
  const mode = statSync(location).mode & 0o777;
  const shown = mode.toString(8).padStart(3, "0");
  if ((mode & OTHERS) === 0) return found(check, "ok", `only its owner may enter (${shown}): ${location}`);
  const message = `other users may enter ${location} (${shown}); the sessions below it are closed to them`;
  return found(check, "warning", message, `chmod 700 ${location}`);
}

const FULL_BYTES = 64 * 1024 * 1024;
const LOW_BYTES = 1024 * 1024 * 1024;

function checkDisk(location: string): Finding {
  const check = "disk";
  if (!isAbsolute(location)) return found(check, "skipped", "the store is not a local folder");
  let folder = location;
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize, ffree, files } = statfsSync(folder);
  const free = bavail * bsize;
  const message = `${formatBytes(free)} free at ${folder}`;
  const hint = "Free some space or move the archive; compact archive list shows what is kept.";
  if (files > 0 && ffree === 0) return found(check, "failed", `no inode is free at ${folder}`, hint);
  if (free < FULL_BYTES) return found(check, "failed", message, hint);
  return free < LOW_BYTES ? found(check, "warning", message, hint) : found(check, "ok", message);
}

// ---- clock

const SKEW_MS = 60_000;
/** No release is older. */
const EARLIEST = Date.UTC(2026, 0, 1);

function checkClock({ now }: CliPorts, date: number | undefined): Finding {
  const check = "clock";
  const here = now().getTime();
  const hint = "Synchronize the clock by NTP: event times and session expiry depend on it.";
  const message = new Date(here).toISOString();
  if (here < EARLIEST) return found(check, "failed", `it is ${message}`, hint);
  if (date === undefined) return found(check, "ok", `${message}; no server to compare it with`);
  const skew = here - date;
  if (Math.abs(skew) <= SKEW_MS) return found(check, "ok", message);
  const [seconds, side] = [Math.round(Math.abs(skew) / 1000), skew > 0 ? "ahead of" : "behind"];
  return found(check, "failed", `${seconds} s ${side} the model's server`, hint);
}

// ---- model endpoint

const NO_KEY = "no provider's key is in the environment; the built-in summarizer does not need one";
const TIMEOUT_MS = 10_000;

/** What the server answers, and its clock; `keyVariable` is the variable of the key that is sent, if any. */
async function request(
  place: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  keyVariable?: string,
): Promise<{ readonly finding: Finding; readonly date?: number }> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    await response.body?.cancel();
    const date = Date.parse(response.headers.get("date") ?? "");
    const finding = judge(response.status, place, keyVariable);
    return { finding, date: Number.isNaN(date) ? undefined : date };
  } catch (error) {
    const message = `${place} cannot be reached: ${errorMessage(error)}`;
    const hint = "Check the address, the network and the proxy settings.";
    return { finding: found("model", "failed", message, hint) };
  }
}

function judge(status: number, place: string, keyVariable: string | undefined): Finding {
  const check = "model";
  if (status >= 500) {
    const hint = "The server has a problem: try again later.";
    return found(check, "failed", `${place} answers ${status}`, hint);
  }
  if (keyVariable === undefined)
    return found(check, "ok", `${place} answers (${status}); without a key nothing more is checked`);
  if (status === 401 || status === 403) {
    const hint = `Set ${keyVariable} to a valid key.`;
    return found(check, "failed", `${place} refused the key (${status})`, hint);
  }
  if (status === 429)
    return found(check, "warning", `${place} is rate limiting (429)`, "Wait, or raise the limit.");
  // A server without a list of models answers 404 and can still work.
  return found(check, "ok", `${place} answers (${status})`);
}
