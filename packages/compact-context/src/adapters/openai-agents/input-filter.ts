import { createLruMap, requireOptions } from "../../errors.ts";
import { createHostPreflight, type HostManager, type HostOptions } from "../../host.ts";
import { objectOf, positiveOf } from "../../providers/request.ts";
import type { FilterCall, InputFilter, ModelInput } from "./sdk.ts";
import type { SpanExporter } from "./span-exporter.ts";

export interface InputFilterOptions extends HostOptions {
  readonly manager: HostManager;
  /** The conversation that the list belongs to; a function where one runner serves several, or agents run inside agents. */
  readonly sessionId: string | ((call: FilterCall) => string | Promise<string>);
  /** Puts the manager's events under the span that is current here; give it to the manager's `exporters` as well. */
  readonly spans?: SpanExporter;
}

/** Sessions that were warned of; the oldest is forgotten first. */
const MAX_SESSIONS = 256;

/**
 * For `callModelInputFilter`: what the model gets is compacted, what the SDK keeps (its session, the run's
 * history) stays as it was said. Rejects with `InsufficientBudget` when what must stay does not fit.
 */
export function compactInputFilter(options: InputFilterOptions): InputFilter {
  requireOptions(options, "options", "Pass { manager: new CompactManager(), sessionId }.");
  const { manager, sessionId, spans } = options;
  const preflight = createHostPreflight(manager, options);
  const warned = createLruMap<true>(MAX_SESSIONS);

  const filter = async <Data extends ModelInput>(call: FilterCall<Data>): Promise<Data> => {
    const { input, instructions } = call.modelData;
    const id = typeof sessionId === "string" ? sessionId : await sessionId(call);
    spans?.attach(id);
    if (isDelta(input)) {
      if (warned.get(id) === undefined) manager.warn(id, "server_managed_history", DELTA_WARNING);
      warned.set(id, true);
      return call.modelData;
    }
    const messages = await preflight({
      sessionId: id,
      messages: input,
      request: {
        format: "openai-agents",
        system: instructions,
        tools: toolsOf(call.agent),
        maxOutputTokens: positiveOf(objectOf(objectOf(call.agent).modelSettings).maxTokens),
      },
    });
    return messages === input ? call.modelData : { ...call.modelData, input: [...messages] };
  };
  return Object.assign(filter, { preserveInputIdentity: true });
}

/** Function tools carry their JSON schema; hosted ones cost what their settings say. */
function toolsOf(agent: unknown): readonly unknown[] {
  const { tools } = objectOf(agent);
  return Array.isArray(tools) ? tools : [];
}

/**
 * True for what the SDK hands over under `conversationId` or `previousResponseId` in the midst of a run: results
 * whose calls only the provider has. The list is then no history, and nothing of it can be compacted here.
 */
export function isDelta(items: readonly unknown[]): boolean {
  const calls = new Set<unknown>();
  let results = 0;
  for (const item of items) {
    const { type, callId } = objectOf(item);
    if (typeof type !== "string" || callId === undefined) continue;
    if (!type.endsWith("_result") && !type.endsWith("_output")) calls.add(callId);
    else if (calls.has(callId)) return false;
    else results += 1;
  }
  return results > 0;
}

const DELTA_WARNING: string =
  "the provider keeps this conversation (conversationId or previousResponseId), so that only its newest items are here: " +
  "nothing is compacted. Set modelSettings.contextManagement for compaction on the provider's side, or leave the ids out.";
