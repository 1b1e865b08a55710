import type { CompactionHead as Head, SessionView, StepView } from "../session-view.ts";
import { button, element, fill } from "./dom.ts";
import { LAYERS, reasonWords } from "./layers.ts";
import { clockTime, count, duration, percent, plural } from "./numbers.ts";
import type { Store } from "./store.ts";
import { firstLine } from "./visible-text.ts";

export interface CompactionHeadView {
  readonly node: HTMLElement;
  show(session: SessionView | undefined, compaction: Head | undefined): void;
}

/** What a compaction came to, above its messages. */
export function createCompactionHead(store: Store): CompactionHeadView {
  const go = (by: number): void => {
    const { session, compaction } = store.get();
    const next = session?.compactions[compaction + by];
    if (next !== undefined) store.set({ compaction: next.index, step: next.step, playing: false });
  };
  const before = button("‹", () => go(-1), { class: "quiet turn", "aria-label": "Compaction before" });
  const after = button("›", () => go(1), { class: "quiet turn", "aria-label": "Compaction after" });
  const title = element("h3");
  const fall = element("strong");
  const less = element("span", { class: "less" });
  const line = element("div", { class: "fall-line" }, before, title, after, fall, less);
  const more = element("div", { class: "more-facts" });
  const node = element("div", { class: "compaction-head" }, line, more);

  return {
    node,
    show(session, compaction) {
      line.hidden = session === undefined || compaction === undefined;
      if (session === undefined || compaction === undefined) {
        fill(more, element("p", { class: "empty" }, noneWords(session)));
        return;
      }
      const { index, tokensBefore, tokensAfter, failures } = compaction;
      before.disabled = index === 0;
      after.disabled = index >= session.compactions.length - 1;
      title.textContent = `Compaction ${count(index + 1)} of ${count(session.compactions.length)}`;
      fall.textContent = `${count(tokensBefore)} → ${count(tokensAfter)} tokens`;
      less.textContent = `${percent(tokensBefore - tokensAfter, tokensBefore)} less`;
      fill(
        more,
        element("p", { class: "facts" }, factsOf(compaction).join(" · ")),
        ...failures.map((failure) => element("p", { class: "failure" }, `! ${firstLine(failure)}`)),
        bars(session, session.steps[compaction.step]),
      );
    },
  };
}

function noneWords(session: SessionView | undefined): string {
  if (session === undefined || session.steps.length === 0) return "No compaction yet.";
  return "No compaction was needed: every call fitted below the trigger.";
}

function factsOf(compaction: Head): string[] {
  const { step, at, reason, messagesBefore, messagesAfter, durationMs, summarizer, archive, policy } =
    compaction;
  const summary = [
    summarizer ?? "",
    compaction.summaryTokens === undefined ? "" : `${count(compaction.summaryTokens)} tokens`,
  ].filter((part) => part !== "");
  return [
    `before call ${count(step + 1)}${clockTime(at) === "" ? "" : ` at ${clockTime(at)}`}`,
    reason === undefined ? "" : reasonWords(reason),
    messageWords(messagesBefore, messagesAfter),
    durationMs === undefined ? "" : `took ${duration(durationMs)}`,
    summary.length === 0 ? "" : `summary: ${firstLine(summary.join(", "), 80)}`,
    ...policy.map(({ name, value }) => firstLine(`${name.replaceAll("_", " ")} ${value}`, 80)),
    archive === undefined ? "" : `originals: archive step ${count(archive.step)}`,
  ].filter((fact) => fact !== "");
}

function messageWords(before: number | undefined, after: number | undefined): string {
  if (before === undefined) return "";
  return after === undefined ? plural(before, "message") : `${count(before)} → ${plural(after, "message")}`;
}

/** The window before and after, layer by layer, on one scale. */
function bars(session: SessionView, step: StepView | undefined): HTMLElement | undefined {
  if (step?.before === undefined) return undefined;
  const whole = Math.max(
    session.window,
    1,
    step.total,
    step.before.reduce((total, each) => total + each, 0),
  );
  const row = (name: string, tokens: readonly number[]): HTMLElement => {
    const pieces = tokens.map((each, index) => {
      const layer = session.layers[index] ?? "messages";
      const piece = element("span", {
        class: `piece layer-${layer}`,
        title: `${LAYERS[layer].name}: ${count(each)}`,
      });
      piece.style.width = `${(each / whole) * 100}%`;
      return piece;
    });
    const said = tokens.flatMap((each, index) =>
      each === 0 ? [] : [`${LAYERS[session.layers[index] ?? "messages"].name} ${count(each)}`],
    );
    return element(
      "div",
      { class: "layer-bar" },
      element("span", { class: "name" }, name),
      element(
        "span",
        { class: "track", role: "img", "aria-label": `${name}: ${said.join(", ")}` },
        ...pieces,
      ),
    );
  };
  return element("div", { class: "layer-bars" }, row("before", step.before), row("after", step.tokens));
}
