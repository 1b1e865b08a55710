import type { Rejection } from "./answers.ts";
import type { Json } from "./wire.ts";

/** The JSON of OpenAI's errors. */
export function openAiError({ message, type, param = null, code = null }: Rejection): unknown {
  return { error: { message, type, param, code } };
}

const FAILURES: Readonly<Record<number, Omit<Rejection, "status">>> = {
  401: {
    type: "invalid_request_error",
    message:
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
  },
  403: {
    type: "invalid_request_error",
    message: "Country, region, or territory not supported",
    code: "unsupported_country_region_territory",
  },
  404: {
    type: "invalid_request_error",
    message: "The model does not exist or you do not have access to it.",
    code: "model_not_found",
  },
  429: {
    type: "requests",
    message: "Rate limit reached for requests per min. Please try again in 1s.",
    code: "rate_limit_exceeded",
  },
  500: {
    type: "server_error",
    message: "The server had an error while processing your request. Sorry about that!",
  },
  503: {
    type: "service_unavailable_error",
    message: "The engine is currently overloaded, please try again later",
  },
};

/** OpenAI's error for a status. */
export function openAiFailure(status: number): Rejection {
  const { type, ...rest } = FAILURES[status] ?? {
    type: status < 500 ? "invalid_request_error" : "server_error",
    message: `The request failed with status ${status}.`,
  };
  return { status, type, ...rest };
}

/** The error for an unsupported parameter; the two APIs word it differently. */
export function unsupportedParameter(
  body: Json,
  unsupported: readonly string[],
  api: "chat" | "responses",
): Rejection | undefined {
  const name = unsupported.find(
    (one) => body[one] !== undefined && !(one === "temperature" && body.temperature === 1),
  );
  if (name === undefined) return undefined;
  const rejection = { status: 400, type: "invalid_request_error", param: name };
  if (api === "chat" && name === "max_tokens") {
    return {
      ...rejection,
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      code: "unsupported_parameter",
    };
  }
  if (api === "chat" && name === "temperature") {
    return {
      ...rejection,
      message: `Unsupported value: 'temperature' does not support ${String(body.temperature)} with this model. Only the default (1) value is supported.`,
      code: "unsupported_value",
    };
  }
  return {
    ...rejection,
    message: `Unsupported parameter: '${name}' is not supported with this model.`,
    code: api === "chat" ? "unsupported_parameter" : null,
  };
}
