import { describe, expect, it } from "vitest";
import { inPrecedence, type ScoredMemory } from "../precedence.ts";
import { tellsPast } from "./apart.ts";
import { relationOf } from "./relation.ts";

describe("what was so before", () => {
  const pairs: readonly (readonly [string, string])[] = [
    ["Our office is in York.", "Our office used to be in Leeds."],
    ["We use pnpm.", "We used to use npm."],
    ["My manager is Lena.", "My manager was Otto until May."],
    ["The app is on port 4000.", "The app was on port 3000 before."],
    ["Our CI runs on GitLab.", "Our CI was formerly on Jenkins."],
    ["Mein Büro ist in Köln.", "Mein Büro war früher in Bonn."],
    ["Nuestra oficina está en Madrid.", "Antes nuestra oficina estaba en Vigo."],
    ["オフィスは東京です。", "オフィスは以前は大阪でした。"],
  ];

  it.each(pairs)("MEM-14 %s stays current after: %s", (now, past) => {
    expect(tellsPast(past)).toBe(true);
    expect(relationOf(past, now)).toBe("apart");
  });

  const first = (older: string, newer: string): ScoredMemory | undefined => {
    const hit = (content: string, score: number, day: number): ScoredMemory => ({
      score,
      candidate: {
        id: content,
        source: "channel-memory",
        path: "",
        title: "",
        content,
        sectionKind: "other",
        priority: 0,
        line: 1,
        timestamp: `2026-09-0${day}T09:00:00Z`,
      },
    });
    return inPrecedence([hit(newer, 2, 3), hit(older, 1, 2)], "current", [])[0];
  };

  it.each(pairs)("MEM-10 %s comes before: %s", (now, past) => {
    expect(first(now, past)).toMatchObject({ candidate: { content: now } });
    expect(first(now, past)?.note).toBeUndefined();
  });

  it("MEM-10 of the same value, what is over comes first", () => {
    const [now, past] = ["I work at Acme.", "I used to work at Acme."];
    expect(first(now, past)).toMatchObject({ candidate: { content: past } });
  });

  it.each([
    ["We use Jenkins at work.", "We used to use Jenkins but now we use GitLab."],
    ["Our standup is at 9.", "Our standup used to be at 9, it is at 10 now."],
    ["I am used to tabs.", "I am used to spaces."],
  ])("a new value beside the past one is no mere past: %s | %s", (_, text) => {
    expect(tellsPast(text)).toBe(false);
  });

  it.each(["I missed the demo on Monday, sorry.", "I forgot the demo on Monday."])(
    "MEM-14 changes no date: %s",
    (text) => {
      expect(relationOf(text, "The demo is on Monday.")).toBe("apart");
    },
  );
});

describe("two things with names of their own", () => {
  it.each([
    ["Never deploy on Fridays.", "We no longer deploy on Mondays."],
    ["Never commit generated files.", "We no longer commit lock files."],
    ["Never commit generated files.", "From now on don't commit lock files."],
    [
      "Never restart the production server without asking.",
      "You can restart the staging server without asking now.",
    ],
    [
      "Starte den Produktionsserver nie ohne Rückfrage neu.",
      "Du darfst den Testserver jetzt ohne Rückfrage neu starten.",
    ],
    [
      "Ne redémarre jamais le serveur de production sans demander.",
      "Tu peux redémarrer le serveur de test sans demander maintenant.",
    ],
    ["I take 20 mg of lisinopril.", "I take 50 mg of sertraline now."],
    ["My flight to Oslo leaves at 8:10.", "My flight to Rome leaves at 9:40 now."],
    ["Der Zug nach Köln fährt um 7:05.", "Der Zug nach Bonn fährt jetzt um 8:20."],
  ])("MEM-14 %s stands beside: %s", (older, newer) => {
    expect(relationOf(newer, older)).toBe("apart");
  });

  it.each([
    ["I take 20 mg of lisinopril.", "I take 40 mg of lisinopril now."],
    ["My flight to Oslo leaves at 8:10.", "My flight to Oslo leaves at 9:40 now."],
    ["We deploy on Fridays.", "We no longer deploy on Fridays."],
    ["Never restart the production server without asking.", "You can restart the production server again."],
  ])("MEM-14 %s gives way to: %s", (older, newer) => {
    expect(["replaces", "likely"]).toContain(relationOf(newer, older));
  });
});
