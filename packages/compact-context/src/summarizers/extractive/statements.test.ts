import { describe, expect, it } from "vitest";
import { runAtOnce } from "../../errors.ts";
import { reportsIn as reportsOf } from "./reports.ts";
import { liftsIn, standing } from "./standing.ts";
import * as statements from "./statements.ts";
import { acceptedIn, questionsIn, readSentences, rulesIn } from "./statements.ts";

const decisionsIn = (text: string, speaker: "user" | "assistant" = "assistant"): string[] =>
  statements.decisionsIn(readSentences(text), speaker);
const nextStepsIn = (text: string): string[] => statements.nextStepsIn(readSentences(text));
const reportsIn = (text: string): string[] => reportsOf(readSentences(text));

const RULES: Readonly<Record<string, readonly string[]>> = {
  en: [
    "This is an important constraint: for the rest of this session, end every reply with the word DONE.",
    "Don't ask me to confirm before you run read-only commands.",
    "When you give measurements, use metric units.",
    "Reply in bullet points only.",
    "Write every number as a word.",
    "Don't commit yet.",
    "Before you push anything, run the linter.",
    "The config loader must stay free of side effects.",
    "Avoid abbreviations in function names.",
    "Use spaces instead of tabs.",
    "Never log access tokens.",
    "I prefer small commits.",
    "Only touch files under lib/.",
    "We don't need backward compatibility for the old cache.",
    "Every new endpoint needs a test.",
  ],
  zh: [
    "不要改动 vendor 目录。",
    "以后所有日志都用英文。",
    "每次提交之前必须跑测试。",
    "只能使用标准库。",
    "没有我的允许不要合并。",
  ],
  ja: [
    "vendor には触らないでください。",
    "今後ログは英語で書いてください。",
    "コミットの前に必ずテストを実行すること。",
    "標準ライブラリのみ使用可。",
    "回答は簡潔にお願いします。",
  ],
  de: [
    "Fass den Ordner vendor nicht an.",
    "Ab jetzt alle Logs auf Englisch.",
    "Vor jedem Commit müssen die Tests laufen.",
    "Verwende nur die Standardbibliothek.",
    "Frag mich, bevor du etwas veröffentlichst.",
  ],
  fr: [
    "Ne touche pas au dossier vendor.",
    "Désormais tous les logs sont en anglais.",
    "Les tests doivent passer avant chaque commit.",
    "Utilise uniquement la bibliothèque standard.",
    "Demande-moi avant de publier quoi que ce soit.",
  ],
  es: [
    "No toques la carpeta vendor.",
    "A partir de ahora todos los logs en inglés.",
    "Los tests deben pasar antes de cada commit.",
    "Usa solo la biblioteca estándar.",
    "Pregúntame antes de publicar algo.",
  ],
  pt: [
    "Não mexa na pasta vendor.",
    "De agora em diante todos os logs em inglês.",
    "Os testes devem passar antes de cada commit.",
    "Use somente a biblioteca padrão.",
    "Pergunte antes de publicar qualquer coisa.",
  ],
  ru: [
    "Не трогай папку vendor.",
    "Впредь все логи на английском.",
    "Перед каждым коммитом нужно обязательно прогонять тесты.",
    "Используй только стандартную библиотеку.",
    "Спрашивай меня, прежде чем что-то публиковать.",
  ],
};

const NEITHER: readonly string[] = [
  "The deploy went through after lunch.",
  "I never liked that library.",
  "It must have been a race.",
  "Simplified to summary-level only",
  "- `done`; `waiting`",
  "const limit = never ? 1 : 2;",
  "昨天的部署已经成功了。",
  "デプロイは昨日終わりました。",
  "Die Auslieferung ist gestern durchgelaufen.",
  "Le déploiement est passé hier.",
  "El despliegue terminó ayer.",
  "A implantação terminou ontem.",
  "Деплой вчера прошёл.",
];

describe("rules", () => {
  for (const [language, sentences] of Object.entries(RULES))
    it.each(sentences)(`${language}: %s`, (sentence) => expect(rulesIn(sentence)).not.toEqual([]));

  it.each([
    ...NEITHER,
    "Only show me line 3 of the file.",
    "don't worry about it",
    "Should we always retry?",
    "Move the old results over, we no longer need the runs folder.",
  ])("no rule: %s", (sentence) => expect(rulesIn(sentence)).toEqual([]));

  it.each([
    "The submit button should only be enabled when the form is valid",
    "Every request gets a trace id in the gateway",
    "Whenever the user scrolls the header jumps",
    "I _think_ we only read it at startup",
    "no images appear in the export",
    "Never forget who won.",
    "Let's say a session exists but no files are staged.",
    "The type is kept in each worker's `state.json`",
    "Your branch is clean because the changes are stored, not committed",
    "check the rows and whether values should be trimmed",
    "only run the parser tests for now",
    "Error: You must call init() first",
    "eslint says that `next` is never used",
    "i bet the effect is only called once",
    "Der Button darf nur im Dialog sichtbar sein",
    "le bouton doit toujours rester visible",
    "el botón debe quedar siempre visible",
    "esse menu só deve abrir com clique",
    "кнопка должна быть видна всегда",
    "按钮必须一直显示",
    "ボタンは常に表示されます",
  ])("tells of the program, or of this step: %s", (sentence) => expect(rulesIn(sentence)).toEqual([]));

  it.each([
    "Use a table here.",
    "please use a numbered list here instead of prose",
    "only use two columns here",
    "Keep it short.",
    "ok, keep this brief and friendly please",
    "Don't make it so long.",
    "Avoid long sentences in this paragraph.",
  ])("tells how one thing is to look: %s", (sentence) => expect(rulesIn(sentence)).toEqual([]));

  it.each([
    "From now on keep it short.",
    "Keep it short, always.",
    "Keep it small, no new dependencies.",
    "Use a new branch here for every fix.",
    "Don't use a mutex here.",
    "Use tables here instead of lists.",
    "Keep your answers short.",
    "Rules:\n- Keep it short.",
  ])("tells how all of a kind are to look: %s", (text) => expect(rulesIn(text)).not.toEqual([]));

  it.each([
    "use uv here, pip breaks the lock",
    "docstrings in french, please",
    "whatever you add has to work on windows",
    "one migration per pull request",
    "anything with money goes through me",
    "all errors go through AppError",
    "default exports are out: named exports only",
    "could you always say which file you mean?",
    "no sudo on this machine",
    "and in general don't reorder imports",
    "whenever a test is flaky, tell me",
    "error messages shown to users must never name a table",
    "Don't push yet.",
    "prefiero mensajes cortos",
    "isso passa por mim primeiro",
    "пиши по-английски в коммитах",
  ])("binds the work: %s", (sentence) => expect(rulesIn(sentence)).not.toEqual([]));

  it("leaves out code, quotes and headings, and says where a rule stands", () => {
    const text =
      "# Never do this\n```\nnever('push')\n```\n> always wrong\nFirst sentence. Never push to main.\n";
    expect(rulesIn(text)).toEqual(["Never push to main."]);
  });

  it("takes from a plan only what binds how to work", () => {
    const plan = `# Plan\n\n## Design\n\n- The cache must hold 40 entries\n- Only the reader knows the format\n\n## Rules\n\n- Do not modify existing tests\n${"\nText about the design of the reader.".repeat(40)}`;
    expect(rulesIn(plan)).toEqual(["Do not modify existing tests"]);
  });

  it("joins a rule that wraps over lines", () => {
    const text = "Do not change the public interface of the reader module, because other\nteams build on it.";
    expect(rulesIn(text)).toEqual([text]);
  });
});

describe("rules that replace each other", () => {
  const left = (...rules: readonly string[]): string[] =>
    runAtOnce(standing(rules.map((text) => ({ text })))).map(({ text }) => text);

  it.each([
    ["Reply in German from now on.", "Always reply in English."],
    ["Keep lines under 120 characters.", "Keep lines under 80 characters."],
    ["You may push to main again.", "Never push to main."],
    ["以后用英文回答", "以后用中文回答"],
    ["Use pnpm instead of npm from now on.", "Always use npm."],
  ])("%s replaces %s", (newer, older) => expect(left(newer, older)).toEqual([newer]));

  it.each([
    ["Never push to main.", "Never log tokens."],
    ["Don't touch src/a.ts.", "Don't touch src/b.ts."],
    ["Write comments in English.", "Reply in German."],
    ["Use tabs in Makefiles.", "Use spaces in Python."],
    ["Never store tokens in plain text.", "Never store passwords in plain text."],
    ["Always add a docstring for a new function.", "Always add a test for a new function."],
    ["Never use npm here.", "Use pnpm instead of npm."],
  ])("%s stays beside %s", (newer, older) => expect(left(newer, older)).toEqual([newer, older]));
});

describe("words that lift rules", () => {
  const left = (words: string, rule: string): string[] => {
    const lifts = liftsIn(readSentences(words)).map((text) => ({ text, lifts: true }));
    return runAtOnce(standing([...lifts, { text: rule, lifts: false }])).flatMap(({ text, lifts }) =>
      lifts ? [] : [text],
    );
  };

  it.each([
    ["The freeze is over: you can push to main now, and the docs are open.", "Never push to main."],
    ["From now on you may run the e2e tests again.", "Don't run the e2e tests."],
    ["I take that back: you can push to main again.", "Never push to main."],
    ["You can now push to main.", "Never push to main."],
    ["Forget the npm rule.", "Always use npm."],
    ["Ignore my rule about the docs folder.", "Don't touch the docs folder."],
    ["Please answer in English again.", "Always answer in French."],
  ])("%s lifts %s", (words, rule) => expect(left(words, rule)).toEqual([]));

  it.each([
    ["You can push to main now if the tests pass.", "Never push to main."],
    ["You can push to develop now.", "Never push to main."],
    ["You can now see that I never push to main.", "Never push to main."],
    ["You can commit now.", "Never commit without asking me."],
    ["You can use the parser now.", "Always use npm."],
    ["Forget the npm rule.", "Never push to main."],
    ["Run the tests again.", "Run the tests before each commit."],
    ["He wrote: “you can push to main now”.", "Never push to main."],
  ])("%s leaves %s", (words, rule) => expect(left(words, rule)).toEqual([rule]));
});

describe("rules in their context", () => {
  it("tells a short rule that leans on the sentence before it with that sentence", () => {
    expect(rulesIn("The parsers share one grammar file. Never edit it by hand.")).toEqual([
      "The parsers share one grammar file. Never edit it by hand.",
    ]);
    expect(rulesIn("The parsers share one grammar file. Never edit the grammar by hand.")).toEqual([
      "Never edit the grammar by hand.",
    ]);
  });
});

describe("decisions", () => {
  it.each([
    "I'll use a queue instead of a timer because timers drift.",
    "Let's go with option 2.",
    "We decided to keep the old format.",
    "I'll keep the second cache because the first one drops entries.",
    "I did not change the store; we skipped that since you asked to keep it.",
    "The cleanest fix is to close the pool where it is opened.",
    "Recommendation: one index for each tenant.",
    "The retries are unbounded by design.",
    "I didn't touch the parser, since the caller already trims.",
    "I agree; the cache goes and the callers ask the store.",
    "So we should avoid calling both simply a rate.",
    "For the ledger, I would not reuse the old reader.",
    "A run in CI should stay single unless somebody asks for more.",
    "Wir nehmen SQLite statt Postgres.",
    "我们决定采用队列。",
    "キューを採用します。",
  ])("%s", (sentence) => expect(decisionsIn(sentence)).not.toEqual([]));

  it.each([
    "Let me look at the tests instead.",
    "- Choose your location",
    "I'll wait for the build rather than interrupting it.",
    "The call returned null instead of a list.",
    "Should we use a queue instead of a timer?",
    "The caller can decide what to print.",
    "Good idea, let me look at the callers.",
    "Why didn't you use a queue instead of a timer",
    "I don't know because the log is empty.",
  ])("no decision: %s", (sentence) => expect(decisionsIn(sentence)).toEqual([]));
});

describe("the end of a message", () => {
  it.each([
    "Next I'll wire the reader into the server.",
    "The migration is not committed yet.",
    "I still need to update the docs.",
    "Next steps:\n- add the tests",
    "接下来我会补上测试。",
    "Als Nächstes baue ich die Tests.",
  ])("a next step: %s", (text) => expect(nextStepsIn(text)).not.toEqual([]));

  it.each(["All done, nothing left to do.", "The tests pass.", "I fixed the reader."])(
    "no next step: %s",
    (text) => expect(nextStepsIn(text)).toEqual([]),
  );

  it("finds the questions that wait, not the rhetorical ones", () => {
    const text =
      "It broke. Why? Because of the cache.\n\nShould I drop the cache?\nLet me know which format you prefer.";
    expect(questionsIn(text)).toEqual(["Should I drop the cache?", "Let me know which format you prefer."]);
  });

  it.each([
    "Hello! How can I assist you today?",
    "Done. Is there anything else I can help with?",
    "What would you like me to do next?",
    "¿En qué puedo ayudarte hoy?",
    "有什么我可以帮您的吗？",
  ])("a courtesy does not wait for an answer: %s", (text) => expect(questionsIn(text)).toEqual([]));
});

const HOSTILE: readonly string[] = [
  "a",
  " ",
  "\n",
  "never ",
  "if a, ",
  "- ",
  "`",
  "**",
  "。",
  "不要",
  '"',
  "<",
  "{",
  "a.",
  "use x ",
  "\u{1f600}",
  "\ud800",
  "не ",
];

describe("any text", () => {
  const readers = { rulesIn, decisionsIn, nextStepsIn, questionsIn };
  for (const [name, read] of Object.entries(readers)) {
    it(`${name} reads a megabyte of anything soon, and quotes what is there`, () => {
      for (const piece of HOSTILE) {
        const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
        const started = performance.now();
        for (const found of read(text)) expect(text).toContain(found);
        expect(performance.now() - started, JSON.stringify(piece)).toBeLessThan(3_000);
      }
    });
  }
  it("compares long rules soon", () => {
    const long = "never push src/a.ts ".repeat(50_000);
    expect(runAtOnce(standing([{ text: long }, { text: `${long}x` }]))).toHaveLength(1);
  });

  it("keeps up with thousands of rules: eight times as many take no more than thirty times as long", () => {
    const timeOf = (length: number): number => {
      const rules = Array.from({ length }, (_, index) => ({
        text: `Never push the file src/part${index}.ts to branch b${index % 7} without review ${index}.`,
      }));
      // Time of the processor: other work on the machine does not count.
      const started = process.cpuUsage();
      expect(runAtOnce(standing(rules))).toHaveLength(length);
      return process.cpuUsage(started).user;
    };
    timeOf(625);
    const few = Math.min(timeOf(625), timeOf(625), timeOf(625));
    expect(Math.min(timeOf(5_000), timeOf(5_000))).toBeLessThan(30 * few);
  });
});

describe("rules about the way of working", () => {
  it.each([
    "Work through the items in order, committing after each item.",
    "Stop after all steps and report what was done.",
    "can we stick to the review before the merge?",
    "let's not do the big rewrite",
    "I'd like to use my vouchers first, and the rest by card.",
    "I'm looking to travel after 11 AM.",
  ])("%s", (text) => {
    expect(rulesIn(text)).toHaveLength(1);
  });

  it("takes every item below a heading of constraints, those of a nested list too", () => {
    const text =
      "## Constraints across all items\n- Run the suite that belongs to it after each commit:\n  - Items 1-3: `npm test`";
    expect(rulesIn(text)).toEqual([
      "Run the suite that belongs to it after each commit:",
      "Items 1-3: `npm test`",
    ]);
  });
});

describe("reportsIn", () => {
  it.each([
    ["still not quite right", 1],
    ["we are getting this warning when the app starts", 1],
    ["The upload does not work.", 1],
    ["TypeError: parcels is not iterable", 1],
    ["make sure the upload does not work without a token", 0],
    ["does the upload still fail?", 0],
    ["I guess something did not work there", 0],
    ["add a test for the parser", 0],
  ])("%s", (text, count) => {
    expect(reportsIn(text)).toHaveLength(count);
  });
});

describe("decisions of several kinds", () => {
  it("are items below a heading of decisions", () => {
    const text = "Design decisions captured:\n\n- `rate` means one thing.\n- Weights are in grams.";
    expect(decisionsIn(text)).toHaveLength(2);
  });

  it("of people are also wishes", () => {
    for (const text of [
      "I would prefer to use only one voucher.",
      "rebase onto `next` instead of main please",
      "can we rebase onto `next` instead of main please?",
      "no, keep the old name",
      "I think A) is fine, put it into the file.",
    ]) {
      expect(decisionsIn(text, "user"), text).toHaveLength(1);
      if (!text.startsWith("I think")) expect(decisionsIn(text), text).toEqual([]);
    }
  });
});

describe("acceptedIn", () => {
  const proposal =
    "Two ways:\n- **A)** ask\n- **B)** add a flag\n\nI'd lean toward **B)** - a flag is clearer. Thoughts?";

  it.each([
    ["B)", 1],
    ["yes", 1],
    ["sounds good", 1],
    ["A)", 0],
    ["yes, but ask first", 0],
    ["what does the flag do?", 0],
  ])("%s", (reply, count) => {
    expect(acceptedIn(proposal, reply)).toHaveLength(count);
  });
});

describe("what is told as done", () => {
  it("is no rule, though it says what no longer is", () => {
    const text = (heading: string) => `${heading}:\n- The state is a type alias now, no more converters`;
    expect(rulesIn(text("What's already done"))).toEqual([]);
    expect(rulesIn(text("Rules"))).not.toEqual([]);
  });

  it("is no next step where `uncommitted` names a thing of the program", () => {
    expect(nextStepsIn("Uncommitted checkpoints now show no diff stats.")).toEqual([]);
    expect(nextStepsIn("There are uncommitted changes in the tree.")).not.toEqual([]);
  });
});

describe("what is only talked of", () => {
  it.each([
    "I get this in the console:\nWarning: Encountered two children with the same key, `a`.\nKeys should be unique so that components maintain their identity across updates.",
    "Encountered two children with the same key, `x`. Keys should be unique so that components maintain their identity across updates.\n\nfix it please",
    "react-dom.js:86 Warning: Encountered two children with the same key. Keys should be unique so that rows stay.",
    "(node:12) [DEP0040] DeprecationWarning: The `punycode` module is deprecated. Please use a userland alternative only.",
    "Some people think every function should have a comment.",
    "In theory no module should import another.",
    "A purist would say that classes should never be used.",
    "Option A: never cache. Option B: always cache.",
    "Either we never retry or we always retry, tell me what each costs.",
    "If we always used UTC, this wouldn't happen.",
    "Discuss whether all endpoints should need a token.",
  ])("is no rule: %s", (text) => {
    expect(rulesIn(text)).toEqual([]);
  });

  it("leaves the rule that a person adds below a program's line", () => {
    expect(rulesIn("error: the disk is full\nNever use sudo on that box.")).toHaveLength(1);
  });

  it.each([
    "If we decided to go with Redis, we'd need a new container.",
    "I'm not sure whether to go with A or B.",
    "We haven't decided to drop it yet.",
    "Before we settle on a name, tell me what you think.",
    "Going with Redis would mean a new dependency.",
    "They decided to use Go instead of Rust.",
    "The docs say we use X because of Y.",
    "The author chose to use X because of Y.",
  ])("is no decision: %s", (text) => {
    expect([...decisionsIn(text), ...decisionsIn(text, "user")]).toEqual([]);
  });

  it.each([
    "If it fails, we will then retry.",
    "Would be nice to have: dark mode, not yet implemented.",
    "Whenever the queue is empty, the worker still needs to wait.",
  ])("is no next step: %s", (text) => {
    expect(nextStepsIn(text)).toEqual([]);
  });
});

it.each([
  "I’ll base the branch on `origin/main` instead of changing this checkout.",
  "For now, I'll create an interface that calls the CLI.",
  "The fix was adding `--setting-sources user` to skip project hooks.",
])("what is done on purpose is a decision: %s", (text) => {
  expect(decisionsIn(text)).toEqual([text]);
});

it("knows a choice by what it is preferred to, and a proposal of a review for no choice", () => {
  for (const text of [
    "- Keep the old scale as an option, not as a dependency of the depot.",
    "Weighing once per parcel is the right call.",
    "The crane is slow, so I'll weigh at the gate instead of at the ramp.",
  ])
    expect(decisionsIn(text), text).toHaveLength(1);
  expect(decisionsIn("I think B), let's start with letters - or is that too early?", "user")).toHaveLength(1);
  expect(decisionsIn("let's go with the small scale, or do we need both?", "user")).toHaveLength(1);
  expect(decisionsIn("Fix: weigh the crate before it is sealed.")).toEqual([]);
});
