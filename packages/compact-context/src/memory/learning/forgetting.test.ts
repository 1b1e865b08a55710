import { expect, it } from "vitest";
import { goesOnWith, readForgetRequest, readForgetRequests, splitAtRequest } from "./forgetting.ts";

it.each([
  ["please delete my home address from whatever you keep", "home address", true],
  ["you can drop what you know about the lighthouse project, it is over", "the lighthouse project", true],
  ["I don't want you to remember my old nickname anymore", "old nickname", true],
  ["erase the thing about me leaving Northgate pls", "me leaving Northgate", true],
  ["plz purge the bonus stuff from your notes, HR would not like it", "the bonus", true],
  ["Remove that from memory.", "that", true],
  ["Unlearn it please", "it", true],
  ["I shouldn't have shared that about Barney.", "Barney", true],
  ["Drop the lunch rule, we're not doing that any more.", "the lunch", false],
  ["remove the note on my diet", "diet", true],
  ["Lösche bitte, dass ich in Köln wohne.", "in Köln wohne", true],
  ["oublie ce que je t'ai dit sur mon traitement", "traitement", true],
  ["borra mi matrícula, ya no tengo coche", "mi matrícula", false],
  ["apaga o que eu falei sobre o meu salário, por favor", "salário", true],
  ["请把我的身高从记忆里删掉", "我的身高", true],
  ["Borre mi talla de su memoria.", "mi talla", true],
])("MEM-14 reads what is to be forgotten: %s", (sentence, topic, sure) => {
  const request = readForgetRequest(sentence);
  expect(request?.topic.replace(/^(?:my|mon|o meu) /i, "")).toBe(topic);
  expect(request?.sure).toBe(sure);
});

it.each([
  "Wipe your memory.",
  "Clear your memory, please.",
  "Lösche dein Gedächtnis.",
  "Forget everything I told you.",
])("MEM-14 the memory itself is everything in it, and no word: %s", (sentence) => {
  expect(readForgetRequest(sentence)).toMatchObject({ topic: "", all: true, sure: true });
});

it.each([
  "Delete my feature branch.",
  "Remove the unused imports.",
  "Remove the part about caching from the README.",
  "Delete the rule about line length in .eslintrc.",
  "Clear the cache and start again.",
  "Drop the users table.",
  "Don't forget to run the tests.",
  "I forgot my password, how do I reset it?",
  "remove my test file",
  "Forget about the tests for now.",
  "I looked at the log, don't remember why it failed.",
  "You must not store secrets in the code.",
  "There is a memory leak in the client, remove it.",
  "Delete what I wrote about Redis in the README.",
  "The salary page is ugly, wipe it and start again.",
  "Get rid of the dark theme.",
  "Why did you forget my name?",
  "Delete all rows that are older than a week.",
  "Lösche die Datei.",
  "supprime la fonction inutile",
  "borra el archivo temporal",
  "oublie les tests",
  "oublie le fichier de config",
  "删掉这一行",
  "удали файл",
  "删除这个函数",
  "忘记我的身高了吗？",
  "Don't keep my changes.",
  "Löschen Sie die alten Dateien.",
])("MEM-14 takes no work for a wish to forget: %s", (sentence) => {
  expect(readForgetRequest(sentence)).toBeUndefined();
});

it.each([
  "Vergiss meine Abonummer nicht.",
  "Vergiss meine Abonummer bitte nicht, ich brauche sie noch.",
  "Vergessen Sie meine Abonummer nie.",
  "Du darfst meine Abonummer nicht vergessen.",
  "Du musst dir meine Abonummer merken.",
  "Lösche meine Abonummer nicht aus deinem Gedächtnis.",
  "Merci de ne pas oublier mon code postal.",
  "Il ne faut jamais oublier mon code postal.",
  "No se olvide de mi talla.",
  "Não se esqueça do meu aniversário.",
  "Nunca esqueça o meu aniversário.",
  "Пожалуйста, не забудьте мой размер.",
  "请不要忘记我的身高。",
  "身長を忘れないでください。",
  "You must not forget my shoe size.",
])("MEM-14 takes no wish to remember for one to forget: %s", (sentence) => {
  expect(readForgetRequest(sentence)).toBeUndefined();
});

it.each([
  ["Forget my car, my desk and the gym.", ["my car", "my desk", "the gym"]],
  ["Vergiss alles, was ich dir über Paul und Anna erzählt habe.", ["Paul", "Anna"]],
  ["请忘记我的手机号和我的生日。", ["我的手机号", "我的生日"]],
  ["Forget the meetings on the 3rd and the 5th.", ["the meetings on the 3rd and the 5th"]],
  ["Forget my car and go on with the report.", ["my car and go on with the report"]],
])("MEM-14 forgets each of several things: %s", (sentence, topics) => {
  expect(readForgetRequests(sentence).map(({ topic }) => topic)).toEqual(topics);
});

it("MEM-14 a short sentence adds to the request before it, a question does not", () => {
  expect(goesOnWith("And the gym too, please.", "Forget my car.")).toBe("forget the gym too, please.");
  expect(goesOnWith("My allergy.", "There is something I want you to forget.")).toBe("forget My allergy.");
  expect(goesOnWith("And the deadline?", "Forget my car.")).toBeUndefined();
  expect(goesOnWith("And the gym too.", "I sold my car.")).toBeUndefined();
});

it("MEM-14 parts a request from what stands before it", () => {
  expect(splitAtRequest("before we go on: forget what I said about yarn")).toEqual([
    "before we go on:",
    "forget what I said about yarn",
  ]);
  expect(splitAtRequest("We use pnpm now, forget what I said about yarn")).toEqual([
    "We use pnpm now,",
    "forget what I said about yarn",
  ]);
  expect(splitAtRequest("We use pnpm, not yarn")).toEqual(["We use pnpm, not yarn"]);
});
