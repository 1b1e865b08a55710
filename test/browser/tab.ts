/** The used part of a playwright-core page. */
export interface Tab {
  emulateMedia(media: { colorScheme?: "light" | "dark"; reducedMotion?: "reduce" }): Promise<void>;
  goto(url: string): Promise<unknown>;
  evaluate<T>(script: string): Promise<T>;
  waitForSelector(selector: string, options?: { timeout?: number; state?: string }): Promise<unknown>;
  click(selector: string, options?: { clickCount?: number }): Promise<void>;
  dblclick(selector: string): Promise<void>;
  focus(selector: string): Promise<void>;
  textContent(selector: string): Promise<string | null>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  locator(selector: string): { ariaSnapshot(): Promise<string>; count(): Promise<number> };
  on(event: "console", hear: (message: { type(): string; text(): string }) => void): void;
  on(event: "pageerror", hear: (error: Error) => void): void;
  on(event: "request", hear: (request: { url(): string }) => void): void;
  close(): Promise<void>;
}
