import type { ComponentChildren, JSX } from "preact";
import type { ContentRow } from "./data.ts";
import { count, firstLine, plural } from "./text.ts";
import { FATES, GLOSSARY, KINDS } from "./words.ts";

/** Tokens of the largest row that bars are measured against; a few giants do not make all others invisible. */
const FULL_BAR = 4000;

export interface RowShape extends ContentRow {
  /** Tokens after a compaction, where the row tells of one. */
  readonly tokensAfter?: number;
}

const ROLES = ["user", "assistant", "tool", "system", "developer", "summary"];

/** One message on one line: number, role, what became of it, its beginning, its tokens with a bar. */
export function messageRow(
  row: RowShape | undefined,
  more = "",
): { readonly kind: string; readonly content: ComponentChildren } {
  if (row === undefined) return { kind: `message waiting ${more}`, content: <span class="gist">…</span> };
  const { kind, message, fate, tool, path, preview, tokens, tokensAfter = tokens } = row;
  const role = kind === "summary" ? "summary" : firstLine(row.role, 24);
  const word = kind === "summary" ? "" : KINDS[kind];
  const isChanged = tokensAfter !== tokens && fate !== "summarized";
  const width = (size: number): { width: string } => ({
    width: `${Math.min(100, (size / FULL_BAR) * 100)}%`,
  });
  const content = (
    <>
      <span class="number">{message === undefined ? "" : count(message + 1)}</span>
      <span class={`role role-${ROLES.includes(role) ? role : "other"}`}>{role}</span>
      {fate !== undefined && (
        <span class="fate" title={FATES[fate].means}>
          <span class="sign" aria-hidden="true">
            {FATES[fate].sign}
          </span>
          {FATES[fate].word}
        </span>
      )}
      <span class="gist" dir="auto">
        {word !== "" && <span class={preview.trim() === "" ? "kind alone" : "kind"}>{`${word} `}</span>}
        {tool !== undefined && <span class="tool">{`${firstLine(tool, 60)} `}</span>}
        {path !== undefined && <span class="path">{`${firstLine(path, 120)} `}</span>}
        {firstLine(preview)}
      </span>
      <span class="tokens">{isChanged ? `${count(tokens)} → ${count(tokensAfter)}` : count(tokens)}</span>
      <span class="bar" aria-hidden="true">
        <span class="gone" style={width(tokens)} />
        <span class="left" style={width(tokensAfter)} />
      </span>
    </>
  );
  const fateClass = fate === undefined ? "" : `fate-${fate}`;
  return { kind: `message ${more} ${fateClass} ${kind === "summary" ? "is-summary" : ""}`, content };
}

/** What a row is, in a line. */
export function titleOf({ message, summaryOf, role, kind, tokens, tokensAfter, fate }: RowShape): string {
  const name =
    message === undefined
      ? kind === "summary"
        ? `Summary of compaction ${(summaryOf ?? 0) + 1}`
        : "Messages of the list"
      : `Message ${count(message + 1)}`;
  const what = message === undefined ? "" : ` · ${[firstLine(role, 24), KINDS[kind]].join(" ").trim()}`;
  const now = fate === "summarized" ? 0 : (tokensAfter ?? tokens);
  const cost = now === tokens ? plural(tokens, "token") : `${count(tokens)} → ${count(now)} tokens`;
  return `${name}${what} · ${cost}`;
}

/** The strip under a list that says more about its marked row. */
export function Detail({
  row,
  facts = [],
  hint,
  open,
}: {
  readonly row: RowShape | undefined;
  readonly facts?: readonly string[];
  readonly hint: string;
  readonly open?: () => void;
}): JSX.Element {
  const id = row?.archiveId === undefined ? "" : `archive id ${firstLine(row.archiveId, 60)}`;
  const said = [...facts, id].filter((fact) => fact !== "").join(" · ");
  return (
    <div class="detail">
      <p title={said}>
        {row === undefined ? hint : <strong>{titleOf(row)}</strong>}
        {row !== undefined && said !== "" && ` · ${said}`}
      </p>
      {open !== undefined && (
        <button type="button" class="quiet" onClick={open}>
          Show whole
        </button>
      )}
    </div>
  );
}

/** A word of the page with plain words about it where the pointer rests. */
export function Term({
  name,
  children,
}: {
  readonly name: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const means = GLOSSARY[name];
  return means === undefined ? (
    <span>{children ?? name}</span>
  ) : (
    <abbr title={means}>{children ?? name}</abbr>
  );
}
