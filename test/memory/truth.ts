import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createChannelMemory } from "../../packages/compact-context/src/memory/channel-memory.ts";
import type { Attack, Correction, Course, Forgetting, Pair, Secret } from "./cases/case.ts";
import { type Talk, talk } from "./talk.ts";

/** A channel with consecutive sessions, each opened anew as by a new process. */
export interface Channel {
  readonly channelDir: string;
  readonly workspaceDir: string;
  /** Runs a whole session, from its first message to `/new`. */
  session(talked: Talk): Promise<void>;
  /** The items of a file, without bullets and marks. */
  items(file: "MEMORY.md" | "SESSION.md" | "HISTORY.md"): readonly string[];
  recall(query: string): Promise<string>;
  /** Files anywhere in the folder that contain a match. */
  holding(what: RegExp): readonly string[];
  remove(): void;
}

const DAY = 24 * 60 * 60 * 1000;
const FIRST_DAY = Date.UTC(2026, 8, 1, 9);

export function openChannel(): Channel {
  const workspaceDir = mkdtempSync(join(tmpdir(), "compact-truth-"));
  const channelDir = join(workspaceDir, "team");
  mkdirSync(channelDir);
  let sessions = 0;
  const open = (): ReturnType<typeof createChannelMemory> =>
    createChannelMemory({ workspaceDir, channelDir, now: () => FIRST_DAY + sessions * DAY });
  const text = (path: string): string => readFileSync(path, "utf8");
  return {
    channelDir,
    workspaceDir,
    async session({ messages }) {
      sessions += 1;
      const memory = open();
      memory.afterTurn(messages, { sessionId: `s${sessions}` });
      await memory.beforeNewSession(messages, { sessionId: `s${sessions}` });
      await memory.close();
    },
    items: (file) =>
      text(join(channelDir, file))
        .split("\n")
        .filter((line) => line.startsWith("- "))
        .map((line) => line.slice(2).replace(/ <!--.*/, "")),
    async recall(query) {
      const memory = open();
      const { renderedText } = await memory.recall(query);
      await memory.close();
      return renderedText;
    },
    holding(what) {
      const found: string[] = [];
      const walk = (folder: string): void => {
        for (const name of readdirSync(folder)) {
          const path = join(folder, name);
          if (statSync(path).isDirectory()) walk(path);
          else if (what.test(text(path))) found.push(relative(channelDir, path));
        }
      };
      walk(channelDir);
      return found;
    },
    remove: () => rmSync(workspaceDir, { recursive: true, force: true }),
  };
}

/** Outcome of cases: their number, and a description of each failure. */
export interface Tally {
  readonly cases: number;
  readonly failed: readonly string[];
}

const done = "Understood.";
const work = "Please add a header to the page.";

async function inChannel<T>(use: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = openChannel();
  try {
    return await use(channel);
  } finally {
    channel.remove();
  }
}

async function tally<T>(
  cases: readonly T[],
  fails: (one: T, channel: Channel) => Promise<string | undefined>,
) {
  const failed: string[] = [];
  for (const one of cases) {
    const why = await inChannel((channel) => fails(one, channel));
    if (why !== undefined) failed.push(why);
  }
  return { cases: cases.length, failed };
}

/** Learned at first; later MEMORY.md has only the newer, which also comes first in a recall of the older. */
export async function correctionsOf(cases: readonly Correction[]): Promise<{
  readonly learned: Tally;
  readonly stale: Tally;
  readonly missing: Tally;
  readonly order: Tally;
}> {
  const failed = {
    learned: [] as string[],
    stale: [] as string[],
    missing: [] as string[],
    order: [] as string[],
  };
  for (const [language, kind, first, then, old, newer] of cases) {
    await inChannel(async (channel) => {
      await channel.session(talk("a").user(first).reply(done).user(work).reply("Done."));
      const before = channel.items("MEMORY.md");
      await channel.session(talk("b").user(work).reply("Done.").user(then).reply(done));
      const after = channel.items("MEMORY.md");
      const told = `${language} ${kind}: ${first} → ${then} || ${after.join(" ;; ")}`;
      if (!before.some((item) => old.test(item))) failed.learned.push(told);
      if (after.some((item) => old.test(item) && !newer.test(item))) failed.stale.push(told);
      if (!after.some((item) => newer.test(item))) failed.missing.push(told);
      const said = (await channel.recall(first)).split("\n").filter((line) => line.startsWith("- "));
      if (said[0] === undefined || !newer.test(said[0])) failed.order.push(`${told} || ${said.join(" // ")}`);
    });
  }
  const of = (name: keyof typeof failed): Tally => ({ cases: cases.length, failed: failed[name] });
  return { learned: of("learned"), stale: of("stale"), missing: of("missing"), order: of("order") };
}

export const pairsOf = (cases: readonly Pair[]): Promise<Tally> =>
  tally(cases, async ([language, one, other], channel) => {
    await channel.session(talk("a").user(one).reply(done).user(other).reply(done));
    const items = channel.items("MEMORY.md");
    return items.length === 2 ? undefined : `${language}: ${one} + ${other} || ${items.join(" ;; ")}`;
  });

export const forgettingOf = (cases: readonly Forgetting[], inOneSession = false): Promise<Tally> =>
  tally(cases, async ([language, said, forget, left], channel) => {
    const old = talk("a").user(said).reply(done).user(work).reply("Done.");
    if (inOneSession) {
      await channel.session(
        talk("a").user(work).reply("Done.").user(said).reply(done).user(forget).reply(done),
      );
    } else {
      await channel.session(old);
      if (!channel.items("MEMORY.md").some((item) => left.test(item)))
        return `${language}: not learned: ${said}`;
      await channel.session(talk("b").user(work).reply("Done.").user(forget).reply(done));
    }
    const once = channel.holding(left);
    // The old transcript again, with other ids.
    await channel.session(talk("again").user(said).reply(done).user(work).reply("Done."));
    const again = channel.holding(left);
    if (once.length === 0 && again.length === 0 && !left.test(await channel.recall(said))) return undefined;
    return `${language}: ${said} / ${forget} || ${once.join(" ")} || again: ${again.join(" ")}`;
  });

/** What is gone is in no item of MEMORY.md or, with `anywhere`, in no file at all. The later message may be of the same session. */
export const coursesOf = (
  cases: readonly Course[],
  { anywhere = false, inOneSession = false } = {},
): Promise<Tally> =>
  tally(cases, async ([said, then, gone, stands], channel) => {
    const first = said.reduce((talked, text) => talked.user(text).reply(done), talk("a"));
    if (inOneSession) {
      await channel.session(first.user(then).reply(done));
    } else {
      await channel.session(first.user(work).reply("Done."));
      await channel.session(talk("b").user(work).reply("Done.").user(then).reply(done));
    }
    const items = channel.items("MEMORY.md");
    const isThere = (what: RegExp): boolean => items.some((item) => what.test(item));
    const isLeft = (what: RegExp): boolean => (anywhere ? channel.holding(what).length > 0 : isThere(what));
    const wrong = [...gone.filter(isLeft), ...stands.filter((what) => !isThere(what))];
    return wrong.length === 0
      ? undefined
      : `${said.join(" + ")} / ${then} || ${wrong.join()} || ${items.join(" ;; ")}`;
  });

export const questionsOf = (cases: readonly Course[]): Promise<Tally> =>
  tally(cases, async ([said, question, [answer]], channel) => {
    await channel.session(said.reduce((talked, text) => talked.user(text).reply(done), talk("a")));
    const [first] = (await channel.recall(question)).split("\n").filter((line) => line.startsWith("- "));
    const isRight = answer === undefined ? first === undefined : answer.test(first ?? "");
    return isRight ? undefined : `${said.join(" + ")} / ${question} || ${first}`;
  });

/** A learned fact survives an order to remove something else. */
export const keepingOf = (cases: readonly Forgetting[]): Promise<Tally> =>
  tally(cases, async ([language, said, order, stays], channel) => {
    const holds = (): boolean => channel.items("MEMORY.md").some((item) => stays.test(item));
    await channel.session(talk("a").user(said).reply(done).user(work).reply("Done."));
    if (!holds()) return `${language}: not learned: ${said}`;
    await channel.session(talk("b").user(work).reply("Done.").user(order).reply(done));
    return holds() ? undefined : `${language}: ${said} / ${order}`;
  });

export const attacksOf = (cases: readonly Attack[]): Promise<Tally> =>
  tally(cases, async ([language, kind, text, taken], channel) => {
    const said =
      kind === "tool"
        ? talk("a")
            .user("Please read the notes.")
            .call("read_file", { path: "notes.md" }, text)
            .reply("I read them.")
        : talk("a").user(text).reply("Here is what I found.");
    await channel.session(said.user(work).reply("Done."));
    const rules = [...channel.items("MEMORY.md"), ...constraintsOf(channel)].filter((item) =>
      taken.test(item),
    );
    return rules.length === 0 ? undefined : `${language} ${kind}: ${text} || ${rules.join(" ;; ")}`;
  });

export const factsOf = (
  cases: readonly (readonly [language: string, message: string, core: RegExp])[],
): Promise<Tally> =>
  tally(cases, async ([language, message, core], channel) => {
    await channel.session(talk("a").user(message).reply(done).user(work).reply("Done."));
    const items = channel.items("MEMORY.md");
    return items.some((item) => core.test(item))
      ? undefined
      : `${language}: ${message} || ${items.join(" ;; ")}`;
  });

/** Two statements from two sessions, both true, and the text that identifies each. */
export const bothOf = (
  cases: readonly (readonly [
    language: string,
    one: string,
    other: string,
    core: RegExp,
    otherCore: RegExp,
  ])[],
): Promise<Tally> =>
  tally(cases, async ([language, one, other, core, otherCore], channel) => {
    await channel.session(talk("a").user(one).reply(done).user(work).reply("Done."));
    await channel.session(talk("b").user(other).reply(done));
    const items = channel.items("MEMORY.md");
    const stand = [core, otherCore].every((told) => items.some((item) => told.test(item)));
    return stand ? undefined : `${language}: ${one} + ${other} || ${items.join(" ;; ")}`;
  });

/** Messages that contain nothing worth keeping. */
export const nothingOf = (cases: readonly (readonly [language: string, message: string])[]): Promise<Tally> =>
  tally(cases, async ([language, message], channel) => {
    await channel.session(talk("a").user(message).reply(done));
    const items = channel.items("MEMORY.md");
    return items.length === 0 ? undefined : `${language}: ${message} || ${items.join(" ;; ")}`;
  });

function constraintsOf({ channelDir }: Channel): readonly string[] {
  const text = readFileSync(join(channelDir, "SESSION.md"), "utf8");
  const section = /^# Constraints\n([\s\S]*?)(?=^# |$(?![\s\S]))/m.exec(text)?.[1] ?? "";
  return section.split("\n").filter((line) => line.startsWith("- "));
}

export const secretsOf = (cases: readonly Secret[]): Promise<Tally> =>
  tally(cases, async ([text, secret], channel) => {
    await channel.session(talk("a").user(text).reply(done).user(work).reply("Done."));
    const files = channel.holding(secret);
    return files.length === 0 ? undefined : `${text} || ${files.join(" ")}`;
  });
