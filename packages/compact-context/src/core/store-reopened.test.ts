import { expect, it, vi } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

vi.mock("../storage/memory/driver.ts", async (load) => {
  const real = await load<typeof import("../storage/memory/driver.ts")>();
  return { ...real, createMemoryDriver: vi.fn(real.createMemoryDriver) };
});

it("a manager whose storage could not be opened opens it at the next call", async () => {
  const down = new CompactError("StorageFailed", "the database does not answer", { hint: "Try again." });
  vi.mocked(createMemoryDriver).mockImplementationOnce(() => {
    throw down;
  });
  const policy = { hardCapBuffer: 100 };
  const config = {
    model: "gpt-4o",
    maxContextTokens: 3_000,
    policy,
    storage: { kind: "memory" as const },
  };
  const manager = new CompactManager(config, { onWarning: () => undefined });
  const messages = Array.from({ length: 40 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${"word ".repeat(100)}`,
  }));
  await expect(manager.preflight("a", messages)).rejects.toThrow("the database does not answer");
  const { report } = await manager.preflight("a", messages);
  expect(report.compacted).toBe(true);
  expect(createMemoryDriver).toHaveBeenCalledTimes(2);
});
