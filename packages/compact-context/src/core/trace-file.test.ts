import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { mergeConfig } from "../config/layer.ts";
import { configuredExporters } from "../configured.ts";
import { createFsDriver } from "../storage/fs/driver.ts";

vi.mock("../storage/fs/driver.ts", async (load) => {
  const real = await load<typeof import("../storage/fs/driver.ts")>();
  return { ...real, createFsDriver: vi.fn(real.createFsDriver) };
});

it("a file of events that could not be opened is opened at the next event", async () => {
  const folder = mkdtempSync(join(tmpdir(), "compact-trace-"));
  const file = join(folder, "events.jsonl");
  const [exporter] = configuredExporters(mergeConfig({ tracing: { jsonl: file } }), () => undefined);
  vi.mocked(createFsDriver).mockImplementationOnce(() => {
    throw new Error("too many open files");
  });
  const event = {
    name: "compact.warning",
    properties: { message: "m" },
    session_id: "s",
    timestamp: "2026-01-01T00:00:00.000Z",
  } as never;
  await expect(exporter?.export(event)).rejects.toThrow("too many open files");
  await exporter?.export(event);
  expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(1);
  rmSync(folder, { recursive: true });
});
