import type { StorageDriver } from "compact-context/internal/core/ports";
import { CompactError, type CompactErrorCode } from "compact-context/internal/errors";

/** One requirement for every driver; `run` rejects with the failure. */
export interface ContractCase {
  readonly name: string;
  run(driver: StorageDriver): Promise<void>;
}

/** The requirements for every storage driver, as named cases; give each case a new, empty driver. */
export function storageContract(): ContractCase[] {
  return [
    ...valueCases,
    ...streamCases,
    ...versionCases,
    ...appendCases,
    ...listCases,
    ...pageCases,
    ...abortCases,
    ...fidelityCases,
    ...refusalCases,
  ];
}

const valueCases: readonly ContractCase[] = [
  {
    name: "gives nothing for a key never written",
    run: async (driver) => same(await driver.get("a/missing.json"), undefined),
  },
  {
    name: "gives back what was put, then what was put over it",
    run: async (driver) => {
      await driver.put("a/state.json", "one");
      same((await driver.get("a/state.json"))?.value, "one");
      const { version } = await driver.put("a/state.json", "two");
      same(await driver.get("a/state.json"), { value: "two", version });
    },
  },
  {
    name: "keeps twenty overwrites apart by version",
    run: async (driver) => {
      const versions = new Set<string>();
      for (let n = 0; n < 20; n++) versions.add((await driver.put("a/state.json", `value ${n % 2}`)).version);
      same(versions.size, 20);
      same((await driver.get("a/state.json"))?.value, "value 1");
    },
  },
  {
    name: "lets other work run while a long value is made",
    run: async (driver) => {
      let round = 0;
      let timer = setImmediate(function next() {
        round += 1;
        timer = setImmediate(next);
      });
      const seen = new Set<number>();
      const slowly = function* (): Generator<string> {
        for (let line = 0; line < 20; line += 1) {
          for (const end = performance.now() + 5; performance.now() < end; );
          seen.add(round);
          yield `line ${line}\n`;
        }
      };
      await driver.put("a/long", slowly());
      clearImmediate(timer);
      same(seen.size > 4, true);
      same((await driver.get("a/long"))?.value.split("\n").length, 21);
    },
  },
  {
    name: "puts pieces as one value, and none of them when they break off",
    run: async (driver) => {
      const { version } = await driver.put("a/state.json", ["one ", "", "😀", "two"]);
      same(await driver.get("a/state.json"), { value: "one 😀two", version });
      await driver.put("a/empty", []);
      same((await driver.get("a/empty"))?.value, "");
      await driver.put("a/state.json", "three", { ifVersion: version });
      await refused("Conflict", driver.put("a/state.json", ["four"], { ifVersion: version }));
      const pieces = function* (): Generator<string> {
        yield "five".repeat(100_000);
        throw new CompactError("NotFound", "no more");
      };
      await refused("NotFound", driver.put("a/state.json", pieces()));
      await refused("NotFound", driver.put("a/new.json", pieces()));
      same((await driver.get("a/state.json"))?.value, "three");
      same(await driver.list("a/"), ["a/empty", "a/state.json"]);
    },
  },
  {
    name: "tells the version of a value without it",
    run: async (driver) => {
      same(await driver.version("a/log"), undefined);
      const { version } = await driver.put("a/log", "1\n");
      same(await driver.version("a/log"), version);
      await driver.append("a/log", "2\n");
      same(await driver.version("a/log"), (await driver.get("a/log"))?.version);
      await driver.delete("a/log");
      same(await driver.version("a/log"), undefined);
    },
  },
  {
    name: "deletes a value, and does nothing where there is none",
    run: async (driver) => {
      await driver.put("a/x", "1");
      await driver.put("a/x", "2");
      await driver.delete("a/x");
      await driver.delete("a/x");
      await driver.delete("never/there");
      same(await driver.get("a/x"), undefined);
      same(await driver.list(""), []);
    },
  },
];

const streamCases: readonly ContractCase[] = [
  {
    name: "streams nothing for a key never written, and for an empty value no text",
    run: async (driver) => {
      same(await piecesOf(driver, "a/missing.json"), []);
      await driver.put("a/empty", "");
      same((await piecesOf(driver, "a/empty")).join(""), "");
    },
  },
  {
    name: "streams what was put, then what was put over it, then what was appended",
    run: async (driver) => {
      await driver.put("a/log", "one\n");
      same((await piecesOf(driver, "a/log")).join(""), "one\n");
      await driver.put("a/log", "two\n");
      same((await piecesOf(driver, "a/log")).join(""), "two\n");
      await driver.append("a/log", "three\n");
      same((await piecesOf(driver, "a/log")).join(""), "two\nthree\n");
    },
  },
  {
    name: "streams a value of nine million bytes in several pieces, no character split",
    run: async (driver) => {
      // Characters of one to four bytes at every offset from any power of two.
      const large = "aé\u2028😀\ufeff".repeat(700_000);
      await driver.put("large", large);
      const pieces = await piecesOf(driver, "large");
      same(pieces.join("") === large, true);
      same(pieces.length > 1, true);
      same(pieces.filter((piece) => piece === "" || /\p{Surrogate}/u.test(piece)).length, 0);
    },
  },
  {
    name: "streams one version, also while the value is put over",
    run: async (driver) => {
      const [old, young] = ["old ".repeat(500_000), "new ".repeat(500_000)];
      await driver.put("large", old);
      const seen: string[] = [];
      try {
        for await (const piece of driver.stream("large")) {
          if (seen.length === 0) for (let n = 0; n < 12; n++) await driver.put("large", young);
          seen.push(piece);
        }
      } catch (error) {
        if (CompactError.isInstance(error)) return;
        throw error;
      }
      same(seen.join("") === old, true);
    },
  },
  {
    name: "can be asked to stop streaming",
    run: async (driver) => {
      await driver.put("large", "text ".repeat(500_000));
      for await (const piece of driver.stream("large")) {
        same(piece.startsWith("text "), true);
        break;
      }
      await driver.delete("large");
      same(await piecesOf(driver, "large"), []);
    },
  },
];

const versionCases: readonly ContractCase[] = [
  {
    name: "puts over the version read, and refuses an older one",
    run: async (driver) => {
      const first = await driver.put("s", "one", { ifVersion: null });
      const second = await driver.put("s", "two", { ifVersion: first.version });
      await refused("Conflict", driver.put("s", "three", { ifVersion: first.version }));
      await refused("Conflict", driver.put("s", "three", { ifVersion: "made up" }));
      same(await driver.get("s"), { value: "two", version: second.version });
    },
  },
  {
    name: "puts with null only where nothing is yet",
    run: async (driver) => {
      await driver.put("s", "one", { ifVersion: null });
      await refused("Conflict", driver.put("s", "two", { ifVersion: null }));
      same((await driver.get("s"))?.value, "one");
      await refused("Conflict", driver.put("t", "two", { ifVersion: "1" }));
      same(await driver.get("t"), undefined);
    },
  },
  {
    name: "refuses a version from before a deletion",
    run: async (driver) => {
      const { version } = await driver.put("s", "one");
      await driver.delete("s");
      await refused("Conflict", driver.put("s", "two", { ifVersion: version }));
      await driver.put("s", "again", { ifVersion: null });
      same((await driver.get("s"))?.value, "again");
    },
  },
  {
    name: "lets exactly one of twenty racers create a value",
    run: async (driver) => same(await winners(driver, null), 1),
  },
  {
    name: "lets exactly one of twenty racers put over one version",
    run: async (driver) => {
      const { version } = await driver.put("race", "start");
      same(await winners(driver, version), 1);
    },
  },
  {
    name: "loses none of forty counted steps of four racers",
    run: async (driver) => {
      await driver.put("count", "0");
      await Promise.all([1, 2, 3, 4].map(() => countUp(driver, "count", 10)));
      same((await driver.get("count"))?.value, "40");
    },
  },
];

const appendCases: readonly ContractCase[] = [
  {
    name: "appends in order, creating the value",
    run: async (driver) => {
      await driver.append("a/events.jsonl", "1\n");
      await driver.append("a/events.jsonl", "2\n3\n");
      same((await driver.get("a/events.jsonl"))?.value, "1\n2\n3\n");
    },
  },
  {
    name: "appends several records at once, all or none",
    run: async (driver) => {
      await driver.append("log", ["1\n", "2\n"]);
      await driver.append("log", ["3\n"]);
      await refused("InvalidArgument", driver.append("log", ["4\n", "no newline"]));
      same((await driver.get("log"))?.value, "1\n2\n3\n");
    },
  },
  {
    name: "appends to a value that was put, and to one put twice",
    run: async (driver) => {
      await driver.put("log", "1\n");
      await driver.append("log", "2\n");
      await driver.put("log", "3\n");
      await driver.append("log", "4\n");
      same((await driver.get("log"))?.value, "3\n4\n");
    },
  },
  {
    name: "changes the version by an append",
    run: async (driver) => {
      const { version } = await driver.put("log", "1\n");
      await driver.append("log", "2\n");
      await refused("Conflict", driver.put("log", "x", { ifVersion: version }));
      same((await driver.get("log"))?.value, "1\n2\n");
    },
  },
  {
    name: "keeps every one of forty appends made at once whole",
    run: async (driver) => {
      const lines = Array.from({ length: 40 }, (_, n) => `${n} ${"x".repeat(n * 50)}\n`);
      await Promise.all(lines.map((line) => driver.append("log", line)));
      const stored = ((await driver.get("log"))?.value ?? "").split(/(?<=\n)/);
      same(stored.sort(), [...lines].sort());
    },
  },
];

const listCases: readonly ContractCase[] = [
  {
    name: "lists keys by prefix, sorted, each once",
    run: async (driver) => {
      for (const key of ["b/2", "b/1", "a/1", "ab/1", "b/deep/er"]) await driver.put(key, "x");
      await driver.put("b/1", "y");
      await driver.append("b/3", "z\n");
      same(await driver.list(""), ["a/1", "ab/1", "b/1", "b/2", "b/3", "b/deep/er"]);
      same(await driver.list("b/"), ["b/1", "b/2", "b/3", "b/deep/er"]);
      same(await driver.list("a"), ["a/1", "ab/1"]);
      same(await driver.list("none/"), []);
    },
  },
];

const pageCases: readonly ContractCase[] = [
  {
    name: "lists by pages, each behind the key given, as the whole list has them",
    run: async (driver) => {
      const keys = [
        "a-b/1",
        "a.b/1",
        "a/1",
        "a/2",
        "a/b/c",
        "a0",
        "ab/1",
        "b",
        "~t/x/y/1",
        "_/1",
        "B/1",
        "a=1",
        "a~1",
      ];
      for (const key of keys) await driver.put(key, "x");
      await driver.append("a/log", "1\n");
      const sorted = [...keys, "a/log"].sort();
      same(await driver.list(""), sorted);
      for (const limit of [1, 2, 5, 1000]) {
        const paged: string[] = [];
        for (let after = ""; ; ) {
          const page = await driver.list("", { after, limit });
          paged.push(...page);
          after = page.at(-1) ?? "";
          if (page.length < limit) break;
        }
        same(paged, sorted);
      }
      for (const prefix of ["a", "a/", "a/l", "~t/"]) {
        const wanted = sorted.filter((key) => key.startsWith(prefix));
        same(await driver.list(prefix), wanted);
        for (const after of [...sorted, "a/", "a/b", "a/bb", "zzz", prefix]) {
          same(
            await driver.list(prefix, { after }),
            wanted.filter((key) => key > after),
          );
        }
      }
    },
  },
];

const abortCases: readonly ContractCase[] = [
  {
    name: "does nothing for a caller who gave up before, and everything for the next",
    run: async (driver) => {
      const signal = AbortSignal.abort(new Error("no time"));
      await driver.put("s", "kept");
      await refused("Aborted", driver.get("s", { signal }));
      await refused("Aborted", driver.version("s", { signal }));
      await refused("Aborted", driver.put("s", "x", { signal }));
      await refused("Aborted", driver.append("s", "x\n", { signal }));
      await refused("Aborted", driver.list("", { signal }));
      await refused("Aborted", driver.delete("s", { signal }));
      same((await driver.get("s"))?.value, "kept");
      await driver.put("s", "next", { signal: new AbortController().signal });
      same((await driver.get("s"))?.value, "next");
    },
  },
];

const fidelityCases: readonly ContractCase[] = [
  {
    name: "gives back every character unchanged",
    run: async (driver) => {
      const lone = JSON.stringify({ nul: "\0", lone: "\ud800", pair: "😀", key: "\udfff" });
      const odd = `\ufeffmark, \u2028 and \u2029, \r\n, NUL \0, \x7f, e\u0301 and \u00e9, ${lone}\n`;
      await driver.put("odd", odd);
      same((await driver.get("odd"))?.value, odd);
      await driver.append("odd-log", odd);
      same((await driver.get("odd-log"))?.value, odd);
    },
  },
  {
    name: "takes an empty value and a value of four million characters",
    run: async (driver) => {
      await driver.put("empty", "");
      same((await driver.get("empty"))?.value, "");
      const large = "0123456789abcdéf".repeat(250_000);
      await driver.put("large", large);
      same((await driver.get("large"))?.value === large, true);
    },
  },
  {
    name: "gives back JSON that is nested 4,000 levels deep, as text",
    run: async (driver) => {
      const deep = `${'{"a":['.repeat(2_000)}"\\u0000"${"]}".repeat(2_000)}\n`;
      await driver.put("deep", deep);
      await driver.append("deep-log", deep);
      same((await driver.get("deep"))?.value, deep);
      same((await driver.get("deep-log"))?.value, deep);
    },
  },
  {
    name: "takes keys that are names of object members",
    run: async (driver) => {
      same(await driver.get("__proto__"), undefined);
      await driver.put("__proto__", "a");
      await driver.put("constructor", "b");
      same((await driver.get("__proto__"))?.value, "a");
      same(await driver.list(""), ["__proto__", "constructor"]);
    },
  },
];

const refusalCases: readonly ContractCase[] = [
  {
    name: "refuses keys that could leave the place",
    run: async (driver) => {
      const bad = [
        "",
        "/x",
        "../x",
        "a/../../x",
        "a//b",
        "a/.",
        ".hidden",
        "a\\b",
        "C:\\x",
        "a\0b",
        "é",
        "a/",
      ];
      for (const key of [...bad, "a.", "x".repeat(300), "a b", "%2e%2e%2fx"]) {
        await refused("InvalidArgument", driver.put(key, "x"));
        await refused("InvalidArgument", driver.get(key));
        await refused("InvalidArgument", driver.version(key));
        await refused("InvalidArgument", piecesOf(driver, key));
        await refused("InvalidArgument", driver.append(key, "x\n"));
        await refused("InvalidArgument", driver.delete(key));
      }
      await refused("InvalidArgument", driver.list("../"));
      same(await driver.list(""), []);
    },
  },
  {
    name: "refuses text that UTF-8 would change, and records without an end",
    run: async (driver) => {
      await refused("InvalidArgument", driver.put("a", "\ud800"));
      await refused("InvalidArgument", driver.append("a", "\udc00\n"));
      await refused("InvalidArgument", driver.append("a", "no newline"));
      same(await driver.get("a"), undefined);
    },
  },
];

/** Increments the number stored under `key` `steps` times, reading again after each conflict. */
export async function countUp(driver: StorageDriver, key: string, steps: number): Promise<void> {
  for (let done = 0; done < steps; ) {
    const stored = await driver.get(key);
    if (stored === undefined) throw new Error(`${key} is gone`);
    try {
      await driver.put(key, String(Number(stored.value) + 1), { ifVersion: stored.version });
      done += 1;
    } catch (error) {
      if (!(CompactError.isInstance(error) && error.code === "Conflict")) throw error;
    }
  }
}

async function piecesOf(driver: StorageDriver, key: string): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of driver.stream(key)) pieces.push(piece);
  return pieces;
}

async function winners(driver: StorageDriver, ifVersion: string | null): Promise<number> {
  const racers = Array.from({ length: 20 }, (_, n) => driver.put("race", `racer ${n}`, { ifVersion }));
  const results = await Promise.allSettled(racers);
  const lost = results.filter((result) => result.status === "rejected");
  for (const { reason } of lost) same(CompactError.isInstance(reason) && reason.code, "Conflict");
  const won = results.findIndex((result) => result.status === "fulfilled");
  same((await driver.get("race"))?.value, `racer ${won}`);
  return results.length - lost.length;
}

async function refused(code: CompactErrorCode, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (CompactError.isInstance(error) && error.code === code) return;
    throw new Error(`expected ${code}, got: ${String(error)}`);
  }
  throw new Error(`expected ${code}, but it succeeded`);
}

function same(actual: unknown, expected: unknown): void {
  const shown = JSON.stringify(actual) ?? "undefined";
  const wanted = JSON.stringify(expected) ?? "undefined";
  if (shown !== wanted) throw new Error(`expected ${wanted.slice(0, 500)}, got ${shown.slice(0, 500)}`);
}
