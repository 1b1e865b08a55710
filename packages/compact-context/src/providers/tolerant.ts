import { type Json, objectOf, textOf } from "./json.ts";

/** Words by which servers say that they do not take a parameter, rather than that its value is wrong. */
const REFUSED =
  /unsupported|not supported|does not support|unrecognized|unknown|unexpected|deprecated|extra (?:inputs|fields)|not permitted|not allowed|may only be set/i;

/** Calls with optional parameters. What the server refuses is renamed or left out, and stays so. */
export type TolerantCall = <Answer>(
  parameters: Json,
  send: (accepted: Json) => PromiseLike<Answer>,
) => Promise<Answer>;

/**
 * A call that goes on without a parameter that the server does not take: reasoning models refuse a temperature, and
 * servers differ over the name of the output limit. Every other error is thrown as it came.
 */
export function createTolerantCall(renames: Readonly<Record<string, string>> = {}): TolerantCall {
  const refused = new Set<string>();

  function accepted(parameters: Json): Json {
    const taken: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(parameters)) {
      const other = renames[name];
      if (!refused.has(name)) taken[name] = value;
      else if (other !== undefined && !refused.has(other)) taken[other] = value;
    }
    return taken;
  }

  return async (parameters, send) => {
    for (;;) {
      const sent = accepted(parameters);
      try {
        return await send(sent);
      } catch (error) {
        const name = refusedParameter(error, Object.keys(sent));
        if (name === undefined) throw error;
        refused.add(name);
      }
    }
  };
}

/** Which of the sent parameters an error of an SDK or of `fetchJson` refuses. */
function refusedParameter(error: unknown, sent: readonly string[]): string | undefined {
  const { status, statusCode, message, responseBody, error: body } = objectOf(error);
  const code = status ?? statusCode;
  if (code !== 400 && code !== 422) return undefined;
  const inner = objectOf(objectOf(body).error ?? body);
  const words = [message, responseBody, inner.message].map(textOf).join("\n");
  if (!REFUSED.test(words)) return undefined;
  const named = textOf(inner.param);
  if (sent.includes(named)) return named;
  return sent.find((name) => new RegExp(`(?<![\\w])${name}(?![\\w])`).test(words));
}
