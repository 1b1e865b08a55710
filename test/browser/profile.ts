import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM = process.env.COMPACT_CHROMIUM ?? "/usr/bin/chromium";
const INSTALLED = new URL("./node_modules/playwright-core/package.json", import.meta.url);
const require = createRequire(import.meta.url);

/** False if no browser is available. */
export const canDrive: boolean = existsSync(PROGRAM) && existsSync(fileURLToPath(INSTALLED));

/** No background activity of the browser, and no feature that a container lacks. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Answer {
  status(): number;
  url(): string;
  headers(): Record<string, string>;
}

interface Asked {
  url(): string;
  allHeaders(): Promise<Record<string, string>>;
}

interface Found {
  first(): Found;
  click(): Promise<void>;
  waitFor(): Promise<void>;
}

/** The used part of a playwright-core page, whose types exist only if it is installed. */
export interface Page {
  goto(url: string): Promise<Answer | null>;
  url(): string;
  evaluate<T, A = unknown>(work: string | ((argument: A) => T | Promise<T>), argument?: A): Promise<T>;
  getByText(text: string): Found;
  locator(selector: string): Found;
  waitForTimeout(milliseconds: number): Promise<void>;
  frames(): readonly { url(): string }[];
  on(event: "request", hear: (request: Asked) => void): void;
  on(event: "response", hear: (response: Answer) => void): void;
  close(): Promise<void>;
}

/** A browser profile; its pages share cookies. */
export interface Profile {
  newPage(): Promise<Page>;
  cookies(): Promise<readonly { name: string; value: string; httpOnly: boolean; sameSite: string }[]>;
  close(): Promise<void>;
}

/** Timeout for starting a browser while others start. */
export const START_MS = 60_000;

/** Starts a browser with an empty profile. */
export async function openProfile(flags: readonly string[] = []): Promise<Profile> {
  const { chromium } = require("playwright-core") as {
    chromium: { launchPersistentContext(folder: string, options: object): Promise<Profile> };
  };
  const folder = mkdtempSync(join(tmpdir(), "compact-browser-"));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: PROGRAM,
    headless: true,
    args: [...FLAGS, ...flags],
  });
  return {
    newPage: () => context.newPage(),
    cookies: () => context.cookies(),
    async close() {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
