import { aider } from "./aider.ts";
import {
  agentDojo,
  inspectAi,
  moatless,
  openHands,
  sweAgent,
  tau2Bench,
  tauBench,
  whoAndWhen,
} from "./benchmarks.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { copilotCli } from "./copilot-cli.ts";
import { geminiCli, geminiCliLines } from "./gemini-cli.ts";
import { cline, langchainRecording, plainFormat } from "./lists.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import type { DocumentFormat, RecordFormat, TranscriptFormat } from "./transcript.ts";

/** Formats with one record per line. */
export const RECORD_FORMATS: readonly RecordFormat[] = [codex, claudeCode, pi, copilotCli, geminiCliLines];

/**
 * Formats with one document per file; the first that recognizes the document reads it, so plain lists come
 * last.
 */
export const DOCUMENT_FORMATS: readonly DocumentFormat[] = [
  aider,
  geminiCli,
  opencode,
  moatless,
  sweAgent,
  whoAndWhen,
  tauBench,
  tau2Bench,
  agentDojo,
  inspectAi,
  openHands,
  cline,
  langchainRecording,
  plainFormat("openai-chat"),
  plainFormat("anthropic"),
  plainFormat("openai-responses"),
  plainFormat("openai-agents"),
  plainFormat("gemini"),
  plainFormat("ai-sdk"),
  plainFormat("langchain"),
  plainFormat("pi"),
];

/** Every name that `readTranscript` accepts. */
export const TRANSCRIPT_FORMATS: readonly TranscriptFormat[] = [
  ...new Set([...RECORD_FORMATS, ...DOCUMENT_FORMATS].map((one) => one.format)),
];
