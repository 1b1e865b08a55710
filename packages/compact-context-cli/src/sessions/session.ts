import type { Source } from "../files/source.ts";
import type { SessionFacts } from "./facts.ts";

/** A session that an agent left on this computer. */
export interface FoundSession {
  /** The tool that wrote it, as people call it. */
  readonly tool: string;
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds since 1970 of its last change. */
  readonly changed: number;
  /** Read when asked for, and only so much of the file. */
  facts(): Promise<SessionFacts>;
  open(): Promise<Source>;
}

/** Where to look: the user's folder and environment. */
export interface Places {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}
