import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { archiveFiles, crc32Hex, ownedSession, sessionKey, sha256Hex } from "../core/records.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { deleteSession } from "../search/deletion.ts";
import { isKey } from "../storage/keys.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { createDriverOutbox } from "../storage/outbox.ts";
import { createArchiveStore } from "./store.ts";

const odd = [
  "./../x",
  "..",
  ".",
  ".hidden",
  "a/b",
  "a\\b",
  "/etc/passwd",
  "C:\\x",
  "\\\\host\\s",
  "%2e%2e%2f",
  "a\0",
  "a\0b",
  "é".repeat(128),
  "x".repeat(300),
  "x".repeat(301),
  "caf\u00e9",
  "cafe\u0301",
  "CON",
  "con",
  "aux.txt",
  "lpt1",
  "a.",
  "a",
  "A",
  "Ab",
  "aB",
  "AB",
  "ab",
  "__proto__",
  "constructor",
  " ",
  "  ",
  "\t",
  "😀",
  "\u202eevil",
  "\ud800",
  "\ud801",
  "a~b",
  "session",
  "-rf",
  "A~1",
  "Ab~1",
  "ab~1",
  "\r\n",
  "a b",
];

describe("sessionKey", () => {
  it.each([
    ["session-1", "session-1"],
    ["123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"],
    ["chat_2026.01.02", "chat_2026.01.02"],
    ["MySession", "MySession~5"],
  ])("ARC-1 keeps a readable id readable: %s", (id, key) => expect(sessionKey(id)).toBe(key));

  it("gives every odd id a safe folder of its own, whatever the file system folds", () => {
    const keys = odd.map((id) => sessionKey(id));
    for (const key of keys) {
      expect(isKey(key)).toBe(true);
      expect(key).not.toMatch(/^(?:con|aux|lpt1)(?:\.|$)/i);
      expect(key.length).toBeLessThanOrEqual(100);
      expect(key).not.toContain("/");
    }
    expect(new Set(keys.map((key) => key.toLowerCase())).size).toBe(odd.length);
  });

  it("keeps any two ids apart, also those that differ in case only", () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, maxLength: 12 }),
      fc.string({ unit: fc.constantFrom("a", "A", "b", "B", "~", ".", "1"), minLength: 1, maxLength: 6 }),
    );
    fc.assert(
      fc.property(id, id, (one, other) => {
        expect(isKey(sessionKey(one))).toBe(true);
        if (one !== other) expect(sessionKey(one).toLowerCase()).not.toBe(sessionKey(other).toLowerCase());
      }),
      { seed: 11, numRuns: 2000 },
    );
  });

  it("refuses an empty id with a hint", () => {
    expect(() => sessionKey("")).toThrowError(expect.objectContaining({ code: "InvalidArgument" }));
  });
});

describe("sha256Hex", () => {
  it("equals Node's own", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
        expect(sha256Hex(text)).toBe(createHash("sha256").update(text, "utf8").digest("hex"));
      }),
      { seed: 5, numRuns: 300 },
    );
  });
});

describe("the folder of a session that belongs to somebody", () => {
  it("begins with the tenant, then the user; that of a session that does not is as it always was", () => {
    expect(sessionKey("chat-1", {})).toBe("chat-1");
    expect(sessionKey("chat-1", { tenant: "acme" })).toBe("~t/acme/chat-1");
    expect(sessionKey("chat-1", { user: "max" })).toBe("~u/max/chat-1");
    expect(sessionKey("chat-1", { tenant: "acme", user: "max" })).toBe("~t/acme/~u/max/chat-1");
    expect(() => sessionKey("chat-1", { tenant: "" })).toThrow(/tenant id/);
    expect(() => sessionKey("chat-1", { user: "" })).toThrow(/user id/);
  });

  it("is a safe key for any ids, different for different ones, and no session's own", () => {
    const text = fc.oneof(fc.constantFrom(...odd), fc.string({ unit: "binary", minLength: 1 }));
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(text, fc.option(text), fc.option(text), (id, tenant, user) => {
        fc.pre(![id, tenant, user].includes(""));
        const owner = { tenant: tenant ?? undefined, user: user ?? undefined };
        const key = sessionKey(id, owner);
        const isOwned = tenant !== null || user !== null;
        if (isOwned && [id, tenant ?? "", user ?? ""].every((part) => !/\p{Surrogate}/u.test(part)))
          expect(sessionKey(ownedSession(id, owner))).toBe(key);
        expect(isKey(`${key}/transcript-pre-compact-001.jsonl`)).toBe(true);
        const whose = JSON.stringify([id, tenant, user]);
        expect(seen.get(key) ?? whose).toBe(whose);
        seen.set(key, whose);
        expect(key.startsWith("~")).toBe(isOwned);
      }),
    );
  });

  it("lies under one prefix for each tenant, so that all of a tenant can be deleted and nothing else is", async () => {
    const driver = createMemoryDriver();
    const acme = [{ tenant: "acme" }, { tenant: "acme", user: "max" }];
    const others = [{}, { tenant: "acme-2" }, { user: "max" }];
    const keys = [...acme, ...others].map((owner) => archiveFiles.state(sessionKey("chat-1", owner)));
    for (const key of keys) await driver.put(key, "{}");
    for (const owner of acme) await deleteSession(driver, sessionKey("chat-1", owner), { expired: true });
    expect(await driver.list("~t/acme/")).toEqual([]);
    expect(await driver.list("")).toEqual(keys.slice(acme.length).sort());
  });

  it("cannot be reached by an id that a user chose", () => {
    const owner = { tenant: "acme" };
    for (const id of ["~t/other/chat-1", "./other/chat-1", "~u/max/chat-1", "%2e%2e"]) {
      expect(sessionKey(ownedSession(id, owner))).toMatch(/^~t\/acme\/[^/]+$/);
    }
    expect(sessionKey("~t/%61cme/chat-1")).not.toBe(sessionKey(ownedSession("chat-1", owner)));
    expect(() => ownedSession("chat-1", { tenant: "\ud800" })).toThrow(/well-formed/);
  });

  it("is in nobody's listing but its owner's, and what it queued is handed on under its own name", async () => {
    const driver = createMemoryDriver();
    const archive = createArchiveStore(driver, createRedactor());
    await archive.saveTranscript("chat-1", 1, []);
    const folder = sessionKey("chat-1", { tenant: "acme", user: "Max Mustermann" });
    await driver.put(`${folder}/transcript-pre-compact-001.jsonl`, "");
    expect(await archive.sessions()).toEqual(["chat-1"]);
    expect(await archive.sessions({ tenant: "acme" })).toEqual([folder]);
    expect(await archive.steps("chat-1")).toEqual([1]);
    const outbox = createDriverOutbox(driver, () => Date.now());
    await outbox.add({ session: folder, id: "001-x", body: "body" }, { by: "one", ms: 0 });
    expect(await outbox.pending(folder)).toEqual(["001-x"]);
    expect(await outbox.claim({ by: "two", ms: 1000 }, 9)).toMatchObject([{ session: folder, id: "001-x" }]);
    await outbox.remove({ session: folder, id: "001-x" });
    expect(await driver.list("~outbox/")).toEqual([]);
  });
});

it("gives the check value of the standard", () => {
  expect(crc32Hex("123456789")).toBe("cbf43926");
  expect(crc32Hex("")).toBe("00000000");
});
