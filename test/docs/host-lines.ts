import { type Fence, pageText } from "./fences.ts";

// The README's table of SDKs: each line as a program with the imports that a reader would add.

/** The required imports, by the first column. */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "OpenAI Agents SDK": [
    'import { Runner } from "@openai/agents";',
    'import { compactInputFilter } from "compact-context/adapters/openai-agents";',
  ],
  LangGraph: ['import { SummarizationNode } from "compact-context/adapters/langgraph";'],
  "LangChain agents": [
    'import { createAgent } from "langchain";',
    'import { compactMiddleware } from "compact-context/adapters/langchain";',
  ],
  "Vercel AI SDK": [
    'import { wrapLanguageModel } from "ai";',
    'import { compactLanguageModelMiddleware } from "compact-context/adapters/ai-sdk";',
  ],
  "OpenAI client": [
    'import OpenAI from "openai";',
    'import { compactOpenAi } from "compact-context/adapters/openai";',
  ],
  "Anthropic client": [
    'import Anthropic from "@anthropic-ai/sdk";',
    'import { compactAnthropic } from "compact-context/adapters/anthropic";',
  ],
  "any SDK that takes a `fetch`": [
    'import OpenAI from "openai";',
    'import { compactFetch } from "compact-context/wire";',
  ],
  "Google Gen AI SDK": [
    'import { GoogleGenAI } from "@google/genai";',
    'import { compactFetch } from "compact-context/wire";',
  ],
  "Google ADK": [
    'import { LlmAgent } from "@google/adk";',
    'import { compactBeforeModel } from "compact-context/adapters/google-adk";',
  ],
  Mastra: [
    'import { Agent } from "@mastra/core/agent";',
    'import { compactProcessor } from "compact-context/adapters/mastra";',
  ],
  opencode: ['import { compactPlugin } from "compact-context/adapters/opencode";'],
  "Cloudflare Agents": ['import { compactionFunction } from "compact-context/adapters/cloudflare-agents";'],
  pi: ['import { compactExtension } from "compact-context/adapters/pi";'],
  "none yet": ['import { createAgent } from "compact-context/agents";'],
};

/** Each row of a page's table as a snippet under the heading in its first column; `…` becomes `rest`. */
export function hostLines(file: string): readonly Fence[] {
  const lines = pageText(file).split("\n");
  const head = lines.findIndex((line) => line.startsWith("| you use |"));
  const end = lines.findIndex((line, at) => at > head && !line.startsWith("|"));
  return lines.slice(head + 2, end).map((row, index) => {
    const [, heading = "", cell = ""] = row.split("|").map((text) => text.trim());
    const program = /^`([^`]+)`/.exec(cell)?.[1] ?? "";
    const text = [...(IMPORTS[heading] ?? []), program.replace("…", "...rest")].join(" ");
    return { file, line: head + 3 + index, heading, text };
  });
}
