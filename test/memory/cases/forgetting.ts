import type { Forgetting } from "./case.ts";

/** By an author who had not seen the code; 13 of these 16 stayed at first. */
export const requests: readonly Forgetting[] = [
  [
    "en",
    "My home address is 48 Thistledown Lane.",
    "please delete my home address from whatever you keep",
    /thistledown/i,
  ],
  [
    "en",
    "We use Terraform for the Glasswing infrastructure.",
    "you can drop what you know about glasswing's infrastructure, that project's dead",
    /terraform/i,
  ],
  [
    "en",
    "My ex-wife's name is Philippa.",
    "I don't want you to remember my ex-wife's name anymore",
    /philippa/i,
  ],
  [
    "en",
    "I'm planning to quit my job at Stonemere in the autumn.",
    "erase the thing about me quitting Stonemere pls",
    /quit/i,
  ],
  [
    "en",
    "Always add a changelog entry for each pull request.",
    "Drop the changelog rule, we're not doing that any more.",
    /changelog/i,
  ],
  [
    "en",
    "My bank is Harbour & Vale and my account ends in 7731.",
    "can you wipe everything regarding my bank account from memory? thx",
    /harbour|7731/i,
  ],
  ["en", "I'm on a low-sodium diet.", "remove the note on my diet", /sodium/i],
  [
    "en",
    "My nephew Barnaby has ADHD.",
    "Hm, I shouldn't have shared that about Barnaby. Unlearn it please, it's private.",
    /adhd/i,
  ],
  [
    "en",
    "Our salary band for senior devs is 70-82k.",
    "before we go on with the tests: plz purge the salary band stuff from your notes, HR would kill me",
    /70-82k/i,
  ],
  [
    "de",
    "Mein Hochzeitstag ist der 17. August.",
    "Vergiss bitte meinen Hochzeitstag, wir sind geschieden.",
    /17\. august/i,
  ],
  [
    "fr",
    "Je prends du Velorix contre la migraine.",
    "oublie ce que je t'ai dit sur mon médicament contre la migraine",
    /velorix/i,
  ],
  ["es", "Mi matrícula es 4482-KTB.", "borra mi matrícula, ya no tengo coche", /4482/i],
  ["pt", "Meu salário é 9.300 reais.", "apaga o que eu falei sobre o meu salário, por favor", /9\.300/i],
  ["ru", "Мою бывшую зовут Снежана.", "удали из памяти всё про мою бывшую", /снежан/i],
  ["zh", "我的身高是172厘米。", "请把我的身高从记忆里删掉", /172/i],
  ["ja", "実家の電話番号は0555-12-3499です。", "実家の電話番号はもう忘れてください", /3499/i],
];
