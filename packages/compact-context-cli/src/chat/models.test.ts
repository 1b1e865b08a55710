import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTerminal, processPorts } from "../ports.ts";
import {
  createModels,
  importPackage,
  loadProviderModel,
  loadServerModel,
  providersWithKey,
} from "./models.ts";

const model = (id: string): object => ({ modelId: id });
const provider = Object.assign(model, { languageModel: model });
const PACKAGES: Readonly<Record<string, object>> = {
  "@ai-sdk/openai": { openai: provider },
  "@ai-sdk/amazon-bedrock": { amazonBedrock: undefined, bedrock: provider },
  "@ai-sdk/groq": { groq: provider },
  "@ai-sdk/empty": {},
  "@ai-sdk/openai-compatible": {
    createOpenAICompatible: (settings: object) => (id: string) => ({ modelId: id, settings }),
  },
};
const load = async (name: string): Promise<unknown> =>
  PACKAGES[name] ?? Promise.reject(new Error("not there"));

describe("a model by name", () => {
  it("comes from its provider's package, under any export name", async () => {
    const env = { OPENAI_API_KEY: "k", GROQ_API_KEY: "k" };
    expect(await loadProviderModel("openai/gpt-5.4", { env, load })).toEqual({ modelId: "gpt-5.4" });
    expect(await loadProviderModel("groq/openai/gpt-oss", { env, load })).toEqual({
      modelId: "openai/gpt-oss",
    });
    expect(await loadProviderModel("amazon-bedrock/x", { env, load })).toEqual({ modelId: "x" });
  });

  it.each([
    ["openai/gpt-5.4", "OPENAI_API_KEY is not set"],
    ["mistral/large", "the package @ai-sdk/mistral cannot be loaded"],
    ["empty/x", "EMPTY_API_KEY"],
    ["gpt-5.4", "is not a provider/model"],
    ["openai/", "is not a provider/model"],
    ["../../evil/x", "is not a provider/model"],
  ])("%s: %s", async (named, words) => {
    await expect(loadProviderModel(named, { env: {}, load })).rejects.toThrow(words);
  });

  it("a package without a provider is refused", async () => {
    const env = { EMPTY_API_KEY: "k" };
    await expect(loadProviderModel("empty/x", { env, load })).rejects.toThrow("exports no provider");
  });
});

describe("a server", () => {
  it("gets its own key and no other", async () => {
    const env = { OPENAI_API_KEY: "no", OPENAI_COMPATIBLE_API_KEY: "yes" };
    const made = await loadServerModel("http://localhost:1/v1", "m", { env, load });
    expect(made).toMatchObject({
      modelId: "m",
      settings: { apiKey: "yes", baseURL: "http://localhost:1/v1" },
    });
    expect(JSON.stringify(made)).not.toContain('"no"');
  });

  it("gets the whole model name, slashes included", async () => {
    for (const name of ["llama3:8b", "qwen2.5:7b-instruct", "org/model:latest"]) {
      expect(await loadServerModel("http://localhost:1/v1", name, { env: {}, load })).toMatchObject({
        modelId: name,
      });
    }
  });

  it("without a list of models is refused with a hint", async () => {
    for (const [status, body] of [
      [200, "{}"],
      [404, "<html>"],
    ] as const) {
      const server = createServer((_, response) => response.writeHead(status).end(body)).listen(
        0,
        "127.0.0.1",
      );
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const flags = { "base-url": `http://127.0.0.1:${port}/v1` };
      const models = createModels({
        words: [],
        flags,
        ports: processPorts(),
        terminal: createTerminal(processPorts()),
      });
      await expect(models.list()).rejects.toMatchObject({
        message: "the server does not list its models",
        hint: "Name the model: /model NAME",
      });
      server.close();
    }
  });

  it("that is not a URL, or lists no model, is refused", async () => {
    await expect(loadServerModel("file:///etc", "m", { env: {}, load })).rejects.toThrow("not an http");
    const unreachable = loadServerModel("http://127.0.0.1:9/v1", undefined, { env: {}, load });
    await expect(unreachable).rejects.toThrow("lists no model");
  });
});

it("providers whose key is set are named", () => {
  expect(providersWithKey({ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: " ", GROQ_API_KEY: "k" })).toEqual([
    "openai",
    "groq",
  ]);
});

it("finds a package of the project that has ES modules only", async () => {
  const folder = await mkdtemp(join(tmpdir(), "compact-package-"));
  const root = join(folder, "node_modules", "only-modules");
  await mkdir(join(folder, "src"));
  await mkdir(root, { recursive: true });
  const about = { name: "only-modules", type: "module", exports: { ".": { import: "./index.js" } } };
  await writeFile(join(root, "package.json"), JSON.stringify(about));
  await writeFile(join(root, "index.js"), "export const made = 7;");
  expect(await importPackage("only-modules", join(folder, "src"))).toMatchObject({ made: 7 });
  await rm(folder, { recursive: true });
});
