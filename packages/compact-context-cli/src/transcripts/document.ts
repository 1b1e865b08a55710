/** The whitespace that a JSON document is written with. */
export interface Layout {
  readonly indent: string | undefined;
  readonly end: string;
}

/** The layout of a JSON text, so that a rewritten document looks like the one that was read. */
export function layoutOf(text: string): Layout {
  const indent = /^\s*[[{]\r?\n([ \t]+)/.exec(text.slice(0, 200))?.[1];
  return { indent, end: text.endsWith("\n") ? "\n" : "" };
}

/** The document as text. */
export function* documentChunks(value: unknown, layout: Layout): Iterable<string> {
  yield JSON.stringify(value, undefined, layout.indent);
  if (layout.end !== "") yield layout.end;
}
