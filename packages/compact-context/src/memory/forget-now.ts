import { itemsOf } from "./changes/document.ts";
import type { ForgottenIn, MemoryOperation } from "./changes/operation.ts";
import type { MemoryWriter } from "./changes/writer.ts";
import { isMeant } from "./learning/forget-wish.ts";
import { topicTerms } from "./learning/meaning.ts";

/** Forgets an item by its id, or whatever words name, as a person asks for it; what was taken out of which file. */
export async function forgetNow(writer: MemoryWriter, what: string): Promise<readonly ForgottenIn[]> {
  const items = itemsOf(await writer.read("MEMORY.md"));
  const why = "a person asked for it";
  const byId = items.filter(({ id }) => id === what);
  const meant = byId.length > 0 ? byId : items.filter(({ text }) => isMeant(what, text));
  const topic = byId.length > 0 ? undefined : what;
  const operations: MemoryOperation[] = meant.map(({ id }) => ({ op: "forget", target: id, topic, why }));
  if (operations.length === 0)
    operations.push({ op: "forget", topic: what, said: topicTerms(what).size > 1 ? what : undefined, why });
  return (await writer.apply(operations, { author: "person", reason: "something is to be forgotten" }))
    .forgotten;
}
