/** What makes the calls of an agent come here. */
interface Agent {
  readonly name: string;
  /** Lines to type, or to put into the agent's settings. */
  setting(url: string): readonly string[];
}

/** The agents that need more than a variable, or another one. */
export const AGENTS: readonly Agent[] = [
  { name: "Claude Code", setting: (url) => [`ANTHROPIC_BASE_URL=${url} claude`] },
  {
    name: "Codex",
    setting: (url) => [
      "in ~/.codex/config.toml:",
      'model_provider = "compact"',
      "[model_providers.compact]",
      'name = "OpenAI through Compact"',
      `base_url = "${url}/v1"`,
      'wire_api = "responses"',
      'env_key = "OPENAI_API_KEY"',
    ],
  },
  {
    name: "opencode",
    setting: (url) => [
      "in opencode.json:",
      `{ "provider": { "anthropic": { "options": { "baseURL": "${url}/v1" } },`,
      `                "openai": { "options": { "baseURL": "${url}/v1" } } } }`,
    ],
  },
  { name: "Gemini CLI", setting: (url) => [`GOOGLE_GEMINI_BASE_URL=${url} gemini`] },
  {
    name: "aider",
    setting: (url) => [`ANTHROPIC_API_BASE=${url} OPENAI_API_BASE=${url}/v1 aider`],
  },
  {
    name: "Cline",
    setting: (url) => [`in its settings, "Use custom base URL": ${url} (Anthropic), ${url}/v1 (OpenAI)`],
  },
];

/** The variables that make clients of the providers call this address. */
export function clientVariables(url: string): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_BASE: url,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_BASE: `${url}/v1`,
    GOOGLE_GEMINI_BASE_URL: url,
  };
}
