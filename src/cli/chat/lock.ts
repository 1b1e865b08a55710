import { link, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { CompactError } from "../../errors.ts";
import { objectOf } from "../../providers/json.ts";
import { hasEnded, machine } from "../../storage/drivers/fs-temps.ts";

/** Between taking over what a dead process left and being sure of it: another one may have done the same. */
const SETTLE_MS = 50;

/** Makes this process the only chat of a channel; gives what ends that. Rejects with `Conflict` where another one is. */
export async function lockChannel(file: string, name: string): Promise<() => Promise<void>> {
  const mine = `${JSON.stringify({ pid: process.pid, machine: machine(), id: crypto.randomUUID() })}\n`;
  const read = (): Promise<string> => readFile(file, "utf8").catch(() => "");
  if (!(await placed(file, mine))) {
    const owner = await read();
    const { pid, machine: where } = objectOf(parse(owner));
    if (typeof pid === "number" && !hasEnded(String(where), pid)) throw taken(name, file, pid);
    await rm(file, { force: true });
    await placed(file, mine);
    await sleep(SETTLE_MS);
    if ((await read()) !== mine) throw taken(name, file, objectOf(parse(await read())).pid);
  }
  return async () => {
    if ((await read()) === mine) await rm(file, { force: true });
  };
}

/** The file with its text in one moment; false where one is there. */
async function placed(file: string, text: string): Promise<boolean> {
  const temporary = `${file}.${crypto.randomUUID()}`;
  await writeFile(temporary, text, { mode: 0o600 });
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function taken(name: string, file: string, pid: unknown): CompactError {
  return new CompactError("Conflict", `another chat (process ${String(pid)}) has ${name} open`, {
    place: file,
    hint: "Leave that one, or give this one a memory of its own with --channel. Where none runs, delete that file.",
  });
}
