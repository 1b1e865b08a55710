import { THAT } from "./language.ts";

// How people ask to have something forgotten, in nine languages. `forget` alone is such a request; `delete` and its like are
// one where they name the memory, or something that the user told about themselves.

/** A request to forget, in words. */
export interface ForgetRequest {
  /** The words that name what is meant; of "that" the pronoun itself. */
  readonly topic: string;
  /** True where everything of a kind is meant. */
  readonly all: boolean;
  /** False for `delete my …`, which may be about anything: it counts only where the memory holds it. */
  readonly sure: boolean;
}

const END = "(?![\\p{L}])";
const any = (...sources: readonly string[]): string => `(?:${sources.join("|")})`;

/** What may stand before a request: courtesy, and words that go from one matter to another. */
const LEAD = new RegExp(
  `^(?:[\\s,.!:;–—-]|${any(
    `(?:please|pls|plz|kindly|hey|hi|ok(?:ay)?|oh|um|so|hm+|btw|by the way|sorry|actually|well|and|but|also|now|then|thanks|thx|just|lol)${END}`,
    `(?:(?:can|could|would|will) (?:you|u)|(?:you|u) (?:can|may|should|could)|(?:i(?:['’]d like| would like| want| need) you to)|let['’]?s|i want to have|feel free to|go ahead and)${END}`,
    `(?:bitte|kannst du|könntest du|du (?:kannst|sollst|darfst)|ach|übrigens|also|und|mal|doch|ich möchte,? dass du)${END}`,
    `(?:s['’]il te plaît|stp|tu peux|peux-tu|pourrais-tu|au fait|et|alors|bon)${END}`,
    `(?:por favor|porfa|puedes|podrías|oye|ah|y|bueno|(?:você |vc )?(?:pode|poderia)|aliás|e|pf|favor)${END}`,
    `(?:пожалуйста|(?:ты )?можешь|кстати|и|а|слушай|ну)${END}`,
    `(?:per favore|puoi|potresti)${END}`,
    "请你?|麻烦你?|对了|那个|あの|すみません(?:が)?",
  )})+`,
  "iu",
);

/** Forgetting and nothing else. */
const FORGET = new RegExp(
  `^${any(
    `(?:forget|unlearn|un-learn|disremember)(?! (?:to|how)${END})${END}`,
    `(?:don['’]?t|do not|stop|no longer|never|no need to) (?:want you to )?(?:remember|keep track of)(?:ing)?${END}`,
    `i (?:don['’]?t|do not|no longer) want you to (?:remember|keep|know|store|save|have)${END}`,
    `i (?:shouldn['’]?t|should not|should never) have (?:told|shared|said|mentioned)(?: you)?${END}`,
    `(?:vergiss|vergesst|vergessen sie)${END}`,
    `(?:oublie[rsz]?)${END}`,
    `(?:olvida(?:te|r)?|olvídate|olvide)(?: de)?${END}`,
    `(?:esqueça|esquece|esquecer|esqueçam)(?: de)?${END}`,
    `(?:забудь(?:те)?|забыть|не (?:запоминай|помни))${END}`,
    `(?:dimentica|scorda(?:ti)?)(?: di)?${END}`,
    "(?:忘记|忘掉|忘了|别(?:再)?记(?:住|着)?)",
  )}`,
  "iu",
);

/** Taking something away, from wherever it is. */
const TAKE_AWAY = new RegExp(
  `^${any(
    `(?:delete|remove|erase|drop|wipe|purge|scrub|clear|strike|get rid of|throw (?:away|out)|take out|lose)${END}`,
    `(?:lösche?|entferne?|streiche?)${END}`,
    `(?:supprime|efface|retire|enlève|vire)[rz]?${END}`,
    `(?:borra|elimina|quita)[r]?${END}`,
    `(?:apague|apaga|apagar|remov[ea]r?|tir[ea]r?|exclu[ai]|deleta?|elimin[ea])${END}`,
    `(?:удали(?:ть)?|убери|сотри|вычеркни)${END}`,
    `(?:cancella|elimina|togli|rimuovi)${END}`,
    "(?:删除|删掉|清除|去掉|抹掉)",
  )}`,
  "iu",
);

/** Verbs that stand behind what is to be forgotten. */
const BEHIND =
  /^(.*?)(?:[  ](?:wieder )?vergessen[.!]*|(?:从(?:你的)?(?:记忆|笔记|备忘录?)(?:中|里)?)?(?:删除|删掉|清除|去掉|抹掉|忘了|忘掉|忘记)(?:了?吧)?[。.!！]*|(?:のこと|って話)?(?:を|は|であることを|ということを|ことを)?(?:記憶から|メモ(?:リ)?から)?(?:忘れて|消去して|消して|削除して)(?:おいて)?(?:ください|くれ|ほしい)?[。.!！]*)$/u;

/** The memory, or what the user said: what is asked for is not in a file. */
const MEMORY =
  /(?:(?<![\p{L}])(?:your|the|my|deine[mnr]?|den|ta|tes|tu|tus|da (?:tua|sua)|sua|tua|suas|своей|твоей|своих|tua|tue)\s)?(?<![\p{L}])(?:memory|memories|notes?|records|knowledge|gedächtnis|notizen|mémoire|memoria|memória|памят[иь]|замет(?:ок|ки)|appunti)(?![\p{L}])|(?:从|在)?(?:你的)?(?:记忆|笔记)(?:中|里)?|記憶|(?<![\p{L}])what(?:ever)? (?:you|u)(?:['’]ve| have)? (?:know|knew|keep|kept|have|remember|stored?|saved?|noted|got)(?![\p{L}])|(?<![\p{L}])(?:what|that|anything|everything|all) i(?:['’]ve| have)? (?:just )?(?:said|told(?: you)?|mentioned|shared|wrote)(?![\p{L}])|was (?:du|ich)(?: dir)? .*(?:weißt|gesagt|erzählt)(?: habe)?|ce que (?:je t['’]ai (?:dit|raconté)|tu sais)|lo que (?:te )?(?:dije|conté|he dicho|sabes)|o que (?:eu )?(?:te )?(?:falei|disse|contei)|o que (?:você|vc) sabe|(?:то,? )?что (?:я|ты) (?:тебе )?(?:говорил[аи]?|сказал[аи]?|рассказал[аи]?|знаешь)|我(?:刚才)?(?:说|告诉|提)(?:过|你)?的?/iu;

/** A note, a rule, whatever was said: words for an item of the memory, before or behind what it is about. */
const NOTED_OF =
  /^(?:(?:the|that|this|any|every|all|my|your|any of the|die|das|den|la|le|les|l['’]|el|lo|los|las|a|o|as|os)\s)?(?:(?:whole|entire|stupid|old|little)\s)?(?:notes?|entr(?:y|ies)|facts?|rules?|preferences?|things?|bits?|parts?|info(?:rmation)?|stuff|details?|memor(?:y|ies)|notiz(?:en)?|regeln?|sache|infos?|eintrag|note|règle|truc|info|nota|regla|regra|cosa|coisa|dato|dado|заметк[уи]|правило|информаци[юя]|nota|regola)\s(?:about|on|regarding|concerning|of|that|with|where|über|von|zu|mit|dass|sur|de|du|des|d['’]|concernant|sobre|del?|da|do|que|про|о|об|di|su(?:l|lla)?)\s+/iu;
const NOTED_AS =
  /\s(?:notes?|entr(?:y|ies)|facts?|rules?|preferences?|things?|bits?|info(?:rmation)?|stuff|details?|regel|notiz|sache)$/iu;

const POSSESSIVE =
  /^(?:my|mine|our|mein(?:e[nmrs]?)?|unser\p{L}*|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|(?:[oa]s? )?(?:meus?|minhas?)|мо(?:й|я|ё|и|ю|его|ей|их|ем)|(?:il mio|la mia|i miei|le mie))\s|^(?:我的|私の)/iu;

/** `…, that I live in Cologne`: what is so, and no thing. */
const IS_SO =
  /^(?:(?:bitte|please|s['’]il te plaît|por favor|пожалуйста)(?![\p{L}]))?,?\s*(?:that (?:i|we|my|our)|dass (?:ich|wir|mein\p{L}*)|que (?:je|j['’]|nous|mon|ma|yo|mi|soy|vivo|trabajo|tengo|eu|meu|minha|sou|moro|trabalho|tenho)|что (?:я|мы|мо[йяёи]|у меня|у нас)|che (?:io|sono|vivo|lavoro))(?![\p{L}])/iu;

/** What is deleted from a project and not from a memory. */
const OF_WORK =
  /(?<![\p{L}])(?:files?|branch(?:es)?|functions?|class(?:es)?|methods?|tests?|commits?|changes?|code|lines?|imports?|variables?|comments?|columns?|tables?|rows?|folders?|director(?:y|ies)|containers?|images?|cache|logs?|config|app|pages?|buttons?|components?|repo(?:sitory)?|packages?|dependenc(?:y|ies)|accounts? page|messages?|emails?|mails?|photos?|posts?|datei(?:en)?|funktion|zeilen?|fichiers?|fonction|archivos?|función|arquivos?|função|файл\p{L}*|функци\p{L}*)(?![\p{L}])|文件|函数|代码|ファイル|関数/iu;

/** In a file, a list, a text: not in the memory. */
const ELSEWHERE = /\s(?:from|in(?:side|to)?|within|out of|aus|dans|из)\s/iu;
const ABOUT_ME =
  /(?<![\p{L}])(?:i|i['’]m|me|my|we|our|ich|mein\p{L}*|je|j['’]|mon|ma|mes|mis?|yo|eu|meu|minha|я|мо[йяеёи]|мне|меня)(?![\p{L}])/iu;

const ALL = new RegExp(
  `(?<![\\p{L}])(?:everything|anything|all|alles|tout|todo|tudo|всё|все|tutto|what (?:i|you)|whatever)${END}|所有|全部|一切`,
  "iu",
);

/** Words before and behind a topic that are none of it. */
const AROUND =
  /^(?:[\s,:;，、]+|(?:please|bitte|everything|anything|all|alles|tout|todo|tudo|всё|все|tutto|what|whatever|that|where|who|how|which|i|you|u|know|keep|have|told|said|mentioned|shared|about|regarding|concerning|on|was|wo|où|dónde|onde|где|ich|dir|dass|über|von|ce que|que|qu['’]|je|t['’]ai dit|j['’]ai dit|tu sais|sur|concernant|lo que|te|dije|conté|sabes|sobre|o que|eu|falei|disse|contei|sabe|о|об|про|что|я|ты|тебе|говорил[аи]?|сказал[аи]?|знаешь|di|che|su)(?![\p{L}])|关于|有关)+/iu;
const TAIL =
  /(?:[\s,]+(?:please|pls|plz|thanks|thank you|thx|any ?more|again|now|too|as well|for good|completely|bitte|wieder|s['’]il te plaît|stp|por favor|porfa|пожалуйста|per favore|ok|okay|from (?:it|there|here))|[\s.!。！])+$/iu;
/** What is said behind a request: a reason, or what is so instead. */
const BESIDES =
  /(?:[,;]\s+(?!(?:that|dass|que|qu|что|che)(?![\p{L}]))|\s[–—-]\s|\s\(|\s(?:because|since|as it|weil|da ich|parce que|porque|потому|perché)\s|[，。]).*$/isu;

/** What a sentence asks to have forgotten; undefined where it asks for nothing of the kind. */
export function readForgetRequest(sentence: string): ForgetRequest | undefined {
  return requestIn(sentence.trim()) ?? requestBehind(sentence.trim());
}

/** Where a clause begins that may ask for it. */
const CLAUSE = /[:;–—]\s+|,\s+(?=\p{L})|，/gu;

/** A sentence in two where a request follows what else it says: `we use pnpm now, forget what I said about yarn`. */
export function splitAtRequest(sentence: string): readonly string[] {
  if (readForgetRequest(sentence) !== undefined) return [sentence];
  for (const { index, 0: mark } of sentence.matchAll(CLAUSE)) {
    const rest = sentence.slice(index + mark.length);
    if (readForgetRequest(rest)?.sure === true) return [sentence.slice(0, index + mark.length).trim(), rest];
  }
  return [sentence];
}

function requestIn(clause: string): ForgetRequest | undefined {
  const plain = clause.replace(LEAD, "");
  const forget = FORGET.exec(plain)?.[0];
  if (forget !== undefined)
    return { topic: topicOf(plain.slice(forget.length)), all: ALL.test(plain), sure: true };
  const verb = TAKE_AWAY.exec(plain)?.[0];
  return verb === undefined ? undefined : takenAway(plain.slice(verb.length).trim());
}

function takenAway(object: string): ForgetRequest | undefined {
  const request = { topic: topicOf(object), all: ALL.test(object), sure: true };
  if (MEMORY.test(object) || IS_SO.test(object)) return request;
  const short = object.replace(BESIDES, "").replace(TAIL, "");
  if (OF_WORK.test(short) || ELSEWHERE.test(short)) return undefined;
  if (NOTED_OF.test(short)) return { ...request, sure: ABOUT_ME.test(short) };
  const isItem = NOTED_AS.test(short) && /^(?:the|that|this|my|die|das|la|el|a|o)\s/iu.test(short);
  return isItem || POSSESSIVE.test(short) ? { ...request, sure: false } : undefined;
}

/** German, Chinese and Japanese name it first: `Kannst du meine Adresse vergessen`, `把…从记忆里删掉`. */
function requestBehind(whole: string): ForgetRequest | undefined {
  const named = BEHIND.exec(whole)?.[1];
  if (named === undefined) return undefined;
  const isForgetting = /忘|vergessen/u.test(whole.slice(named.length)) || MEMORY.test(whole);
  const rest = named.replace(LEAD, "").replace(/^把/, "");
  if (/vergessen/.test(whole) && rest === named) return undefined;
  if (!isForgetting && (!POSSESSIVE.test(rest) || OF_WORK.test(rest))) return undefined;
  return { topic: topicOf(rest), all: ALL.test(named), sure: isForgetting };
}

function topicOf(words: string): string {
  const place = [PLACE, MEMORY].map((known) => words.search(known));
  // What stands between the request and the memory's name is meant as a whole.
  const told = words.replace(BESIDES, (rest, at: number) => (Math.max(...place) > at ? rest : ""));
  const placed = told.replace(PLACE, " ").replace(MEMORY, " ").replace(/\s+/g, " ").replace(TAIL, "").trim();
  const named = placed === "" ? told.trim() : placed;
  if (THAT.test(named)) return named;
  const bare = named.replace(AROUND, "").replace(NOTED_OF, "").replace(NOTED_AS, "");
  return bare.replace(AROUND, "").replace(TAIL, "").trim();
}

const PLACE =
  /(?:,?\s*(?:from|out of|aus|in|de|da|из|dalla|en)\s+)(?:(?:your|the|deine[mnr]?|ta|tes|tu|tus|tua|sua|своей|твоей|tua)\s+)?(?:memory|memories|notes?|records|knowledge|gedächtnis|notizen|mémoire|memoria|memória|памяти|заметок|what(?:ever)? you(?:['’]ve| have)? \p{L}+)|从?(?:你的)?(?:记忆|笔记)(?:中|里)?/iu;
