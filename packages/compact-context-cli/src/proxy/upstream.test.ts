import { describe, expect, it } from "vitest";
import { targetOf, upstreamsOf } from "./sessions.ts";

const targetFrom = (
  path: string,
  {
    flag,
    env = {},
    headers = {},
  }: { flag?: string; env?: Record<string, string>; headers?: Record<string, string> } = {},
): string =>
  targetOf(upstreamsOf(flag, env), new URL(`http://127.0.0.1:4180${path}`), new Headers(headers)).href;

describe("where a call goes on to", () => {
  it.each([
    ["/v1/messages?beta=true", {}, "https://api.anthropic.com/v1/messages?beta=true"],
    ["/v1/models", { "anthropic-version": "2023-06-01" }, "https://api.anthropic.com/v1/models"],
    ["/v1/chat/completions", {}, "https://api.openai.com/v1/chat/completions"],
    ["/v1/responses", {}, "https://api.openai.com/v1/responses"],
    [
      "/v1beta/models/gemini-3:generateContent",
      {},
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent",
    ],
  ])("is the provider of %s", (path, headers, url) => {
    expect(targetFrom(path, { headers })).toBe(url);
  });

  it("is the address that the environment names already, and --upstream before it", () => {
    const env = { OPENAI_BASE_URL: "http://localhost:11434/v1/", ANTHROPIC_BASE_URL: "" };
    expect(targetFrom("/v1/responses", { env })).toBe("http://localhost:11434/v1/responses");
    expect(targetFrom("/v1/messages", { env })).toBe("https://api.anthropic.com/v1/messages");
    expect(targetFrom("/v1/responses", { env, flag: "https://gateway.example/llm" })).toBe(
      "https://gateway.example/llm/v1/responses",
    );
  });

  it.each(["api.anthropic.com", "ftp://x.example", "https://user:key@x.example", "https://x.example/?key=1"])(
    "is nothing that is no base URL: %s",
    (flag) => {
      expect(() => upstreamsOf(flag, {})).toThrow(expect.objectContaining({ code: "InvalidUsage" }));
    },
  );
});
