import { describe, expect, it } from "vitest";
import type { CompactEvent } from "../../core/report.ts";
import { createConsoleExporter, createJsonlExporter } from "./http-post.ts";

const event: CompactEvent = {
  version: 1,
  name: "compact.error",
  sessionId: "chat\n\x1b]52;c;eA==\x07",
  startedAt: "2026-01-02T03:04:05.006Z",
  endedAt: "2026-01-02T03:04:05.106Z",
  status: "error",
  properties: {
    error_type: "SummarizerFailed",
    message: "line one\r\nline two \u202egnp.exe",
    fallback: "builtin",
  },
};

describe("console exporter", () => {
  it("OBS-5 writes one readable line on a terminal, with nothing that a terminal obeys", async () => {
    const lines: string[] = [];
    await createConsoleExporter({ write: (line) => lines.push(line), terminal: true }).export(event);
    expect(lines).toEqual([
      String.raw`03:04:05.006 compact.error FAILED chat \x1b]52;c;eA==\x07 error_type=SummarizerFailed ` +
        String.raw`message="line one\r\nline two \u202egnp.exe" fallback=builtin (100 ms)`,
    ]);
  });

  it("OBS-5 writes one JSON record elsewhere", async () => {
    const lines: string[] = [];
    const odd = { ...event, payload: "\x9b31m é 😀" };
    await createConsoleExporter({ write: (line) => lines.push(line) }).export(odd);
    expect(lines.length).toBe(1);
    expect(lines[0]).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ payload: odd.payload, session_id: event.sessionId });
  });
});

describe("JSONL exporter", () => {
  it("OBS-5 appends one record a line, whatever the content holds", async () => {
    let text = "";
    const exporter = createJsonlExporter({
      append: async (line) => {
        text += line;
      },
    });
    await exporter.export(event);
    await exporter.export({ ...event, payload: { summary: "a\n{}\n" } });
    const lines = text.split("\n");
    expect(lines.length).toBe(3);
    expect(lines.slice(0, 2).map((line) => JSON.parse(line))).toEqual([
      {
        version: 1,
        name: "compact.error",
        session_id: event.sessionId,
        started_at: event.startedAt,
        ended_at: event.endedAt,
        status: "error",
        properties: event.properties,
      },
      expect.objectContaining({ payload: { summary: "a\n{}\n" } }),
    ]);
  });
});
