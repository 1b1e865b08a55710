import type { Format } from "../messages/message.ts";
import type { TokenCounterOptions } from "../tokens/counting-plan.ts";
import { lookUpModel } from "../tokens/models.ts";
import { createTokenCounter, type RequestCounter } from "../tokens/token-counter.ts";

/** One counter for a model that is known; for any other, one per format, made when it is first asked for. */
export function createCounters(options: TokenCounterOptions): (format: Format | undefined) => RequestCounter {
  const known = options.model !== undefined && lookUpModel(options.model, options.models).known;
  const counters = new Map<Format | undefined, RequestCounter>();
  return (format) => {
    const key = known ? undefined : format;
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = createTokenCounter({ ...options, ...(key === undefined ? {} : { format: key }) });
      counters.set(key, counter);
    }
    return counter;
  };
}
