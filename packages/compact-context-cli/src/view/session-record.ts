import { defined } from "compact-context/internal/errors";
import { sum } from "./message-view.ts";
import type {
  CompactionHead,
  CompactionView,
  ExpandedView,
  MessageView,
  SearchView,
  SessionHead,
  SessionView,
  SpanView,
  StepView,
} from "./session-view.ts";

/** Facts about a session apart from its steps; they can change while it runs. */
export type SessionFacts = Omit<SessionHead, "id" | "source" | "counts" | "updatedAt" | "dropped"> &
  Pick<SessionView, "layers" | "cost">;

/** The facts of a session before its first event. */
export const NO_FACTS = { window: 0, trigger: 0, budget: 0 } as const;

/** Access to the texts of a session; each is computed on demand. */
export interface Originals {
  /** Loads the session once, if loading was deferred to the first request. */
  load?(): Promise<void>;
  count(): number;
  /** Undefined for an index out of range. */
  message(index: number): MessageView | undefined;
  /** The details of a compaction. */
  open(head: CompactionHead): Promise<Pick<CompactionView, "messages" | "summary">>;
  expand(query: ExpandQuery): Promise<ExpandedView | undefined>;
  search(text: string, limit: number): Promise<FoundOriginals>;
}

interface ExpandQuery {
  readonly archiveId?: string;
  readonly message?: number;
  readonly offset: number;
}

export type FoundOriginals = Omit<SearchView, "query">;

/** A step without what the record computes. */
type StepDraft = Omit<StepView, "index" | "total">;

/** The append-only record of a session. */
export interface SessionRecord {
  readonly id: string;
  readonly source: SessionHead["source"];
  readonly originals: Originals;
  readonly steps: readonly StepView[];
  readonly compactions: readonly CompactionHead[];
  addStep(draft: StepDraft): void;
  /** Updates the newest step; undefined fields are unchanged. */
  amendStep(more: Partial<StepDraft>): void;
  addCompaction(draft: Omit<CompactionHead, "index">): CompactionHead;
  addSpan(span: SpanView): void;
  /** Counts an item that was not stored. */
  drop(): void;
  /** Updates the session's facts; undefined fields are unchanged. */
  amend(more: Partial<SessionFacts>): void;
  head(): SessionHead;
  view(from: SessionView["from"]): SessionView;
}

interface RecordOptions {
  readonly id: string;
  readonly source: SessionHead["source"];
  readonly facts: SessionFacts;
  readonly originals: Originals;
  /** Called after every change. */
  readonly changed: () => void;
}

/** Limits of one session; items beyond them are counted, not stored. `MAX_STEPS` also limits compactions. */
const MAX_STEPS = 200_000;
const MAX_SPANS = 20_000;
/** Limits of one response: steps, compactions, and characters of its spans. */
const MAX_STEPS_PER_RESPONSE = 10_000;
const MAX_SPAN_CHARACTERS = 1_000_000;

/** An empty record. */
export function createRecord(options: RecordOptions): SessionRecord {
  const { id, source, originals, changed } = options;
  let { facts } = options;
  const steps: StepView[] = [];
  const compactions: CompactionHead[] = [];
  const spans: SpanView[] = [];
  let dropped = 0;
  let updatedAt: string | undefined;

  // ISO 8601 in UTC sorts as text.
  const touch = (at = ""): void => {
    if (at > (updatedAt ?? "")) updatedAt = at;
  };
  const push = <T>(list: T[], item: T, limit: number): void => {
    if (list.length < limit) list.push(item);
    else dropped += 1;
    changed();
  };

  const head = (): SessionHead => {
    const { cost: _, layers: __, ...headFacts } = facts;
    return {
      id,
      source,
      ...headFacts,
      counts: {
        messages: originals.count(),
        steps: steps.length,
        compactions: compactions.length,
        spans: spans.length,
      },
      updatedAt,
      dropped,
    };
  };

  return {
    id,
    source,
    originals,
    steps,
    compactions,
    addStep(draft) {
      touch(draft.at);
      push(steps, withTotal({ ...draft, index: steps.length }), MAX_STEPS);
    },
    amendStep(more) {
      const last = steps.pop();
      if (last === undefined) return;
      steps.push(withTotal({ ...last, ...defined(more) }));
      changed();
    },
    addCompaction(draft) {
      const made = { ...draft, index: compactions.length };
      push(compactions, made, MAX_STEPS);
      return made;
    },
    drop() {
      dropped += 1;
      changed();
    },
    amend(more) {
      facts = { ...facts, ...defined(more) };
      changed();
    },
    addSpan(span) {
      touch(span.start);
      touch(span.end);
      push(spans, span, MAX_SPANS);
    },
    head,
    view: (from) => ({
      ...head(),
      layers: facts.layers,
      from,
      steps: steps.slice(from.steps, from.steps + MAX_STEPS_PER_RESPONSE),
      compactions: compactions.slice(from.compactions, from.compactions + MAX_STEPS_PER_RESPONSE),
      spans: spans.slice(from.spans, endOf(spans, from.spans)),
      cost: facts.cost,
    }),
  };
}

/** The end of the spans of one response, which holds at least one. */
function endOf(spans: readonly SpanView[], from: number): number {
  let characters = 0;
  let end = from;
  for (; end < spans.length && characters < MAX_SPAN_CHARACTERS; end += 1) {
    characters += 200;
    for (const { name, value } of spans[end]?.attributes ?? []) characters += name.length + value.length;
  }
  return end;
}

function withTotal(step: Omit<StepView, "total">): StepView {
  return { ...step, total: sum(step.tokens) };
}
