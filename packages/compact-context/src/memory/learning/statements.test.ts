import { describe, expect, it } from "vitest";
import { both, facts, forgotten, notOwn, passing, told } from "../../../../../test/memory/cases/facts.ts";
import type { Message } from "../../core/message.ts";
import { withoutToldSecrets } from "./own-words.ts";
import { relationOf } from "./relation.ts";
import { durableStatements } from "./statements.ts";
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

it.each([
  ["略語を使わないで。", "今回だけ略語を使ってもいいです。"],
  ["注釈を消さないで。", "古い注釈を消してもいいです。"],
  ["assetsフォルダは絶対に変更しないでください。", "今回だけassetsフォルダを変更してもいいです。"],
  ["Fass die Datei seed.sql nie an.", "Ausnahmsweise darfst du seed.sql heute anfassen."],
])("a bounded permission lifts no rule: %s", (rule, permission) => {
  expect(relationOf(permission, rule)).toBe("apart");
});

it.each([
  ["Never push to main.", "You may push to main now, not just this once."],
  ["Never push to main.", "You may push to main again, just this once was too strict."],
  ["Nie auf main pushen.", "Du darfst ab jetzt auf main pushen, nicht nur ausnahmsweise."],
  ["不要修改vendor目录。", "以后可以修改vendor目录，不是仅此一次。"],
  ["Never deploy after 6 pm.", "From now on never deploy after 4 pm."],
  ["每行不要超过80个字符。", "从现在起每行不要超过100个字符。"],
  ["Never commit without running npm test.", "From now on never commit without running pnpm test."],
  ["No hagas push nunca a main.", "Corrección: no hagas push nunca a release."],
])("MEM-14 %s gives way to: %s", (older, newer) => {
  expect(["replaces", "likely"]).toContain(relationOf(newer, older));
});

it.each([
  ["Never drop columns from the invoices table.", "You may drop columns from the drafts table."],
  [
    "今後はstableブランチに直接マージしないでください。",
    "今後はnightlyブランチに直接マージしないでください。",
  ],
])("what is said of another thing replaces nothing: %s", (older, newer) => {
  expect(relationOf(newer, older)).toBe("apart");
});

it.each([
  ["Mi dentista es la doctora Vega.", "Olvida quién es mi dentista."],
  ["Meine Anwältin ist Frau Sander.", "Vergiss, wer meine Anwältin ist."],
  ["Мой юрист Павел Орлов.", "Забудь, кто мой юрист."],
])("MEM-14 %s is meant by: %s", (text, forget) => {
  expect(forgetWishes([said(forget)]).some(({ topic }) => isMeant(topic, text))).toBe(true);
});

it.each([
  ["Vergiss, wann wir liefern.", "Wir liefern aus Graz."],
  ["Forget Wer Lindt.", "My neighbour is Anna Lindt."],
  ["Olvida Quién Soy.", "Soy de Lugo."],
])("MEM-14 %s does not mean: %s", (forget, text) => {
  expect(forgetWishes([said(forget)]).some(({ topic }) => isMeant(topic, text))).toBe(false);
});

it.each([
  ["My IBAN is GB82 WEST 1234 5698 7654 32.", "My IBAN is <REDACTED>."],
  ["Mine is NO93 8601 1117 947 BIC DNBANOKK.", "Mine is <REDACTED> BIC DNBANOKK."],
  ["The part is GB82 WEST 1234 5698 7654 33.", "The part is GB82 WEST 1234 5698 7654 33."],
  ["Our customer number is YC8168335585278524.", "Our customer number is YC8168335585278524."],
])("MEM-15 bank account numbers are removed, and what only looks like one stays: %s", (text, kept) => {
  expect(withoutToldSecrets(text)).toBe(kept);
});

it.each(["Нашу встречу перенесли на 15 июня.", "Unserm Team gehört der Server 5."])(
  "MEM-14 a story keeps what is the speaker's: %s",
  (text) => {
    const story = Array.from({ length: 9 }, (_, n) => `Then we walked past house ${n} and saw the sea.`);
    expect(learned([...story, text].join(" "))).toContain(text);
  },
);

it("MEM-14 a part with news that trails off is not learned", () => {
  const text = "You know what we saw, Fernhill importer has 64 GB..., bye";
  expect(learned(text, ["The Fernhill importer has 32 GB"])).toEqual([]);
});

it.each([
  "When I lived in Rome, I always took the bus.",
  "As a student, I always voted for the Greens.",
  "When I was a child, I never ate fish.",
])("what held at one time is not learned without that time: %s", (text) => {
  expect(learned(text).filter((one) => one !== text)).toEqual([]);
});
