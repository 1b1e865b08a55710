import fc from "fast-check";
import { expect, it } from "vitest";
import { createRecallIndex } from "./recall-index.ts";
import type { RecallCandidate } from "./units.ts";

const notes = (...contents: string[]): RecallCandidate[] =>
  contents.map((content, index) => ({ id: `n${index}`, content }));
const best = (query: string, candidates: readonly RecallCandidate[]): string | undefined =>
  createRecallIndex(candidates).search(query)[0]?.id;

it.each([
  ["When is the deployment window?", "We deploy on Thursday evenings.", "The kitchen was painted."],
  ["redis", "Sessions are kept in redis.", "Sessions are kept in postgres."],
  ["pnpm", "本项目用pnpm管理依赖", "本项目用npm管理依赖"],
  ["部署窗口是什么时候", "周四晚上部署", "数据库在法兰克福"],
  ["배포는 언제", "목요일 저녁에 배포합니다", "데이터베이스는 서울에 있습니다"],
  ["本番環境のデプロイ", "デプロイは木曜日の夜です", "会議は月曜日です"],
  ["ทีมใช้ฐานข้อมูลอะไร", "ฐานข้อมูลคือ postgres", "ประชุมวันจันทร์"],
  ["Где лежат журналы", "журналы лежат в папке logs", "собрание в понедельник"],
  ["src/app/main.ts", "Fixed in src/app/main.ts.", "Fixed in src/app/other.ts."],
  ["Who did the cafe booking?", "The café was booked by Ana.", "The hotel was booked by Ben."],
  ["Where did the resturant move?", "The restaurant moved uptown.", "The bakery closed."],
])("MEM-3 %s", (query, answer, other) => {
  expect(best(query, notes(other, answer, other))).toBe("n1");
});

it("a misspelt word counts as much as one that is spelt right", () => {
  const index = createRecallIndex(notes("The bakery moved uptown.", "The restaurant moved uptown."));
  const [one, other] = index.search("bakery resturant");
  expect(other?.score).toBeCloseTo(one?.score ?? 0, 9);
});

it("MEM-3 a query without a word in common finds nothing", () => {
  const index = createRecallIndex(notes("We deploy on Thursday evenings.", "Sessions are kept in redis."));
  expect(index.search("purple elephants")).toEqual([]);
  expect(index.search("what is it that you do?")).toEqual([]);
  expect(index.search("")).toEqual([]);
});

it.each([
  ["Quand est-ce qu'on arrose ?", "On arrose le mardi."],
  ["Quel jour est-ce qu’on arrose ?", "On arrose le mardi."],
  ["Wann und wo wird gegossen?", "Es wird dienstags im Hof gegossen."],
  ["¿Cuándo y por qué regamos?", "Regamos los martes."],
  ["Quando é que regamos?", "Regamos às terças."],
  ["Во сколько у нас полив?", "Полив в шесть."],
  ["我们什么时候浇水？", "浇水在星期二。"],
  ["水やりは何曜日ですか？", "水やりは火曜日。"],
])("MEM-3 words that shape a question do not count against its answer: %s", (query, answer) => {
  const { coverage } = createRecallIndex(notes(...Array.from({ length: 8 }, () => answer)));
  expect(coverage(query, answer)).toBeGreaterThanOrEqual(0.12);
  expect(coverage(query, "Purple elephants.")).toBe(0);
});

const dialogue: RecallCandidate[] = [
  ["Ana", "Where shall we eat tonight?"],
  ["Ben", "Which colour did you choose for the bathroom tiles?"],
  ["Ana", "A very deep green in the end."],
  ["Ben", "Good choice."],
].map(([author, content = ""], order) => ({ id: `d${order}`, content, author, section: "one", order }));

it("an answer is found by the words of the question before it", () => {
  const ids = createRecallIndex(dialogue)
    .search("What colour are Ana's bathroom tiles?")
    .map(({ id }) => id);
  expect(ids.slice(0, 2).toSorted()).toEqual(["d1", "d2"]);
  expect(ids).not.toContain("nothing");
});

it("neighbours are those in the same section, in their order", () => {
  const apart = dialogue.map((unit) => (unit.id === "d2" ? { ...unit, section: "two", order: 0 } : unit));
  const ids = createRecallIndex(apart)
    .search("bathroom tiles")
    .map(({ id }) => id);
  expect(ids).not.toContain("d2");
  const shuffled = createRecallIndex(dialogue.toReversed()).search("bathroom tiles");
  expect(shuffled).toEqual(createRecallIndex(dialogue).search("bathroom tiles"));
});

it("a query that names a date prefers what was written then", () => {
  const candidates = ["2023-02-01", "8 May, 2023", "2023-11-20T10:00:00Z"].map((timestamp, index) => ({
    id: `t${index}`,
    content: "We painted the fence.",
    timestamp,
  }));
  const index = createRecallIndex(candidates);
  expect(index.search("Who painted on 9 May 2023?")[0]?.id).toBe("t1");
  expect(index.search("Who painted on November 20th, 2023?")[0]?.id).toBe("t2");
  expect(index.search("What was painted in February?")[0]?.id).toBe("t0");
});

it("a named author's words come before others'", () => {
  const candidates = ["Ana", "Ben"].map((author) => ({
    id: author,
    author,
    content: "I bought a boat.",
    section: author,
  }));
  expect(createRecallIndex(candidates).search("Which boat did Ben buy?")[0]?.id).toBe("Ben");
});

it("a title counts like content", () => {
  const titled = [
    ...notes("Thursday evening."),
    { id: "t", title: "Deploy window", content: "Thursday evening." },
  ];
  expect(best("deploy window", titled)).toBe("t");
});

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc
    .array(fc.constantFrom("deploy", "redis", "部署", "the", "cat?", "배포", "a/b.ts"), { maxLength: 8 })
    .map((words) => words.join(" ")),
);
const candidate = fc.record(
  {
    content: text,
    title: text,
    author: text,
    section: fc.constantFrom("a", "b", 3),
    order: fc.integer({ min: -3, max: 9 }),
    timestamp: fc.oneof(text, fc.double(), fc.constant("2023-05-07")),
  },
  { requiredKeys: ["content"] },
);

it("any candidates and queries: at most `limit` known ids, no id twice, scores above 0 and falling", () => {
  fc.assert(
    fc.property(
      fc.array(candidate, { maxLength: 12 }),
      text,
      fc.integer({ min: 0, max: 15 }),
      (drawn, query, limit) => {
        const candidates = drawn.map((one, index) => ({ id: `c${index}`, ...one }));
        const index = createRecallIndex(candidates);
        const hits = index.search(query, { limit });
        expect(hits.length).toBeLessThanOrEqual(limit);
        const known = new Set(candidates.map(({ id }) => id));
        expect(hits.every(({ id }) => known.delete(id))).toBe(true);
        hits.forEach(({ score }, place) => {
          expect(score).toBeGreaterThan(0);
          expect(score).toBeLessThanOrEqual(hits[place - 1]?.score ?? Number.POSITIVE_INFINITY);
        });
        expect(index.search(query, { limit })).toEqual(hits);
      },
    ),
    { numRuns: 200 },
  );
});
