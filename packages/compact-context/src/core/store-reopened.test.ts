import { expect, it, vi } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

vi.mock("../storage/memory/driver.ts", async (load) => {
  const real = await load<typeof import("../storage/memory/driver.ts")>();
  return { ...real, createMemoryDriver: vi.fn(real.createMemoryDriver) };
});

it("FIT-7 a manager whose storage could not be opened sends what fits, refuses what does not, and opens it again", async () => {
  const real = vi.mocked(createMemoryDriver).getMockImplementation() ?? createMemoryDriver;
  const down = new CompactError("StorageFailed", "the database does not answer", { hint: "Try again." });
  vi.mocked(createMemoryDriver).mockImplementation(() => {
    throw down;
  });
  const policy = { hardCapBuffer: 100 };
  const config = {
    model: "gpt-4o",
    maxContextTokens: 3_000,
    policy,
    storage: { kind: "memory" as const },
  };
  const warnings: string[] = [];
  const manager = new CompactManager(config, { onWarning: (message) => warnings.push(message) });
  const messages = Array.from({ length: 40 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} ${"word ".repeat(100)}`,
  }));
  const short = messages.slice(0, 4);
  expect((await manager.preflight("a", short)).messages).toBe(short);
  await expect(manager.preflight("a", messages)).rejects.toThrow("the database does not answer");
  expect(warnings).toHaveLength(1);
  vi.mocked(createMemoryDriver).mockImplementation(real);
  const { report } = await manager.preflight("a", messages);
  expect(report.compacted).toBe(true);
});
