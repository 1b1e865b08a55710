import { defined } from "compact-context/internal/errors";
import {
  type CompactionHead,
  type CompactionView,
  type ExpandedView,
  type MessageView,
  type SearchHitView,
  type SessionHead,
  type SessionView,
  type SpanView,
  type StepView,
  VIEW_VERSION,
} from "./session-view.ts";

/** What is known of a session beside its steps; may be learnt as it goes on. */
export type SessionFacts = Omit<
  SessionHead,
  "id" | "source" | "counts" | "startedAt" | "updatedAt" | "dropped"
> &
  Pick<SessionView, "layers" | "cost">;

/** Of a session of which nothing is known yet. */
export const NO_FACTS = { window: 0, trigger: 0, budget: 0 } as const;

/** Where the texts of a session come from; each is asked only when a reader looks. */
export interface Originals {
  /** Reads what the rest needs, where that is put off until a reader looks. */
  load?(): Promise<void>;
  count(): number;
  /** Undefined for a place that the session does not have. */
  message(index: number): MessageView | undefined;
  /** What is beneath a compaction's head. */
  open(head: CompactionHead): Promise<Pick<CompactionView, "messages" | "summary">>;
  expand(what: ExpandWhat): Promise<Omit<ExpandedView, "version" | "session"> | undefined>;
  search(text: string, limit: number): Promise<FoundOriginals>;
}

interface ExpandWhat {
  readonly archiveId?: string;
  readonly message?: number;
  readonly offset: number;
}

export interface FoundOriginals {
  readonly hits: readonly SearchHitView[];
  readonly problems: number;
}

/** A step as it is told: its place and sum are the record's to know. */
type StepDraft = Omit<StepView, "index" | "total">;

/** A session as it grows. */
export interface SessionRecord {
  readonly id: string;
  readonly source: SessionHead["source"];
  readonly originals: Originals;
  readonly steps: readonly StepView[];
  readonly compactions: readonly CompactionHead[];
  addStep(draft: StepDraft): void;
  /** Puts new knowledge about the newest step in its place. */
  amendStep(more: Partial<StepDraft>): void;
  addCompaction(draft: Omit<CompactionHead, "index">): CompactionHead;
  addSpan(span: SpanView): void;
  /** Counts something that came and was not kept. */
  drop(): void;
  /** Puts new knowledge about the session in its place; what is undefined is not known. */
  amend(more: Partial<SessionFacts>): void;
  head(): SessionHead;
  view(from: SessionView["from"]): SessionView;
}

interface RecordOptions {
  readonly id: string;
  readonly source: SessionHead["source"];
  readonly facts: SessionFacts;
  readonly originals: Originals;
  /** Told after every change. */
  readonly changed: () => void;
}

/** Most steps, compactions and spans of one session: what comes later is counted, not kept. */
const MAX_STEPS = 200_000;
const MAX_SPANS = 20_000;
/** Most steps and compactions of one answer, and most characters of its spans. */
const MAX_AT_ONCE = 10_000;
const MAX_CHARACTERS = 1_000_000;

/** A session without steps yet. */
export function createRecord(options: RecordOptions): SessionRecord {
  const { id, source, originals, changed } = options;
  let { facts } = options;
  const steps: StepView[] = [];
  const compactions: CompactionHead[] = [];
  const spans: SpanView[] = [];
  let dropped = 0;
  const lifetime = createLifetime();

  const push = <T>(list: T[], item: T, most: number): void => {
    if (list.length < most) list.push(item);
    else dropped += 1;
    changed();
  };

  const head = (): SessionHead => {
    const { cost: _, layers: __, ...told } = facts;
    return {
      id,
      source,
      ...told,
      counts: {
        messages: originals.count(),
        steps: steps.length,
        compactions: compactions.length,
        spans: spans.length,
      },
      ...lifetime.ends(),
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
      lifetime.see(draft.at);
      push(steps, summed({ ...draft, index: steps.length }), MAX_STEPS);
    },
    amendStep(more) {
      const last = steps.pop();
      if (last === undefined) return;
      steps.push(summed({ ...last, ...defined(more) }));
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
      lifetime.see(span.start);
      lifetime.see(span.end);
      push(spans, span, MAX_SPANS);
    },
    head,
    view: (from) => ({
      ...head(),
      version: VIEW_VERSION,
      layers: facts.layers,
      from,
      steps: steps.slice(from.steps, from.steps + MAX_AT_ONCE),
      compactions: compactions.slice(from.compactions, from.compactions + MAX_AT_ONCE),
      spans: spans.slice(from.spans, endOf(spans, from.spans)),
      cost: facts.cost,
    }),
  };
}

/** Where the spans of one answer end: at least one goes along. */
function endOf(spans: readonly SpanView[], from: number): number {
  let characters = 0;
  let end = from;
  for (; end < spans.length && characters < MAX_CHARACTERS; end += 1) {
    characters += 200;
    for (const { name, value } of spans[end]?.attributes ?? []) characters += name.length + value.length;
  }
  return end;
}

function summed(step: Omit<StepView, "total">): StepView {
  return { ...step, total: step.tokens.reduce((sum, tokens) => sum + tokens, 0) };
}

/** The first and the newest time that was seen; ISO 8601 in UTC sorts as text. */
function createLifetime(): {
  see(at: string | undefined): void;
  ends(): Pick<SessionHead, "startedAt" | "updatedAt">;
} {
  let startedAt: string | undefined;
  let updatedAt: string | undefined;
  return {
    see(at) {
      if (at === undefined) return;
      if (startedAt === undefined || at < startedAt) startedAt = at;
      if (updatedAt === undefined || at > updatedAt) updatedAt = at;
    },
    ends: () => (startedAt === undefined || updatedAt === undefined ? {} : { startedAt, updatedAt }),
  };
}
