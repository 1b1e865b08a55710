import { expect, it } from "vitest";
import { createPostgresDriver } from "./driver.ts";

it("a driver that nobody used is closed without a connection", async () => {
  const nowhere = { url: "postgres://nobody@127.0.0.1:1/none" };
  await expect(createPostgresDriver(nowhere).close()).resolves.toBeUndefined();
});
