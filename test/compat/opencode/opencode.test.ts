import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { countTokens, lint } from "../../../packages/compact-context/src/index.ts";

const opencode = fileURLToPath(new URL("node_modules/opencode-linux-x64/bin/opencode", import.meta.url));
const built = fileURLToPath(new URL("../../../packages/compact-context/dist", import.meta.url));
const ready = existsSync(opencode) && existsSync(join(built, "adapters/opencode/index.js"));

const WINDOW = 24_000;
const CALLS = 60;
const ASK = "Count upwards with the shell, and never use a loop. The password of the pier is kelp-4471.";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

interface Body {
  readonly messages: { readonly role: string; readonly content: unknown; readonly tool_calls?: unknown }[];
  readonly tools?: readonly unknown[];
}

/** A strict provider with OpenAI's interface: asks for a command again and again, then says that it is done. */
async function startStub() {
  const seen = { sizes: [] as number[], bodies: [] as Body[], refused: [] as string[] };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    const broken = lint(body.messages, "openai-chat").filter(({ severity }) => severity === "error");
    const { tokens } = countTokens(body.messages, { model: "gpt-4o", tools: body.tools ?? [] });
    if (broken.length > 0 || tokens > WINDOW) {
      seen.refused.push(broken[0]?.explanation ?? `${tokens} tokens`);
      response.statusCode = 400;
      return response.end(JSON.stringify({ error: { message: seen.refused.at(-1) } }));
    }
    const delta = (part: object, finish_reason: string | null = null): void => {
      const choice = { index: 0, delta: part, finish_reason };
      response.write(`data: ${JSON.stringify({ id: "a", created: 1, model: "m", choices: [choice] })}\n\n`);
    };
    response.setHeader("content-type", "text/event-stream");
    // Without tools it asks for a title.
    const loops = body.tools !== undefined && seen.bodies.length < CALLS;
    if (body.tools !== undefined) {
      seen.bodies.push(body);
      seen.sizes.push(tokens);
    }
    if (loops) {
      const from = seen.bodies.length * 1_000;
      const args = JSON.stringify({ command: `seq ${from} ${from + 300}`, description: "counts" });
      const call = {
        index: 0,
        id: `call_${from}`,
        type: "function",
        function: { name: "bash", arguments: args },
      };
      delta({ role: "assistant", tool_calls: [call] });
    } else delta({ role: "assistant", content: "All is counted." });
    delta({}, loops ? "tool_calls" : "stop");
    return response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return { seen, baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

/** A project with the plugin and the stub as its provider, which opencode believes to have 200,000 tokens. */
function createProject(baseURL: string): string {
  const cwd = mkdtempSync(join(tmpdir(), "compact-opencode-"));
  ends.push(() => rmSync(cwd, { recursive: true, force: true }));
  const model = { name: "m", tool_call: true, limit: { context: 200_000, output: 1_000 } };
  const options = { baseURL, apiKey: "none" };
  const stub = { npm: "@ai-sdk/openai-compatible", name: "stub", options, models: { m: model } };
  writeFileSync(
    join(cwd, "opencode.json"),
    JSON.stringify({
      model: "stub/m",
      small_model: "stub/m",
      autoupdate: false,
      share: "disabled",
      permission: { bash: "allow" },
      provider: { stub },
    }),
  );
  mkdirSync(join(cwd, ".opencode/plugins"), { recursive: true });
  writeFileSync(
    join(cwd, ".opencode/plugins/compact.js"),
    `import { CompactManager } from ${JSON.stringify(`${built}/index.js`)};
import { compactPlugin } from ${JSON.stringify(`${built}/adapters/opencode/index.js`)};
const root = ${JSON.stringify(join(cwd, "archive"))};
const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: ${WINDOW}, storage: { root } });
export const Compact = compactPlugin({ manager });
`,
  );
  return cwd;
}

function run(cwd: string): Promise<string> {
  const places = ["DATA", "CONFIG", "CACHE", "STATE"].map((name) => [
    `XDG_${name}_HOME`,
    join(cwd, "home", name),
  ]);
  const env = {
    ...process.env,
    ...Object.fromEntries(places),
    PWD: cwd,
    HOME: join(cwd, "home"),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
  };
  return new Promise((resolve, reject) => {
    const child = execFile(opencode, ["run", ASK], { cwd, env, timeout: 240_000 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
    child.stdin?.end();
  });
}

describe.skipIf(!ready)("compactPlugin in opencode", () => {
  it("INT-3 carries a run of sixty calls in a small window: nothing is refused, the ask stays, and opencode keeps the rest", async () => {
    const { seen, baseURL } = await startStub();
    expect(await run(createProject(baseURL))).toContain("All is counted.");
    expect(seen.refused).toEqual([]);
    expect(seen.bodies).toHaveLength(CALLS + 1);
    for (const { messages } of seen.bodies) expect(JSON.stringify(messages)).toContain("kelp-4471");
    const shrunk = seen.sizes.filter((size, index) => size < (seen.sizes[index - 1] ?? 0));
    expect(shrunk.length).toBeGreaterThanOrEqual(2);
    // Between compactions each request begins with all of the one before.
    const breaks = seen.bodies.filter(({ messages }, index) => {
      const before = seen.bodies[index - 1]?.messages ?? [];
      return before.some((message, at) => JSON.stringify(message) !== JSON.stringify(messages[at]));
    });
    expect(breaks.length).toBe(shrunk.length);
  }, 300_000);
});
