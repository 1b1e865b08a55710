import { describe, expect, it } from "vitest";
import { both, facts, forgotten, notOwn, passing, told } from "../../../../../test/memory/cases/facts.ts";
import type { Message } from "../../core/message.ts";
import { withoutToldSecrets } from "./own-words.ts";
import { relationOf } from "./relation.ts";
import { restOf } from "./rest.ts";
import { durableStatements, speaksAnewOf } from "./statements.ts";
import { forgetWishes, isMeant } from "./wishes.ts";

const said = (text: string): Message => ({ id: text, role: "user", parts: [{ type: "text", text }] });
const learned = (text: string, known: readonly string[] = []): string[] =>
  durableStatements([said(text)], known).map((statement) => statement.text);

describe("plain facts", () => {
  it.each(facts)("%s MEM-14 learns, and replaces by what is so now: %s", (_, first, then, old, newer) => {
    const before = learned(first);
    expect(before.join(" ")).toMatch(old);
    const after = learned(then, before);
    expect(after.join(" ")).toMatch(newer);
    expect(after.map((text) => relationOf(text, before[0] ?? ""))).toContain("replaces");
  });

  it.each(both)("%s MEM-14 keeps both: %s | %s", (_, one, other) => {
    const before = learned(one);
    const after = learned(other, before);
    expect(before).toHaveLength(1);
    expect(after).toHaveLength(1);
    expect(relationOf(after[0] ?? "", before[0] ?? "")).not.toBe("replaces");
  });

  it.each(passing)("%s learns nothing lasting from %s", (_, text) => {
    expect(learned(text)).toEqual([]);
  });

  it.each(notOwn)("MEM-15 takes nothing in from %j", (text) => {
    expect(learned(text, ["Our office is in Lisbon.", "My name is Ana."])).toEqual([]);
  });

  it.each(forgotten)("MEM-14 %s is meant by: %s", (text, forget) => {
    expect(learned(text)).toHaveLength(1);
    expect(forgetWishes([said(forget)]).some(({ topic }) => isMeant(topic, text))).toBe(true);
  });

  it.each(told)("takes the secret out of %s", (text, secret) => {
    expect(withoutToldSecrets(text)).not.toContain(secret);
  });
});

describe("what people ask to remember, or not", () => {
  it.each([
    ["Note to self: the ferry leaves from pier 4.", "The ferry leaves from pier 4."],
    ["Make a note that Wanda orders the paint.", "Wanda orders the paint."],
    ["Merken Sie sich bitte, dass die Fähre um acht ablegt.", "Die Fähre um acht ablegt."],
    ["Vergiss nicht, dass Wanda die Farbe bestellt.", "Wanda die Farbe bestellt."],
    ["Souvenez-vous que Wanda commande la peinture.", "Wanda commande la peinture."],
    ["Note bien que le bac part du quai 4.", "Le bac part du quai 4."],
    ["Acuérdese de que Wanda encarga la pintura.", "Wanda encarga la pintura."],
    ["Apunta que el barco sale del muelle 4.", "El barco sale del muelle 4."],
    ["Lembra-te de que a Wanda encomenda a tinta.", "A Wanda encomenda a tinta."],
    ["Não se esqueça de que o barco sai do cais 4.", "O barco sai do cais 4."],
    ["Имейте в виду, что Ванда заказывает краску.", "Ванда заказывает краску."],
    ["请记下万达负责订油漆。", "万达负责订油漆。"],
    ["メモしておいてください：船は4番乗り場から出ます。", "船は4番乗り場から出ます。"],
    ["塗料の注文はワンダだと覚えておいて。", "塗料の注文はワンダだと覚えておいて。"],
  ])("MEM-15 %s", (text, kept) => {
    expect(learned(text)).toEqual([kept]);
  });

  it.each([
    "Ne retenez pas que j'habite à Morlaix.",
    "No recuerde que vivo en Lugo.",
    "Não te lembres de que moro em Braga.",
    "Не запоминайте, что я живу в Пскове.",
    "Never write down that I live in Selby.",
    "Merken Sie sich das bitte nicht: Ich wohne in Hameln.",
  ])("MEM-15 learns nothing from %s", (text) => {
    expect(learned(text)).toEqual([]);
  });
});

describe("what is told in passing", () => {
  it.each([
    ["Plan a hike. My knee is bad - which trail is flat?", "My knee is bad"],
    [
      "give me a dinner plan, i'm coeliac so nothing with wheat ever",
      "I'm coeliac so nothing with wheat ever",
    ],
    ["what's a good gift for my brother Tim? he's into woodworking", "My brother Tim, he's into woodworking"],
    ["the billing service runs on java 21", "The billing service runs on java 21"],
    ["In Go code, use tabs.", "In Go code, use tabs."],
    ["Stop apologizing in every answer.", "Stop apologizing in every answer."],
    ["give me dates as YYYY-MM-DD", "Give me dates as YYYY-MM-DD"],
    ["We went with kafka because we need replay.", "We went with kafka because we need replay."],
  ])("learns %j", (text, expected) => {
    expect(learned(text)).toEqual([expected]);
  });

  it.each([
    "In this function, use a map instead of the loop.",
    "Stop the server and restart it.",
    "When you're done, run the tests.",
    "Make a story about my friend Anna, who lives in a lighthouse.",
    "How would you say in Thai, I'm allergic to nuts?",
    "Vergiss nicht, Milch zu kaufen.",
    "Denken Sie daran, die Tests auszuführen.",
    "Acuérdate de ejecutar los tests.",
    "Não se esqueça de rodar os testes.",
    "Не забудь купить молоко.",
    "记得明天提醒我开会。",
  ])("learns nothing of %j", (text) => {
    expect(learned(text)).toEqual([]);
  });

  it.each([
    ["Standup is at 9:15.", "with the new folks in Lima the standup slid to 15:00"],
    ["My boss is Karen.", "karen retired in june, i report to Luis these days"],
    ["my bike is a trek domane", "the trek got stolen last week. bought a canyon endurace"],
    ["The rent is 950 euros.", "landlord put the rent up to 1020 euros"],
  ])("MEM-14 %s is replaced by: %s", (first, then) => {
    const before = learned(first);
    const after = learned(then, before);
    expect(after.map((text) => relationOf(text, before[0] ?? ""))).toEqual([
      expect.stringMatching(/replaces|likely/),
    ]);
  });

  it.each([
    ["The CI server is db1.", "Instead of db1 we use db2 for CI now."],
    ["The CI server is npm.", "No longer npm but pnpm for CI."],
    [
      "El servidor de integración continua es Jenkins.",
      "Ya no usamos Jenkins para la integración continua, migramos a GitLab CI.",
    ],
  ])("MEM-14 %s loses its whole value to: %s", (first, then) => {
    expect(relationOf(then, first)).toBe("replaces");
  });

  it.each([
    ["Our wifi is called Falcon.", "The guest wifi got renamed, it's called Heron now."],
    ["I run 5 km every morning.", "My son is up to 3 km every morning."],
    ["We have 3 servers in Paris.", "We have 5 servers in Madrid now."],
    ["My sister Lena lives in Oslo.", "My friend Lena's mum moved to Bergen."],
  ])("MEM-14 %s stands beside: %s", (first, then) => {
    expect(relationOf(then, first)).toBe("apart");
  });
});

describe("who and what a statement is about", () => {
  it.each([
    "誰かが東京に住んでいます。",
    "有人住在南京。",
    "Somebody lives in Oslo.",
    "Jemand arbeitet in Husum.",
    "Quelqu'un habite à Brest.",
    "Alguien vive en Cádiz.",
    "Alguém mora em Faro.",
    "Кто-то живёт в Омске.",
    "ありがとうございました。",
    "Ich bin dagegen.",
    "I am against it.",
    "Je suis contre.",
    "Sou contra.",
    "Я против.",
    "私は反対です。",
    "Marco macht Feierabend.",
    "Paul fait une pause.",
    "Gestern hat Ida die neue Ansicht fertig gemacht.",
    "Ida hat den Drucker repariert.",
  ])("learns nothing from %s", (text) => {
    expect(learned(text)).toEqual([]);
  });

  it.each([
    ["Temos 12 barcos.", "Temos 12 barcos."],
    ["Me mudei para Sintra.", "Me mudei para Sintra."],
    ["Anota aí: o barco sai do cais 4.", "O barco sai do cais 4."],
    ["Notier: Die Fähre legt um acht ab.", "Die Fähre legt um acht ab."],
    ["Запиши: паром уходит в восемь.", "Паром уходит в восемь."],
    ["Лида делает афиши.", "Лида делает афиши."],
    ["Marco testet die App.", "Marco testet die App."],
    ["Elsa fait les affiches.", "Elsa fait les affiches."],
  ])("MEM-14 learns from %s", (text, kept) => {
    expect(learned(text)).toEqual([kept]);
  });

  it.each([
    "Answer me briefly and without emojis.",
    "Antworte mir kurz und ohne Emojis.",
    "Antworte mir auf Deutsch.",
    "Réponds-moi en français.",
    "Respóndeme en español.",
    "Me responda em português.",
    "Отвечай мне коротко и без смайликов.",
    "回答请简短一些。",
    "日本語で答えてください。",
    "返信は必ず日本語でお願いします。",
  ])("MEM-14 how to answer is a rule: %s", (text) => {
    expect(durableStatements([said(text)], [])).toMatchObject([{ section: "Constraints", text }]);
  });

  it.each([
    "Antworte mir auf die Frage von gestern.",
    "Respóndeme en la lista.",
    "Reply to me without the table.",
    "この質問に日本語で答えてください。",
  ])("how to answer once is no rule: %s", (text) => {
    expect(learned(text)).toEqual([]);
  });
});

describe("what a change replaces", () => {
  it.each([
    ["das Budget", "Das Budget ist 7000 Euro.", "Das Budget wurde auf 9000 Euro erhöht."],
    ["le budget", "Le budget est de 7000 euros.", "Le budget a été augmenté à 9000 euros."],
    ["el presupuesto", "El presupuesto es de 7000 euros.", "El presupuesto subió a 9000 euros."],
    ["o orçamento", "O orçamento é de 7000 reais.", "O orçamento subiu para 9000 reais."],
    ["预算", "预算是7000元。", "预算涨到9000元了。"],
    ["予算", "予算は月5万円です。", "予算は月7万円に増えました。"],
    ["期限", "パスは9月末で切れます。", "パスは12月末まで延長しました。"],
    ["das Treffen", "Das Treffen ist um 9:30 Uhr im Keller.", "Das Treffen verschieben wir auf 10 Uhr."],
    [
      "a rule",
      "報告は英語で書いてください。",
      "報告を英語で書くのはやめて、これからは日本語で書いてください。",
    ],
    ["a rule", "报告用英文写。", "报告不要再用英文写了，以后用中文写。"],
    ["a home", "Я родилась в Туле, но живу в Омске.", "Я переехала из Омска в Пермь."],
    ["a home", "I was born in Salem but live in Boston.", "I moved from Boston to Denver."],
    ["a birthplace", "I was born in Salem.", "I was born in Lynn, not Salem."],
  ])("MEM-14 %s: %s, then %s", (_, first, then) => {
    expect(relationOf(then, first)).toMatch(/replaces|likely/);
  });

  it.each([
    ["I was born in Boston.", "I moved from Boston to Denver."],
    ["I studied in Boston.", "I moved from Boston to Denver."],
    ["私は札幌で生まれました。", "札幌から仙台に引っ越しました。"],
    ["I learned Redis at my last job.", "We no longer use Redis."],
    ["Поиск переехал с Meilisearch на Typesense.", "Я переехала из Костромы в Ярославль."],
    ["Das Wiki ist von Confluence nach Notion umgezogen.", "Ich bin von Kassel nach Fulda gezogen."],
    ["预算是700。", "房租涨到900了。"],
    ["予算は5万円です。", "家賃が7万円に増えました。"],
    ["Das Budget für Reisen ist 700 Euro.", "Das Budget für Werbung wurde auf 900 Euro erhöht."],
    ["コミットは英語で書いてください。", "英語の勉強をやめました。"],
    ["报告用英文写。", "别再用英文写邮件了。"],
  ])("MEM-14 nothing of %s by %s", (first, then) => {
    expect(relationOf(then, first)).toBe("apart");
  });

  it.each([
    ["I was born in Salem but live in Boston.", "I moved from Boston to Denver.", "I was born in Salem."],
    [
      "We use Redis for the queue and MySQL for the rest.",
      "The queue is on RabbitMQ now instead of Redis.",
      "We use MySQL for the rest.",
    ],
    [
      "Unser Server läuft auf kiwi.example.org, Port 7443.",
      "Der Server ist umgezogen, läuft jetzt auf mango.example.org.",
      "Unser Server läuft auf Port 7443.",
    ],
    [
      "The staging server is at stage.example.org, port 8090.",
      "The port of staging is 8095 now.",
      "The staging server is at stage.example.org.",
    ],
    ["サーバーはGoで、画面は林さんが担当しています。", "画面は森さんが担当します。", "サーバーはGoです。"],
  ])("MEM-14 of %s, %s leaves: %s", (first, then, rest) => {
    expect(restOf(first, then)).toBe(rest);
  });
});

it("a German noun is no name: another statement about one is no news", () => {
  const older = "Gut, wir nehmen SQLite für die Filialen, weil die Leitungen oft ausfallen.";
  expect(speaksAnewOf("Die Filialen in Stade und Celle haben die alte Version.", older)).toBe(false);
  expect(speaksAnewOf("SQLite nehmen wir jetzt auch für die Kasse.", older)).toBe(true);
});
