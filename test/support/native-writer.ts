import type { ToolCallPart } from "compact-context/internal/core/message";
import type { Utterance } from "./generated-lists.ts";

/** Writes each utterance as entries of a provider's list. */
export type Writer = (utterances: readonly Utterance[]) => (readonly unknown[])[];

export type Said<T extends Utterance["type"]> = Utterance & { readonly type: T };

/** How a format writes each kind of utterance; without approvals, a plain call and its result. */
export interface Entries {
  readonly system: (said: Said<"system">, index: number) => unknown;
  readonly user: (said: Said<"user">, index: number) => unknown;
  readonly assistant: (said: Said<"assistant">, index: number) => readonly unknown[];
  readonly results: (said: Said<"results">, index: number) => readonly unknown[];
  readonly approval?: (said: Said<"approval">, index: number) => readonly unknown[];
}

export function writer(entries: Entries): Writer {
  return (utterances) => utterances.map((said, index) => write(entries, said, index));
}

function write(entries: Entries, said: Utterance, index: number): readonly unknown[] {
  switch (said.type) {
    case "system":
      return [entries.system(said, index)];
    case "user":
      return [entries.user(said, index)];
    case "assistant":
      return entries.assistant(said, index);
    case "results":
      return entries.results(said, index);
    case "approval":
      return entries.approval?.(said, index) ?? plainCall(entries, said, index);
  }
}

function plainCall(entries: Entries, said: Said<"approval">, index: number): readonly unknown[] {
  if (said.step === "response") return [];
  if (said.step === "request") return entries.assistant({ type: "assistant", calls: [said.call] }, index);
  const { id, name } = said.call;
  const outcome = said.approved ? { content: said.output } : { content: "denied", isError: true };
  return entries.results({ type: "results", results: [{ type: "toolResult", id, name, ...outcome }] }, index);
}

export function protectedMeta(said: Said<"user">): object {
  return said.protected === true ? { metadata: { protected: true } } : {};
}

/** A call's arguments as text. */
export function json(call: ToolCallPart): string {
  return JSON.stringify(call.arguments);
}

/** The items that are present. */
export function present(...items: readonly unknown[]): unknown[] {
  return items.filter((item) => item !== undefined && item !== false);
}
