import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RecallCandidate } from "../../packages/compact-context/src/memory/ranking/candidate.ts";
import {
  memorySource,
  searchSource,
} from "../../packages/compact-context/src/memory/ranking/search-source.ts";
import {
  createPostgresMemorySource,
  type PostgresMemorySource,
} from "../../packages/compact-context/src/memory/sources/postgres.ts";
import { newSchema, runSql, startServer } from "./server.ts";

const server = await startServer();
const url = server?.url ?? "";
const schema = newSchema();
const opened: PostgresMemorySource[] = [];

function open(
  channel: string,
  more: { readonly user?: string; readonly workspace?: string } = {},
): PostgresMemorySource {
  const source = createPostgresMemorySource({
    url,
    schema,
    workspace: "acme",
    channel,
    connections: 2,
    ...more,
  });
  opened.push(source);
  return source;
}

afterAll(async () => {
  for (const source of opened) await source.close();
  if (server === undefined) return;
  await runSql(url, `drop schema if exists ${schema} cascade`);
  server.stop();
});

const note = (id: string, content: string): RecallCandidate => ({ id, content });
const found = async (source: PostgresMemorySource, query: string): Promise<string[]> =>
  (await searchSource(source, query)).map(({ id }) => id);

describe.skipIf(server === undefined)("a memory in Postgres", () => {
  it("gives a channel its own, the workspace's, and a user's to that user only", async () => {
    const team = open("team");
    await team.put([note("t", "The team deploys on Thursdays.")]);
    await team.put([note("w", "Everybody deploys with two reviews.")], "workspace");
    await open("team", { user: "ana" }).put([note("a", "Ana deploys from her laptop.")], "user");
    await open("other").put([note("o", "The other team deploys daily.")]);
    await open("team", { workspace: "rival" }).put([note("r", "The rival deploys at night.")]);
    const query = "who deploys and when";
    expect((await found(open("team"), query)).toSorted()).toEqual(["t", "w"]);
    expect((await found(open("team", { user: "ana" }), query)).toSorted()).toEqual(["a", "t", "w"]);
    expect((await found(open("team", { user: "bo" }), query)).toSorted()).toEqual(["t", "w"]);
    expect(await found(open("new"), query)).toEqual(["w"]);
    expect(await found(open("team", { workspace: "third" }), query)).toEqual([]);
  });

  it("refuses a scope that is not named, instead of finding everything", async () => {
    for (const bad of [{ workspace: "" }, { channel: " " }, { user: "" }])
      expect(() => createPostgresMemorySource({ url, workspace: "a", channel: "b", ...bad })).toThrow(
        "must be a text",
      );
    await expect(open("team").put([note("x", "x")], "user")).rejects.toMatchObject({
      code: "InvalidArgument",
    });
  });

  it("replaces, removes and counts what is there; hosts that write at once lose nothing", async () => {
    const hosts = [1, 2, 3, 4].map(() => open("busy"));
    await Promise.all(
      hosts.map(async (host, index) => {
        for (let n = 0; n < 5; n++)
          await host.put([note(`h${index}-${n}`, `Host ${index} noted fact ${n} on redis.`)]);
      }),
    );
    const [host] = hosts;
    if (host === undefined) throw new Error("no host");
    expect((await host.candidates("redis")).length).toBe(20);
    await host.put([note("h0-0", "Now about kafka instead.")]);
    await host.remove(["h0-1", "unknown"]);
    expect((await host.candidates("redis")).length).toBe(18);
    await host.replaceAll([note("only", "Redis has a replica.")]);
    expect((await host.candidates("redis host fact kafka")).map(({ id }) => id)).toEqual(["only"]);
    const rows = await runSql(
      url,
      `select s.units, (select count(*)::int from ${schema}.units u where u.scope = s.number) as kept,
         (select max(units) from ${schema}.frequencies f where f.scope = s.number) as most
       from ${schema}.scopes s where channel = 'busy'`,
    );
    expect(rows).toEqual([{ units: 1, kept: 1, most: 1 }]);
  });

  it("RED-1 keeps no secret, and takes any text", async () => {
    const key = ["sk", "ant", "api03", "B".repeat(24)].join("-");
    const odd = open("odd'; drop table x; --");
    await odd.put([
      note("k", `the key is ${key}`),
      note("n", "zero \0 byte"),
      note("q", "it's a 'quoted\\' word & | ! :*"),
    ]);
    const rows = await runSql(url, `select content from ${schema}.units`);
    expect(JSON.stringify(rows)).not.toContain(key);
    expect(await found(odd, "quoted word")).toEqual(["q"]);
    expect(await found(odd, "key")).toEqual(["k"]);
    expect(await found(odd, "'; select & ( :* \\ \0")).toEqual([]);
  });

  const conversation: RecallCandidate[] = [];
  beforeAll(() => {
    const topics = ["redis", "kafka", "billing", "部署", "parking", "holiday", "printer", "coffee"];
    for (let day = 1; day <= 25; day++)
      topics.forEach((topic, order) => {
        conversation.push({
          id: `${day}-${order}`,
          content: `${topic} was looked at, ${topics[(order + day) % topics.length]} comes next, number ${day * order}.`,
          author: order % 2 === 0 ? "Ana" : "Bo",
          section: `day ${day}`,
          order,
          timestamp: new Date(Date.UTC(2026, 4, day)).toISOString(),
        });
      });
  });

  it("gives the ranker what it needs: the same best hits as from memory", async () => {
    const kept = open("talk");
    await kept.replaceAll(conversation);
    for (const query of [
      "number 168 and the printer",
      "部署 number 75",
      "what did Ana say of redis on May 7",
      "coffee",
    ]) {
      const here = await searchSource(memorySource(conversation), query, { limit: 3 });
      const there = (await searchSource(kept, query, { limit: 10 })).map(({ id }) => id);
      expect(there, query).toContain(here[0]?.id);
    }
  });
});
