import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

// Plugins of opencode run in Bun. Its engine and its transpiler read patterns and templates in other ways than Node's.

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const bun = at("node_modules/opencode-linux-x64/bin/opencode");
const built = at("../../../packages/compact-context/dist");

const PROGRAM = `
import { readFileSync } from "node:fs";
import { compact } from "${built}/index.js";
import { redact } from "${built}/redaction/index.js";
const { texts, messages } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { messages: compacted } = await compact(messages, { model: "gpt-4o", maxTokens: 3_000 });
console.log(JSON.stringify({ texts: texts.map((text) => redact(text)), compacted }));
`;

const SETS = ["fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

describe.skipIf(!existsSync(bun) || !existsSync(built))("Bun, as opencode carries it", () => {
  it("RED-2 redacts and compacts to the same characters as Node", () => {
    const texts = SETS.flatMap((name) => {
      const { secrets, harmless } = JSON.parse(readFileSync(at(`../../redaction/${name}.json`), "utf8"));
      return [...secrets.map(([text]: [string]) => text), ...harmless] as string[];
    });
    const { messages } = JSON.parse(
      readFileSync(at("../../../packages/compact-context-cli/demo/session.json"), "utf8"),
    );
    const folder = mkdtempSync(join(tmpdir(), "compact-bun-"));
    try {
      writeFileSync(join(folder, "program.mjs"), PROGRAM);
      writeFileSync(join(folder, "input.json"), JSON.stringify({ texts, messages }));
      const options = { cwd: folder, env: { ...process.env, BUN_BE_BUN: "1" }, maxBuffer: 1 << 26 };
      const run = (program: string, ...args: string[]): string =>
        execFileSync(program, args, options).toString();
      const [inNode, inBun] = [process.execPath, bun].map((program) =>
        JSON.parse(run(program, "program.mjs", "input.json")),
      );
      expect(inBun).toEqual(inNode);
      // One file of it, which has no vocabularies beside it: they are in it, so that counts stay exact.
      const peers = ["pg", "@aws-sdk/client-s3", "@opentelemetry/api"].map((name) => `--external=${name}`);
      run(bun, "build", "program.mjs", "--target=node", "--outfile=bundle.mjs", ...peers);
      expect(JSON.parse(run(process.execPath, "bundle.mjs", "input.json"))).toEqual(inNode);
      expect(inNode.texts).not.toEqual(texts);
      expect(inNode.compacted.length).toBeLessThan(messages.length);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
