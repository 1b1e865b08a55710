import type { CliPorts } from "./ports.ts";
import { oneLine } from "./render/safe.ts";
import { truncate } from "./render/width.ts";

/** One line on stderr that says what is going on; only on a terminal, only for work over a second. */
export interface Progress {
  /** What is being done now, any text; `share` 0 to 1 where it is known. */
  show(stage: string, share?: number): void;
  /** Takes the line away. */
  end(): void;
}

const QUIET_MS = 1000;
const REFRESH_MS = 100;
const BAR = 20;

export function createProgress(ports: Pick<CliPorts, "stderr" | "clock">): Progress {
  const { stderr, clock } = ports;
  if (!stderr.isTerminal) return { show: () => undefined, end: () => undefined };
  const started = clock();
  let shown = Number.NEGATIVE_INFINITY;
  let last = "";
  return {
    show: (stage, share) => {
      const now = clock();
      if (now - started < QUIET_MS || (stage === last && now - shown < REFRESH_MS)) return;
      shown = now;
      last = stage;
      const filled = Math.round(Math.min(1, Math.max(0, share ?? 0)) * BAR);
      const bar = share === undefined ? "" : ` ${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
      stderr.write(`\r${truncate(`${oneLine(stage)}${bar}`, (stderr.columns ?? 80) - 1)}\u001b[K`);
    },
    end: () => {
      if (last !== "") stderr.write("\r\u001b[K");
      last = "";
    },
  };
}
