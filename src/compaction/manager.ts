import { CompactError } from "../errors.ts";
import { isPinned } from "../policy/partition.ts";
import { budgetOf, decideTrigger, type TriggerDecision } from "../policy/trigger.ts";
import { archiveId } from "../storage/archive.ts";
import { countTokens } from "../tokens/count-tokens.ts";
import type { RequestCount, TokenBreakdown, TokenCounter } from "../tokens/counter.ts";
import { lookUpModel } from "../tokens/models.ts";
import { createTokenCounter } from "../tokens/token-counter.ts";
import { type Announcer, decisionProperties, estimateProperties } from "./announce.ts";
import { checkConfigObject } from "./check-policy.ts";
import { type CompactConfig, type CompactConfigInput, mergeConfig } from "./config.ts";
import { type ListCodec, listCodec } from "./list-codec.ts";
import { summarizersOf } from "./one-shot.ts";
import type {
  CompactionNotice,
  ManagerPorts,
  ManagerState,
  ManualRequest,
  PreflightRequest,
  RunningSummary,
} from "./ports.ts";
import { type CompactionReport, type CompactionResult, untouched } from "./report.ts";
import { compactSession } from "./round.ts";
import { type LiveSession, look, newSession, type SessionPorts } from "./session.ts";
