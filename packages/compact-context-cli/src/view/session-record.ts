import { defined } from "compact-context/internal/errors";
import { sum } from "./message-view.ts";
import type { Originals } from "./originals.ts";
import type { CompactionHead, SessionHead, SessionView, SpanView, StepView } from "./session-view.ts";

/** Facts about a session apart from its steps; they can change while it runs. */
interface SessionFacts
  extends Omit<SessionHead, "id" | "source" | "counts" | "updatedAt" | "dropped">,
    Pick<SessionView, "layers" | "cost"> {}

/** A step without what the record computes. */
type StepDraft = Omit<StepView, "index" | "total">;

/** Limits of one session; items beyond them are counted, not stored. `MAX_STEPS` also limits compactions. */
const MAX_STEPS = 200_000;
const MAX_SPANS = 20_000;
/** Limits of one response: steps, compactions, and characters of its spans. */
const MAX_STEPS_PER_RESPONSE = 10_000;
const MAX_SPAN_CHARACTERS = 1_000_000;

/** The append-only record of a session. */
export class SessionRecord {
  readonly id: string;
  readonly source: SessionHead["source"];
  readonly originals: Originals;
  readonly steps: StepView[] = [];
  readonly compactions: CompactionHead[] = [];
  /** Called after every change. */
  onChange: () => void = () => undefined;
  readonly #spans: SpanView[] = [];
  #facts: SessionFacts;
  #dropped = 0;
  #updatedAt: string | undefined;

  constructor(
    { id, source, originals }: Pick<SessionRecord, "id" | "source" | "originals">,
    facts: Partial<SessionFacts> & Pick<SessionFacts, "layers">,
  ) {
    this.id = id;
    this.source = source;
    this.originals = originals;
    this.#facts = { title: id, live: false, window: 0, trigger: 0, budget: 0, ...facts };
  }

  addStep(draft: StepDraft): void {
    this.#push(this.steps, withTotal({ ...draft, index: this.steps.length }), MAX_STEPS, draft.at);
  }

  /** Updates the newest step; undefined fields are unchanged. */
  amendStep(more: Partial<StepDraft>): void {
    const last = this.steps.pop();
    if (last === undefined) return;
    this.steps.push(withTotal({ ...last, ...defined(more) }));
    this.onChange();
  }

  addCompaction(draft: Omit<CompactionHead, "index">): CompactionHead {
    const made = { ...draft, index: this.compactions.length };
    this.#push(this.compactions, made, MAX_STEPS);
    return made;
  }

  addSpan(span: SpanView): void {
    const { start = "", end = start } = span;
    this.#push(this.#spans, span, MAX_SPANS, end);
  }

  /** Counts an item that was not stored. */
  drop(): void {
    this.#dropped += 1;
    this.onChange();
  }

  /** Updates the session's facts; undefined fields are unchanged. */
  amend(more: Partial<SessionFacts>): void {
    this.#facts = { ...this.#facts, ...defined(more) };
    this.onChange();
  }

  head(): SessionHead {
    const { cost: _, layers: __, ...facts } = this.#facts;
    return {
      id: this.id,
      source: this.source,
      ...facts,
      counts: {
        messages: this.originals.count(),
        steps: this.steps.length,
        compactions: this.compactions.length,
        spans: this.#spans.length,
      },
      updatedAt: this.#updatedAt,
      dropped: this.#dropped,
    };
  }

  view(from: SessionView["from"]): SessionView {
    const { layers, cost } = this.#facts;
    return {
      ...this.head(),
      layers,
      cost,
      from,
      steps: this.steps.slice(from.steps, from.steps + MAX_STEPS_PER_RESPONSE),
      compactions: this.compactions.slice(from.compactions, from.compactions + MAX_STEPS_PER_RESPONSE),
      spans: this.#spans.slice(from.spans, this.#endOfSpans(from.spans)),
    };
  }

  #push<T>(list: T[], item: T, limit: number, at = ""): void {
    // ISO 8601 in UTC sorts as text.
    if (at > (this.#updatedAt ?? "")) this.#updatedAt = at;
    if (list.length < limit) list.push(item);
    else this.#dropped += 1;
    this.onChange();
  }

  /** The end of the spans of one response, which holds at least one. */
  #endOfSpans(from: number): number {
    let characters = 0;
    let end = from;
    for (; end < this.#spans.length && characters < MAX_SPAN_CHARACTERS; end += 1) {
      characters += 200;
      for (const { name, value } of this.#spans[end]?.attributes ?? [])
        characters += name.length + value.length;
    }
    return end;
  }
}

function withTotal(step: Omit<StepView, "total">): StepView {
  return { ...step, total: sum(step.tokens) };
}
