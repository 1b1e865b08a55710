import type { Format } from "../messages/message.ts";
import type { TokenCounterOptions } from "../tokens/counting-plan.ts";
import { createTokenCounter, type RequestCounter } from "../tokens/token-counter.ts";

/** One counter for the named model; where none is named, one per format, made when it is first asked for. */
export function createCounters(options: TokenCounterOptions): (format: Format | undefined) => RequestCounter {
  const counters = new Map<Format | undefined, RequestCounter>();
  return (format) => {
    const key = options.model === undefined ? format : undefined;
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = createTokenCounter({ ...options, ...(key === undefined ? {} : { format: key }) });
      counters.set(key, counter);
    }
    return counter;
  };
}
