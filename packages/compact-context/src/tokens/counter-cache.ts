import type { Format } from "../core/message.ts";
import type { TokenCounter } from "../core/ports.ts";
import type { TokenCounterOptions } from "./counting-plan.ts";
import { lookUpModel } from "./models.ts";
import { createTokenCounter } from "./token-counter.ts";

/** One counter for a model that is known; for any other, one per format, made when it is first asked for. */
export function createCounters(options: TokenCounterOptions): (format: Format | undefined) => TokenCounter {
  const known = options.model !== undefined && lookUpModel(options.model, options.models).known;
  const counters = new Map<Format | undefined, TokenCounter>();
  return (format) => {
    const key = known ? undefined : format;
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = createTokenCounter({ ...options, format: key });
      counters.set(key, counter);
    }
    return counter;
  };
}
