import type { CompactEvent } from "../../core/ports.ts";
import type { OpenTelemetryAttributes } from "./opentelemetry-api.ts";

/** Our names of providers in the words of OpenTelemetry's GenAI conventions, where those differ. */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshotai: "moonshot_ai",
  xai: "x_ai",
  "amazon-bedrock": "aws.bedrock",
};

/**
 * The attributes of an event's span: every property as `compact.<name>`, nested ones with dots, lists of objects as
 * lists of JSON; beside them the names of the GenAI conventions where there are some.
 */
export function eventAttributes(event: CompactEvent, payload: boolean): OpenTelemetryAttributes {
  const attributes: OpenTelemetryAttributes = {
    "gen_ai.conversation.id": event.sessionId,
    "compact.event.version": event.version,
  };
  for (const [name, value] of Object.entries(event.properties)) add(attributes, `compact.${name}`, value);
  if (payload && event.payload !== undefined) add(attributes, "compact.payload", event.payload);
  return { ...attributes, ...modelAttributes(event), ...errorAttributes(event) };
}

function add(attributes: OpenTelemetryAttributes, name: string, value: unknown): void {
  if (typeof value === "string" || typeof value === "boolean") attributes[name] = value;
  else if (typeof value === "number") attributes[name] = value;
  else if (Array.isArray(value)) {
    attributes[name] = value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) add(attributes, `${name}.${key}`, inner);
  }
}

function modelAttributes({ name, properties }: CompactEvent): OpenTelemetryAttributes {
  if (name === "compact.token_estimate" && typeof properties.model === "string") {
    return { "gen_ai.request.model": properties.model };
  }
  const attempts = attemptsIn(properties);
  const last = attempts.at(-1);
  if (last === undefined) return {};
  const used = attempts.flatMap(({ usage }) => usage ?? []);
  const sum = (pick: (usage: Usage) => number): number =>
    used.reduce((total, usage) => total + pick(usage), 0);
  const request = requestAttributes(last);
  if (used.length === 0) return request;
  return {
    ...request,
    "gen_ai.usage.input_tokens": sum(({ input }) => input),
    "gen_ai.usage.output_tokens": sum(({ output }) => output),
    "gen_ai.usage.cache_read.input_tokens": sum(({ cache_read }) => cache_read),
  };
}

function errorAttributes({ name, properties }: CompactEvent): OpenTelemetryAttributes {
  return name === "compact.error" ? { "error.type": String(properties.error_type) } : {};
}

/** Model and provider of one request, as the GenAI conventions name them. */
export function requestAttributes({ model, provider }: Attempt): OpenTelemetryAttributes {
  const request = { "gen_ai.operation.name": "chat", "gen_ai.request.model": model };
  if (provider === undefined) return request;
  return { ...request, "gen_ai.provider.name": PROVIDERS[provider] ?? provider };
}

interface Usage {
  readonly input: number;
  readonly cache_read: number;
  readonly output: number;
}

/** A request to a model as events carry it. */
export interface Attempt {
  readonly model: string;
  readonly provider?: string;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

/** The requests to models that an event speaks of: those of a summary, or the one that failed. */
export function attemptsIn(properties: CompactEvent["properties"]): readonly Attempt[] {
  const { attempts, attempt } = properties;
  if (Array.isArray(attempts)) return attempts as Attempt[];
  return typeof attempt === "object" && attempt !== null ? [attempt as Attempt] : [];
}
