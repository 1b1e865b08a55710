import type { Format } from "../core/message.ts";
import { createLruMap, later } from "../errors.ts";
import { createGrowingList, type GrowingList } from "./growing.ts";

export interface LiveListsOptions {
  /** Mends lists on their way to the model, unless a call says otherwise. */
  readonly repair: boolean;
  /** Undefined where there is nothing to lint: neutral messages, or a list that could be of several formats. */
  formatOf(list: readonly unknown[], format: Format | undefined): Format | undefined;
  /** Reports what was mended, or what a provider may refuse; each rule once for a session. */
  report(sessionId: string, code: "list_mended" | "malformed_list", message: string): void;
}

interface LiveList {
  readonly list: GrowingList;
  /** Rules that were reported. */
  readonly reported: Set<string>;
}

const MAX_SESSIONS = 256;

/**
 * The lists of sessions on their way to the model: mended where that is asked for. Else they are linted after the call
 * has gone on, because nobody waits for a warning.
 */
export class LiveLists {
  readonly #options: LiveListsOptions;
  readonly #sessions = createLruMap<LiveList>(MAX_SESSIONS);
  readonly #waiting = new Map<string, { readonly list: readonly unknown[]; readonly format?: Format }>();

  constructor(options: LiveListsOptions) {
    this.#options = options;
  }

  /** The list to send: mended, or as it is. */
  prepare<T>(
    sessionId: string,
    list: readonly T[],
    { format, repair = this.#options.repair }: { readonly format?: Format; readonly repair?: boolean },
  ): readonly T[] {
    const session = this.#sessions.get(sessionId) ?? { list: createGrowingList(), reported: new Set() };
    this.#sessions.set(sessionId, session);
    if (!repair) {
      if (session.reported.size > 0) return list;
      if (this.#waiting.size === 0) later(0, () => this.lintWaiting());
      this.#waiting.set(sessionId, { list, format });
      return list;
    }
    const { messages, mends } = session.list.mend(list, () => this.#options.formatOf(list, format));
    for (const { rule, explanation } of mends) {
      if (session.reported.has(rule)) continue;
      session.reported.add(rule);
      const message = `the list broke ${rule} and was mended: ${explanation}`;
      this.#options.report(sessionId, "list_mended", message);
    }
    return messages;
  }

  /** Lints the lists that wait for it. */
  lintWaiting(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [sessionId, { list, format }] of waiting) {
      const session = this.#sessions.get(sessionId);
      const error = session?.list.check(list, () => this.#options.formatOf(list, format));
      if (session === undefined || error === undefined) continue;
      session.reported.add(error.rule);
      const message =
        `a provider may refuse the list of session "${sessionId}": ${error.path}: ${error.explanation} (${error.rule}). ` +
        "`new CompactManager(config, { repair: true })` mends such lists";
      this.#options.report(sessionId, "malformed_list", message);
    }
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#waiting.delete(sessionId);
  }
}
