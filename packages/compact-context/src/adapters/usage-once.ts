/** Hands a usage record on once: it speaks of the call before only, and hosts keep it with the message. */
export function createUsageOnce(): (usage: unknown) => unknown {
  const seen = new WeakSet<object>();
  return (usage) => {
    if (typeof usage !== "object" || usage === null || seen.has(usage)) return undefined;
    seen.add(usage);
    return usage;
  };
}
