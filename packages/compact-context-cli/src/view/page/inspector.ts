import type { SpanView } from "../session-view.ts";
import { element, fill } from "./dom.ts";
import { dateTime, duration } from "./numbers.ts";
import { visibleText } from "./visible-text.ts";

export interface Inspector {
  readonly node: HTMLElement;
  /** `inside`: the spans under it, told besides where it says nothing itself. */
  show(span: SpanView | undefined, inside?: readonly SpanView[]): void;
}

/** Values from here on get lines of their own. */
const LONG = 60;

/** What one span says: its times, then its attributes, those of one group together. */
export function createInspector(): Inspector {
  const node = element("div", { class: "inspector", role: "region", "aria-label": "Span", tabindex: 0 });
  return {
    node,
    show(span, inside = []) {
      if (span === undefined)
        return fill(node, element("p", { class: "empty" }, "Choose a span to see what it says."));
      const { name, start, end, durationMs, status, attributes } = span;
      const known: [string, string][] = [
        ["status", status === "ok" ? "ok" : "! error"],
        ["took", durationMs === undefined ? "" : duration(durationMs)],
        ["started", dateTime(start)],
        ["ended", end === start ? "" : dateTime(end)],
      ];
      fill(
        node,
        element("h3", {}, visibleText(name)),
        rows(known.filter(([, value]) => value !== "")),
        ...sections(attributes),
        ...(attributes.length > 0 ? [] : inside.flatMap(childSections)),
      );
      node.scrollTop = 0;
    },
  };
}

function sections(attributes: SpanView["attributes"]): (HTMLElement | undefined)[] {
  return groups(attributes).flatMap(([group, pairs]) => [
    group === "" ? undefined : element("h4", {}, visibleText(group)),
    rows(pairs),
  ]);
}

function childSections({ name, attributes }: SpanView): (HTMLElement | undefined)[] {
  const flat = attributes.map(({ name: key, value }) => [key.replaceAll(".", " "), value] as const);
  return [element("h4", {}, visibleText(name)), rows(flat)];
}

/** `policy.trigger_pct` stands under `policy`. */
function groups(attributes: SpanView["attributes"]): [string, [string, string][]][] {
  const found = new Map<string, [string, string][]>([["", []]]);
  for (const { name, value } of attributes) {
    const dot = name.indexOf(".");
    const group = dot > 0 ? name.slice(0, dot) : "";
    const inside = found.get(group) ?? [];
    inside.push([dot > 0 ? name.slice(dot + 1) : name, value]);
    found.set(group, inside);
  }
  return [...found].filter(([, pairs]) => pairs.length > 0);
}

function rows(pairs: readonly (readonly [string, string])[]): HTMLElement {
  const list = element("dl");
  for (const [name, value] of pairs) {
    const text = visibleText(value);
    const long = text.length > LONG || text.includes("\n");
    list.append(
      element("dt", { class: long ? "wide" : "" }, visibleText(name).replaceAll("_", " ")),
      element("dd", { class: long ? "wide" : "", dir: "auto" }, text),
    );
  }
  return list;
}
