import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "./cruise.ts";

type Files = Readonly<Record<string, string>>;

const library = "packages/compact-context";
const command = "packages/compact-context-cli";
const recordFile = "test/house/measures.json";

/** A source file that is long enough to be no small one. */
const long = (code: string): string => `${code}\n${"// A line.\n".repeat(140)}`;

const target = (name: string) => ({ types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` });
const subpaths = {
  ".": target("index"),
  "./storage/memory": target("storage"),
  "./internal/*": target("*"),
  "./package.json": "./package.json",
};

/** A manager that sends 20 messages as they are, and a summary for 400. */
const manager = (inCall: string): string => `
${inCall === "" ? "" : 'import { helper } from "./helper.js";'}
export class CompactManager {
  async preflight(session, messages) {
    ${inCall}
    return { messages: messages.length > 20 ? [{ role: "user", content: "Summary." }] : messages };
  }
}
`;

/** Two packages: one with the two entries that are run, one with a command. */
const base: Files = {
  [`${library}/package.json`]: JSON.stringify({ name: "compact-context", type: "module", exports: subpaths }),
  [`${library}/src/index.ts`]: long('export { plan } from "./core/plan.ts";'),
  [`${library}/src/storage.ts`]: long("export function createMemoryDriver(): void {}"),
  [`${library}/src/core/plan.ts`]: long("export function plan(): void {}"),
  [`${library}/dist/index.js`]: manager(""),
  [`${library}/dist/storage.js`]: "export function createMemoryDriver() {}\n",
  [`${command}/package.json`]: JSON.stringify({ name: "compact-context-cli", type: "module" }),
  [`${command}/src/main.ts`]: long('import { plan } from "compact-context";\nplan();'),
};

/** Code in which every measure of a folder is worse. */
const planted = `interface CallPorts {
  readonly name: string | undefined;
}
const TABLE = 0xedb88320;
const isRecord = (value: unknown): boolean => typeof value === "object";
export function spread({ name }: CallPorts): object {
  return { ...{ TABLE, isRecord }, ...(name === undefined ? {} : { name }) };
}
export function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
`;
const grown: Files = {
  [`${library}/src/index.ts`]:
    'export { plan } from "./core/plan.ts";\nexport type { Plan } from "./core/more.ts";\nexport { more } from "./core/more.ts";\n',
  [`${library}/src/core/planted.ts`]: planted,
  [`${library}/src/core/more.ts`]: `import "./planted.ts";\nexport type Plan = string;\n${"export const more = 1;\n".repeat(600)}`,
  [`${library}/src/core/run.ts`]: `export function run(): void {\n${"  plan();\n".repeat(100)}}\n`,
  [`${command}/src/main.ts`]: 'import "compact-context/internal/core/run.js";\n',
  [`${library}/dist/helper.js`]: "export function helper() {}\n",
  [`${library}/dist/index.js`]: manager("helper();"),
};

/** What `--check` must say of them, values of folders first. */
const held = {
  "compact-context/core": [
    ...["lines", "files", "filesUnder60", "longestFile", "longestFunction", "exportedNames"],
    ...["smallSingleImporter", "literalSpreads", "conditionalSpreads", "portsInterfaces", "namedTypes"],
    ...["errorTexts", "objectChecks", "crcTables"],
  ],
  total: [
    ...["medianLines", "shareUnder60", "functionP90", "namesPerThousandLines"],
    ...["publicValues", "publicTypes", "rootValues", "rootTypes", "internalModules"],
    ...["rootImportFiles", "belowTriggerFiles", "compactionFiles"],
  ],
};

const trees: string[] = [];

function write(tree: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
}

function house(tree: string, ...args: string[]) {
  const script = join(root, "scripts", "house.mjs");
  const options = { encoding: "utf8" } as const;
  return spawnSync(process.execPath, [script, "--root", tree, ...args], options);
}

interface HouseRecord {
  start: Record<string, Record<string, number>>;
  now: Record<string, Record<string, number>>;
  notes: object[];
}

const readRecord = (tree: string): HouseRecord =>
  JSON.parse(readFileSync(join(tree, recordFile), "utf8")) as HouseRecord;

describe("npm run house", () => {
  const recorded = mkdtempSync(join(tmpdir(), "compact-measures-"));
  trees.push(recorded);

  /** The recorded tree with other files, in a folder of its own. */
  function changed(files: Files): string {
    const tree = mkdtempSync(join(tmpdir(), "compact-measures-"));
    trees.push(tree);
    cpSync(recorded, tree, { recursive: true });
    write(tree, files);
    return tree;
  }

  beforeAll(() => {
    write(recorded, base);
    mkdirSync(join(recorded, dirname(recordFile)), { recursive: true });
    expect(house(recorded, "--check").stderr).toContain(`${recordFile} is missing`);
    expect(house(recorded, "--write").status).toBe(0);
  });
  afterAll(() => {
    for (const tree of trees) rmSync(tree, { recursive: true, force: true });
  });

  it("lets through what is as it was recorded", () => {
    const { status, stderr } = house(recorded, "--check");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("names every measure that is worse, in its folder and in total, and where", () => {
    const { status, stderr } = house(changed(grown), "--check");
    expect(status).toBe(1);
    const named = [...stderr.matchAll(/^(\S+): (\w+) [\d,]+, recorded /gm)].map(
      ([, folder, measure]) => `${folder} ${measure}`,
    );
    const expected = Object.entries(held).flatMap(([folder, names]) =>
      names.map((name) => `${folder} ${name}`),
    );
    expect(named).toEqual(expect.arrayContaining(expected));
    expect(stderr).toContain(
      "compact-context/core: literalSpreads 1, recorded 0 (+1)\n    packages/compact-context/src/core/planted.ts:7\n",
    );
  });

  it("fails for a folder that grew though the total did not", () => {
    const shorter = { [`${library}/src/storage.ts`]: "export function createMemoryDriver(): void {}\n" };
    const longer = { [`${library}/src/core/plan.ts`]: `${long("export function plan(): void {}")}//\n` };
    const { status, stderr } = house(changed({ ...shorter, ...longer }), "--check");
    expect(status).toBe(1);
    expect(stderr).toContain("compact-context/core: lines 142, recorded 141 (+1)");
    expect(stderr).not.toContain("total: lines");
  });

  it("lets values fall, and holds them where they were written last", () => {
    const tree = changed({ [`${command}/src/main.ts`]: "export {};\n".repeat(100) });
    const fallen = house(tree, "--check");
    expect(fallen.status).toBe(0);
    expect(fallen.stdout).toContain("better than their record: ");
    expect(house(tree, "--write").status).toBe(0);
    write(tree, { [`${command}/src/main.ts`]: "export {};\n".repeat(101) });
    expect(house(tree, "--check").stderr).toContain("compact-context-cli/*.ts: lines 101, recorded 100 (+1)");
  });

  it("records a rise only with a reason, in a dated note", () => {
    const tree = changed({
      [`${library}/src/core/plan.ts`]: `${long("export function plan(): void {}")}//\n`,
      [`${library}/src/search/find.ts`]: long("export function find(): void {}"),
    });
    const before = readRecord(tree);
    expect(house(tree, "--write").status).toBe(1);
    expect(readRecord(tree)).toEqual(before);
    expect(house(tree, "--write", "--why", "One more line").status).toBe(0);
    expect(house(tree, "--check").status).toBe(0);
    const { start, notes } = readRecord(tree);
    expect(start).toEqual(before.start);
    const date: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
    const note = { date, why: "One more line" };
    const search: unknown = expect.objectContaining({ lines: 141, files: 1 });
    expect(notes).toEqual(
      expect.arrayContaining([
        { ...note, folder: "compact-context/core", measure: "lines", from: 141, to: 142 },
        { ...note, folder: "compact-context/search", measure: "all", from: 0, to: search },
      ]),
    );
  });

  it("does not take a record that was raised by hand without a note", () => {
    const tree = changed({
      [`${library}/src/core/plan.ts`]: `${long("export function plan(): void {}")}//\n`,
    });
    const record = readRecord(tree);
    for (const name of ["compact-context/core", "total"]) record.now[name]!.lines! += 1;
    write(tree, { [recordFile]: JSON.stringify(record) });
    const { status, stderr } = house(tree, "--check");
    expect(status).toBe(1);
    expect(stderr).toContain("compact-context/core: the record of lines rose from 141 to 142 without a note");
  });

  it("measures a single package at the root by the same names", () => {
    const tree = mkdtempSync(join(tmpdir(), "compact-measures-"));
    trees.push(tree);
    const single = Object.entries(base).filter(([path]) => path.startsWith(`${library}/`));
    write(tree, Object.fromEntries(single.map(([path, text]) => [path.slice(library.length + 1), text])));
    const { status, stdout } = house(tree);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^compact-context\/core +1 +141 /m);
    expect(stdout).toMatch(/^files loaded by the root import +1 +1 /m);
  });

  it("fails when the workload does not do what it is there for", () => {
    const idle = manager("").replace("> 20", "> 1000");
    const { status, stderr } = house(changed({ [`${library}/dist/index.js`]: idle }), "--check");
    expect(status).toBe(1);
    expect(stderr).toContain("the workload compaction gave back 400 of 400 messages");
  });
});
