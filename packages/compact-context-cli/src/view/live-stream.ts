import type { ServerResponse } from "node:http";
import { HEADERS } from "./answers.ts";
import { type LiveNotice, VIEW_VERSION } from "./session-view.ts";
import type { ViewStore } from "./view-store.ts";

/** Pages that listen at one time; one that reads too slowly is let go and comes back. */
const MOST_LISTENERS = 32;
const MOST_WAITING = 1_000_000;
const HEARTBEAT_MS = 15_000;

/** Server-sent events of a store. */
export interface LiveStream {
  /** False where too many listen already. */
  add(response: ServerResponse): boolean;
  close(): void;
}

export function createLiveStream(store: ViewStore): LiveStream {
  const open = new Set<ServerResponse>();
  const send = (response: ServerResponse, text: string): void => {
    if (response.writableLength > MOST_WAITING) response.destroy();
    else response.write(text);
  };
  const noticeText = (notice: LiveNotice): string => `data: ${JSON.stringify(notice)}\n\n`;
  const stop = store.listen((notice) => {
    const text = noticeText(notice);
    for (const response of open) send(response, text);
  });
  const heartbeat = setInterval(() => {
    for (const response of open) send(response, ": still here\n\n");
  }, HEARTBEAT_MS);
  heartbeat.unref();

  return {
    add(response) {
      if (open.size >= MOST_LISTENERS) return false;
      response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream; charset=utf-8" });
      send(response, `retry: 1000\n${noticeText({ type: "hello", version: VIEW_VERSION })}`);
      open.add(response);
      response.on("close", () => open.delete(response));
      return true;
    },
    close() {
      stop();
      clearInterval(heartbeat);
      for (const response of open) response.end();
    },
  };
}
