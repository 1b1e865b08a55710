import { execFileSync, spawnSync } from "node:child_process";
import { resolve } from "node:path";

/** A tmux terminal that runs one program. */
export interface TestTerminal {
  /** The screen and its scrollback, lines without trailing spaces. */
  text(): string;
  /** Types a line and Enter. */
  line(text: string): void;
  /** Pastes a text with bracketed paste. */
  paste(text: string): void;
  /** Presses keys as tmux names them, such as `C-c`. */
  keys(...names: readonly string[]): void;
  /** Waits until the screen shows the text `times` times in all; rejects with the screen's content. */
  shows(what: string | RegExp, times?: number): Promise<void>;
  /** Process id of the program. */
  pid(): number;
  /** Whether the program has ended. */
  ended(): boolean;
  close(): void;
}

export const hasTmux: boolean = spawnSync("tmux", ["-V"]).status === 0;

const WAIT_MS = 20_000;

/** Runs `compact` with these arguments in a folder. */
export function openTerminal(
  folder: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
  columns = 80,
): TestTerminal {
  const socket = `compact-test-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      env: { ...process.env, TMUX: "" },
    });
  const set = Object.entries({ TERM: "screen-256color", LANG: "C.UTF-8", ...env }).flatMap(
    ([name, value]) => ["-e", `${name}=${value}`],
  );
  const program = [process.execPath, resolve("packages/compact-context-cli/bin/compact.js"), ...words];
  tmux(
    "-u",
    "new-session",
    "-d",
    "-x",
    String(columns),
    "-y",
    "40",
    "-c",
    folder,
    ...set,
    "sh",
    "-c",
    `exec ${program.map(quoted).join(" ")}`,
    ";",
    "set",
    "-g",
    "remain-on-exit",
    "on",
    ";",
    "set",
    "-g",
    "history-limit",
    "5000",
  );
  const text = (): string =>
    tmux("capture-pane", "-p", "-S", "-2000")
      .replace(/[ \t]+$/gm, "")
      .trimEnd();
  return {
    text,
    line: (typed) => {
      tmux("send-keys", "-l", typed);
      tmux("send-keys", "Enter");
    },
    paste: (text) => {
      tmux("set-buffer", text);
      tmux("paste-buffer", "-p");
    },
    keys: (...names) => void tmux("send-keys", ...names),
    async shows(what, times = 1) {
      const pattern =
        typeof what === "string"
          ? new RegExp(what.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "g")
          : new RegExp(what, "gm");
      const until = performance.now() + WAIT_MS;
      while ((text().match(pattern)?.length ?? 0) < times) {
        if (performance.now() > until) throw new Error(`the screen does not show ${what}:\n${text()}`);
        await new Promise((done) => setTimeout(done, 60));
      }
    },
    pid: () => Number(tmux("display", "-p", "#{pane_pid}")),
    ended: () => tmux("display", "-p", "#{pane_dead}").trim() === "1",
    close: () => void spawnSync("tmux", ["-L", socket, "kill-server"]),
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
