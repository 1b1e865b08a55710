import { existsSync } from "node:fs";

/** What the tests use of a page, as playwright-core has it. */
export interface Tab {
  goto(url: string): Promise<unknown>;
  evaluate<T>(script: string): Promise<T>;
  waitForSelector(selector: string, options?: { timeout?: number; state?: string }): Promise<unknown>;
  click(selector: string, options?: { clickCount?: number }): Promise<void>;
  dblclick(selector: string): Promise<void>;
  focus(selector: string): Promise<void>;
  textContent(selector: string): Promise<string | null>;
  screenshot(options: { path: string }): Promise<unknown>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  readonly mouse: { move(x: number, y: number): Promise<void>; wheel(x: number, y: number): Promise<void> };
  locator(selector: string): { ariaSnapshot(): Promise<string>; count(): Promise<number> };
  on(event: "console", hear: (message: { type(): string; text(): string }) => void): void;
  on(event: "pageerror", hear: (error: Error) => void): void;
  on(event: "request", hear: (request: { url(): string }) => void): void;
  close(): Promise<void>;
}

export interface Browser {
  newPage(options?: {
    readonly viewport?: { readonly width: number; readonly height: number };
    readonly colorScheme?: "light" | "dark";
    readonly reducedMotion?: "reduce";
    readonly deviceScaleFactor?: number;
  }): Promise<Tab>;
  close(): Promise<void>;
}

const PLACES = [process.env.COMPACT_CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** The system's Chromium; undefined where it or playwright-core is not installed. */
export async function openChromium(): Promise<Browser | undefined> {
  const executablePath = PLACES.find((place) => place !== "" && existsSync(place));
  const name = "playwright-core";
  try {
    const { chromium } = (await import(name)) as {
      chromium: { launch(options: object): Promise<Browser> };
    };
    if (executablePath === undefined) return undefined;
    // In a container, as root, Chromium's own sandbox does not start.
    return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  } catch {
    return undefined;
  }
}
