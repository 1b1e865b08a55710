import { expect, it } from "vitest";
import type { MemoryCandidate } from "../candidates.ts";
import { linesOfDay } from "./dates.ts";

// A Thursday.
const NOW = Date.UTC(2026, 8, 3, 9);
const lineOf = (day: string): MemoryCandidate => ({
  id: day,
  source: "channel-history",
  path: "HISTORY.md",
  title: day,
  content: `- What was done on ${day}`,
  timestamp: `${day}T10:00:00.000Z`,
  sectionKind: "other",
  priority: 0,
  line: 1,
});
const candidates = ["2025-12-24", "2026-08-04", "2026-08-26", "2026-08-31", "2026-09-01", "2026-09-02"].map(
  lineOf,
);

it.each([
  ["What did we do last week?", ["2026-08-26"]],
  ["What did we do this week?", ["2026-08-31", "2026-09-01", "2026-09-02"]],
  ["What happened last month?", ["2026-08-04", "2026-08-26", "2026-08-31"]],
  ["What did we do on Wednesday?", ["2026-09-02"]],
  ["What happened on August 4?", ["2026-08-04"]],
  ["What did we do on December 24?", ["2025-12-24"]],
  ["What did we do on December 24, 2026?", []],
  ["Was haben wir am Mittwoch gemacht?", ["2026-09-02"]],
  ["Was haben wir letzte Woche gemacht?", ["2026-08-26"]],
  ["Was ist am 4. August passiert?", ["2026-08-04"]],
  ["Qu'est-ce que nous avons fait mardi dernier ?", ["2026-09-01"]],
  ["Qu'avons-nous fait la semaine dernière ?", ["2026-08-26"]],
  ["Qu'avons-nous fait le 26 août ?", ["2026-08-26"]],
  ["¿Qué hicimos el lunes?", ["2026-08-31"]],
  ["¿Qué hicimos la semana pasada?", ["2026-08-26"]],
  ["O que fizemos na terça-feira?", ["2026-09-01"]],
  ["O que fizemos semana passada?", ["2026-08-26"]],
  ["O que aconteceu em 4 de agosto?", ["2026-08-04"]],
  ["Что мы делали в среду?", ["2026-09-02"]],
  ["Что мы сделали на прошлой неделе?", ["2026-08-26"]],
  ["Что было 26 августа?", ["2026-08-26"]],
  ["我们昨天做了什么？", ["2026-09-02"]],
  ["我们上周做了什么？", ["2026-08-26"]],
  ["周三我们做了什么？", ["2026-09-02"]],
  ["8月26日发生了什么？", ["2026-08-26"]],
  ["昨日何をしましたか？", ["2026-09-02"]],
  ["先週は何をしましたか？", ["2026-08-26"]],
  ["水曜日に何をしましたか？", ["2026-09-02"]],
  ["When is the release on Wednesday?", []],
  ["昨天的发布为什么失败？", []],
])("a question about a day is answered from the history: %s", (query, told) => {
  expect((linesOfDay(query, candidates, NOW) ?? []).map(({ id }) => id)).toEqual(told);
});

const withWeekend = [...candidates, lineOf("2026-08-30")];

it.each([
  ["Remind me what we did yesterday", ["2026-09-02"]],
  ["Can you tell me what we did two days ago?", ["2026-09-01"]],
  ["What did we do last weekend?", ["2026-08-30"]],
  ["What did we do a week ago?", ["2026-08-26", "2026-08-30"]],
  ["What did we do on Tuesday, September 1?", ["2026-09-01"]],
  ["Erinnere mich bitte, was wir vor zwei Tagen gemacht haben", ["2026-09-01"]],
  ["Was haben wir am 30.08. gemacht?", ["2026-08-30"]],
  ["Was haben wir am 30.08.2026 gemacht?", ["2026-08-30"]],
  ["Was ist am Dienstag, dem 1. September passiert?", ["2026-09-01"]],
  ["Was haben wir letztes Wochenende gemacht?", ["2026-08-30"]],
  ["Rappelle-moi ce que nous avons fait il y a deux jours", ["2026-09-01"]],
  ["Recuérdame qué hicimos hace 2 días", ["2026-09-01"]],
  ["Me lembra o que fizemos há dois dias", ["2026-09-01"]],
  ["Напомни, что мы делали два дня назад", ["2026-09-01"]],
  ["两天前我们做了什么？", ["2026-09-01"]],
  ["二日前に何をしましたか？", ["2026-09-01"]],
  ["先週末は何をしましたか？", ["2026-08-30"]],
  ["Remind me to call Ana on Wednesday", []],
  ["Why did version 30.08.1 fail?", []],
])("a question about a day is answered however it is worded: %s", (query, told) => {
  expect((linesOfDay(query, withWeekend, NOW) ?? []).map(({ id }) => id)).toEqual(told);
});

const weeks = ["2026-08-19", "2026-08-23", "2026-08-26", "2026-08-30", "2026-09-01", "2026-09-02"].map(
  lineOf,
);

it.each([
  ["Yesterday", ["2026-09-02"]],
  ["Что мы делали неделю назад?", ["2026-08-26", "2026-08-30"]],
  ["Что было неделю тому назад?", ["2026-08-26", "2026-08-30"]],
  ["Что мы делали две недели назад?", ["2026-08-19", "2026-08-23"]],
  ["What did we do a couple of days ago?", ["2026-09-01"]],
  ["What did we do the week before last?", ["2026-08-19", "2026-08-23"]],
  ["Was haben wir vorletzte Woche gemacht?", ["2026-08-19", "2026-08-23"]],
  ["What did we do the weekend before last?", ["2026-08-23"]],
  ["Was war letztes Wochenende?", ["2026-08-30"]],
  ["Qu'est-ce qu'on a fait ce week-end ?", ["2026-08-30"]],
  ["On a fait quoi le week-end ?", ["2026-08-30"]],
  ["¿Qué hicimos este fin de semana?", ["2026-08-30"]],
  ["周末我们做了什么？", ["2026-08-30"]],
  ["上上周我们做了什么？", ["2026-08-19", "2026-08-23"]],
  ["週末は何をしましたか？", ["2026-08-30"]],
  ["What did we do on 09/01/2026?", ["2026-09-01"]],
  ["What did we do on 9/1?", ["2026-09-01"]],
  ["What did we do on 30/8?", ["2026-08-30"]],
  ["Qu'avons-nous fait le 01/09/2026 ?", ["2026-09-01"]],
  ["¿Qué hicimos el 1/9?", ["2026-09-01"]],
  ["What did we do on 01/09/2026?", []],
  ["What did we do in 3 days?", []],
  ["Was machen wir in zwei Tagen?", undefined],
  ["What did we decide about the 9/1 ratio?", undefined],
])("a day, a week or a weekend in other words: %s", (query, told) => {
  expect(linesOfDay(query, weeks, NOW)?.map(({ id }) => id)).toEqual(told);
});

it.each(["What did we do this weekend?", "What did we do on the weekend?"])(
  "on a Sunday its own weekend is meant: %s",
  (query) => {
    const sunday = Date.UTC(2026, 7, 30, 9);
    expect(linesOfDay(query, weeks, sunday)?.map(({ id }) => id)).toEqual(["2026-08-30"]);
    expect(linesOfDay("What did we do last weekend?", weeks, sunday)?.map(({ id }) => id)).toEqual([
      "2026-08-23",
    ]);
  },
);

const state = (kind: "current-state" | "next-steps"): MemoryCandidate => ({
  ...lineOf(kind),
  source: "channel-session",
  sectionKind: kind,
});

it.each([
  "What are the next steps?",
  "What comes next?",
  "What should we do next?",
  "What is still to do?",
  "What do I have to do today?",
  "Was sind die nächsten Schritte?",
  "Was ist noch zu tun?",
  "Quelles sont les prochaines étapes ?",
  "¿Cuáles son los siguientes pasos?",
  "¿Qué nos queda por hacer?",
  "Quais são os próximos passos?",
  "Что нам осталось сделать?",
  "Что дальше?",
  "Was ist der nächste Schritt?",
  "Quelle est la prochaine étape ?",
  "¿Cuál es el siguiente paso?",
  "Qual é o próximo passo?",
  "Какой следующий шаг?",
  "下一步是什么？",
  "次は何ですか？",
])("what comes next is in the state of the work: %s", (query) => {
  const known = [...candidates, state("current-state"), state("next-steps")];
  expect(linesOfDay(query, known, NOW)?.map(({ id }) => id)).toEqual(["next-steps", "current-state"]);
  for (const other of ["What is next Friday?", "What is the next stop of the train?"])
    expect(linesOfDay(other, known, NOW)).toBeUndefined();
});

it("what is left of the work at hand is in its state; of other work it is looked for", () => {
  const doing = { ...state("current-state"), content: "- Answered: The thumbnail client needs a retry." };
  const known = [...candidates, doing, state("next-steps")];
  const left = (of: string): unknown =>
    linesOfDay(`What is left to do for the ${of} client?`, known, NOW)?.map(({ id }) => id);
  expect(left("thumbnail")).toEqual(["next-steps", "current-state"]);
  expect(left("billing")).toBeUndefined();
  expect(linesOfDay("When is what is left of the thumbnail client due?", known, NOW)).toBeUndefined();
});
