import type { Message } from "../../core/message.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { type ForgetRequest, goesOnWith, readForgetRequest, readForgetRequests } from "./forgetting.ts";
import { FORBIDS, KIN, LASTING, OTHERS, PERMITS, THAT } from "./language.ts";
import { read } from "./meaning.ts";
import { saidIn, sentencesOf, typedBefore } from "./own-words.ts";
import { means } from "./relation.ts";
import { bare, shareIn, topicTerms } from "./terms.ts";

/** A kind of personal fact, in eight languages: words that name the kind, and words that state the fact. */
const kind = (named: string, told: string): readonly [named: RegExp, told: RegExp] => [
  anyOf(named, "giu"),
  anyOf(told, "iu"),
];

/** Chinese and Japanese words are not separated by spaces. */
function anyOf(words: string, flags: string): RegExp {
  const unspaced = words.split("|").filter((one) => /^[\u3040-\u9fff]/u.test(one));
  return new RegExp(`(?<![\\p{L}])(?:${words})(?![\\p{L}])|${unspaced.join("|")}`, flags);
}

/** A number of a phone, not of its model. */
const DIGITS = ".*\\d(?:[ .-]?\\d){3}";

const I = "(?:i|we|ich|wir|je|nous|yo|eu|я|мы)";

const KINDS: readonly ReturnType<typeof kind>[] = [
  kind(
    "(?:first |last |sur|nick)?names?|(?:vor|nach|spitz)?namen?|(?:pré|sur)?nom|nombre|apellido|nome|sobrenome|имя|имени|фамили\\p{L}*|名字|姓名|名前",
    "called|named?|names?|heißt|heiße|s['’]appelle|m['’]appelle|se llama|me llamo|se chama|chamo-me|зовут|叫|名前",
  ),
  kind(
    "(?:home )?address|(?:home|place) of residence|home ?town|town|city|home|live|living|reside|adresse|wohnort|wohne|lebe|zuhause|habite|domicile|dirección|domicilio|vivo|vive|casa|endereço|moro|адрес\\p{L}*|живу|住址|地址|家|住在哪(?:里|儿)?|住|住所",
    `live|lives|living (?:at|in|on)|moved to|reside|home is|apartment|flat|street|wohne\\p{L}?|wohnt|lebe|straße|habite\\p{L}?|vivo|vivimos|calle|moro|moramos|rua|живу|живём|住在|住んで|住所|住`,
  ),
  kind(
    "(?:phone|mobile|cell|telephone)(?: number)?|number|telefonnummer|handynummer|nummer|numéro(?: de téléphone)?|(?:número de )?teléfono|(?:número de )?telefone|celular|móvil|(?:номер\\p{L}* )?телефон\\p{L}*|номер|电话(?:号码)?|手机号?|電話(?:番号)?",
    `(?:(?:phone|mobile|cell|telephone|telefon|handy|téléphone|teléfono|telefone|celular)\\p{L}*|телефон\\p{L}*)(?=${DIGITS})|reach me at|call me (?:on|at)|\\+?\\d[\\d -]{6,}\\d|电话(?=${DIGITS})|手机(?=${DIGITS})|電話(?=${DIGITS})`,
  ),
  kind(
    "age|birthday|birthdate|date of birth|how old|alter|geburtstag|geburtsdatum|âge|anniversaire|edad|cumpleaños|idade|aniversário|возраст|день рождения|年龄|生日|誕生日|年齢|歳",
    "born|birthday|years old|turn(?:ed|ing)? \\d+|(?:i['’]?m|i am) \\d\\d|geboren|jahre alt|geburtstag|née? (?:le|en)|\\d+ ans|nací|\\d+ años|nasci|\\d+ anos|родил\\p{L}*|\\d+ лет|岁|出生|歳|生まれ",
  ),
  kind(
    "salary|pay|income|wages?|earnings?|earn|make|what i make|money i (?:make|earn)|gehalt|lohn|einkommen|verdiene?|verdienst|salaire|revenus?|gagne|sueldo|salario|ingresos|gano|salário|renda|ganho|зарплат\\p{L}*|доход\\p{L}*|зарабатыва\\p{L}*|工资|薪水|收入|挣|給料|給与|年収|月収",
    `\\d+k|(?:i['’]m|i am) on \\d\\S*|salary|income|wages?|earn|earning|get paid|paid|${I} make [^a-z]{0,3}\\d\\S*|make \\S*\\d\\S*(?= a)|gehalt|verdiene?|gagne|salaire|sueldo|salario|gano|ganamos|cobro|salário|ganho|recebo|зарплат\\p{L}*|зарабатыва\\p{L}*|получаю|工资|薪水|月薪|年薪|挣|給料|年収|月収|稼`,
  ),
  kind(
    "job|work|employer|employment|workplace|career|boss|company|profession|occupation|arbeit|job|arbeitgeber|beruf|arbeitsplatz|arbeitsstelle|stelle|travail|boulot|emploi|employeur|métier|trabajo|empleo|oficio|trabalho|emprego|profissão|работ[уыае]|работой|професси\\p{L}*|工作|职业|单位|仕事|職場|会社",
    "work (?:at|for|in|as)|working (?:at|for|as)|job|employed|employer|arbeite\\p{L}?|angestellt|beruf|travaille\\p{L}?|trabajo (?:en|como|para)|trabalho (?:em|na|no|como|para)|работаю|工作|上班|勤め\\p{L}*|働い\\p{L}*|仕事",
  ),
  kind(
    "health|illness|disease|sickness|(?:medical )?condition|diagnos[ie]s|disorder|gesundheit|krankheit|erkrankung|diagnose|santé|maladie|diagnostic|salud|enfermedad|diagnóstico|saúde|doença|здоровь\\p{L}*|болезн\\p{L}*|диагноз\\p{L}*|病|病情|健康|诊断|病気|診断",
    "diagnosed|diagnosis|suffer\\p{L}* from|i have (?:\\p{L}+ ){0,2}(?:\\p{L}+(?:itis|osis|emia|aemia|opathy|plegia|lepsy)|diabetes|asthma|cancer|adhd|autism|depression|anxiety|migraines?|hiv|ms|ptsd|ocd)|diabet\\p{L}*|asthma\\p{L}*|depress\\p{L}*|cancer|krebs|leide|erkrankt|krank\\p{L}*|malade|atteinte?|enferm\\p{L}*|padezco|doente|sofro|болею|болен|больна|диабет\\p{L}*|患有?|得了|糖尿病|癌|病",
  ),
  kind(
    "medication|medicine|meds|medicines|pills?|tablets?|drugs|prescription|medikamente?\\p{L}?|tabletten|arznei|médicaments?|traitement|pilules?|medicación|medicamentos?|medicina|pastillas|remédios?|лекарств\\p{L}*|таблет\\p{L}*|препарат\\p{L}*|药物?|薬",
    "(?:i|we)(?:['’]m| am)? (?:also )?(?:on|take|taking) (?!the|a|an|care|part|over|my|our|it|that|this|for|time|top|board|call|holiday|vacation|leave|track)\\p{L}+|prescribed|\\d+ ?mg|nehme|je prends|tomo|принимаю|吃药|服用|薬",
  ),
  kind(
    "pregnancy|pregnant|baby|due date|schwangerschaft|schwanger|grossesse|enceinte|embarazo|gravidez|беременност\\p{L}*|怀孕|妊娠",
    "pregnant|pregnancy|expecting|due in|(?:a|second|third|first) (?:baby|child)|schwanger|enceinte|embarazada|grávida|беременн\\p{L}*|怀孕|妊娠",
  ),
  kind(
    "allerg(?:y|ies|ic)|allergien?|allergies?|alergias?|аллерги\\p{L}*|过敏|アレルギー",
    "allergi\\p{L}*|intoleran\\p{L}*|alérgic\\p{L}*|аллерги\\p{L}*|过敏|アレルギー",
  ),
  kind(
    "weight|gewicht|poids|peso|вес|体重",
    "weigh|kilos|kg|pounds|lbs|stone|wiege|pèse|peso|вешу|体重|公斤",
  ),
  kind(
    "debts?|loans?|mortgage|money|finances|schulden|kredit|geld|finanzen|dettes?|prêt|argent|deudas?|préstamo|dinero|dívidas?|empréstimo|dinheiro|долг\\p{L}*|кредит\\p{L}*|деньг\\p{L}*|债务?|贷款|欠款|钱|借金|ローン",
    "owe|debts?|loan|mortgage|in the red|bankrupt\\p{L}*|overdraft|savings|schuld\\p{L}*|kredit|dois \\d\\S*|dette\\p{L}?|debo|deuda\\p{L}?|devo|dívida\\p{L}?|должен|должна|долг\\p{L}*|欠|贷款|借金|ローン",
  ),
  kind(
    "partner|husband|wife|spouse|boyfriend|girlfriend|fiancée?|ex|relationship|love life|marriage|beziehung|partnerin|mann|frau|freund(?:in)?|ehe|mari|femme|copain|copine|couple|pareja|marido|mujer|esposa|novi[oa]|relación|companheir[oa]|namorad[oa]|relacionamento|муж\\p{L}*|жен[аыуе]|партн[её]р\\p{L}*|отношени\\p{L}*|伴侣|丈夫|妻子?|老婆|老公|男朋友|女朋友|夫|彼氏|彼女|恋人",
    "partner|husband|wife|spouse|boyfriend|girlfriend|fiancée?|married|engaged|divorced|dating|girlfriend|verheiratet|geschieden|partnerin|ehemann|ehefrau|mari|femme|copain|copine|mariée?|divorcée?|pareja|marido|esposa|novi[oa]|casad[oa]|divorciad[oa]|namorad[oa]|женат|замужем|муж\\p{L}*|жен[аыуе]|丈夫|妻子?|老婆|老公|男朋友|女朋友|夫|彼氏|彼女",
  ),
  kind(
    "family|kids?|child(?:ren)?|famil(?:ie|le|ia)|kind(?:er)?|enfants?|hij[oa]s?|família|filh[oa]s?|семь\\p{L}*|дет(?:и|ей|ях|ьми)|家人|家庭|孩子|家族|子供",
    "(?:my|our) (?:\\p{L}+ )?(?:son|daughter|kids?|child(?:ren)?|mother|father|mum|mom|dad|brother|sister|parents?)|meine? (?:sohn|tochter|kinder|mutter|vater|bruder|schwester|eltern)|(?:mon|ma|mes) (?:fils|fille|enfants|mère|père|frère|sœur|parents)|mis? (?:hij[oa]s?|madre|padre|herman[oa]s?|padres)|(?:meus?|minhas?) (?:filh[oa]s?|mãe|pai|irmãos?|irmã)|(?:мо[йяи]) (?:сын|дочь|дети|мать|отец|брат|сестра)|儿子|女儿|孩子|母亲|父亲|息子|娘|母|父",
  ),
  kind(
    "religion|faith|beliefs?|church|glaube|kirche|foi|église|religión|fe|iglesia|religião|fé|igreja|религи\\p{L}*|вер[аыуе]|宗教|信仰",
    "jehovah|witness|mormon|sikh|pagan|lutheran|methodist|anglican|church|mosque|synagogue|temple|catholic|christian|muslim|jewish|hindu|buddhist|atheist|protestant|baptist|orthodox|quaker|religious|pray|katholisch|evangelisch|muslim\\p{L}*|jüdisch|catholique|musulman\\p{L}*|juive?|católic[oa]|judí[oa]|evangélic[oa]|верующ\\p{L}*|православн\\p{L}*|мусульман\\p{L}*|教会|教徒|信徒|信仰",
  ),
  kind(
    "politics|political (?:views?|opinions?)|party|vote|voting|politik|partei\\p{L}*|politique|parti|política|partido|politische \\p{L}+|политик\\p{L}*|парти\\p{L}*|政治|党派|支持政党",
    "vote[sd]?|voting|party|spd|cdu|csu|fdp|afd|grünen?|greens|tory|tories|democrat|republican|labour|conservative|socialist|liberal|wähle|partei|parti|partido|голосую|парти\\p{L}*|投票|党",
  ),
  kind(
    "e-?mail(?: address)?|mail address|mailadresse|e-mail-adresse|(?:adresse )?(?:e-?)?mail|courriel|correo(?: electrónico)?|электронн\\p{L}* почт\\p{L}*|почт[аыуе]|邮箱|邮件地址|メールアドレス|メール",
    "e-?mail|[^\\s@]+@[^\\s@]+|邮箱|メール",
  ),
  kind(
    "accounts?(?! (?:number|no))|bank(?: details)?(?! account number)|cards?(?: details)?(?! (?:number|no))|konto|bank|karte|compte|carte|banque|cuenta|tarjeta|banco|conta|cartão|счёт\\p{L}*|счет\\p{L}*|карт[аыуе]|银行卡?(?!号)|账户|口座(?!番号)|カード(?!番号)",
    "account|bank|iban|card|konto|karte|compte|carte|cuenta|tarjeta|banco|conta|cartão|счёт|счет|карт[аыуе]|银行|账户|账号|口座|カード",
  ),
  kind(
    "(?:account|card) (?:number|no)|iban|(?:konto|karten)nummer|numéro de (?:compte|carte)|número (?:de|da) (?:(?:la|minha|mi) )?(?:cuenta|tarjeta|conta|cartão)|номер\\p{L}* (?:счёта|счета|карты)|(?:银行)?卡号|账号|口座番号|カード番号",
    `(?:account|iban|card|konto|karte|compte|carte|cuenta|tarjeta|conta|cartão|сч[её]т\\p{L}*|карт[аыуе])(?=${DIGITS})|银行卡?(?=${DIGITS})|账号(?=${DIGITS})|口座(?=${DIGITS})|カード(?=${DIGITS})`,
  ),
];

// Forget requests of the user, and which texts they match.

/** A user's request to forget something, in words. */
export interface ForgetWish extends ForgetRequest {
  /** Id of the message with the request. For "that", the topic is the statement before it. */
  readonly from: string;
  /** The sentence with the request, and the preceding sentences it may refer to. */
  readonly said: readonly string[];
}

/** The forget requests of a conversation, in order. */
export function forgetWishes(messages: readonly Message[]): ForgetWish[] {
  let [last, asked] = ["", ""];
  return messages.flatMap((message) => {
    const typed = saidIn(message);
    if (typed === "") return [];
    const sentences = sentencesOf(typedBefore(typed));
    const wishes = sentences.flatMap((sentence, index): ForgetWish[] => {
      const before = sentences.slice(Math.max(0, index - 2), index);
      const order = goesOnWith(sentence, sentences[index - 1] ?? asked) ?? sentence;
      return readForgetRequests(order, before).map((request): ForgetWish => {
        const { isLoose, at } = request;
        const said = [order === sentence ? sentence.slice(at) : sentence, ...(isLoose ? before : [])];
        return { ...ofWhatWasSaid(request, order, last), from: message.id, said };
      });
    });
    asked = sentences.at(-1) ?? "";
    last = sentencesOf(typed).findLast((sentence) => readForgetRequest(sentence) === undefined) ?? last;
    return wishes.filter(({ topic }) => topicTerms(topic).size > 0);
  });
}

/** The request; one that names nothing is about the statement before it. */
function ofWhatWasSaid(request: ForgetRequest, order: string, last: string): ForgetRequest {
  const { topic, points } = request;
  const isNamed = points.length > 0 || (topic === "" ? !BARE.test(order) : !THAT.test(topic));
  return isNamed ? request : { ...request, topic: last, all: false, sure: true };
}

/** Asks to forget, and does not say what: the statement before it. */
const BARE =
  /^(?:(?:请|那就|算了[，,]?)*(?:忘了|忘掉)吧|(?:もう|やっぱり|すみません、)*忘れて(?:ください|くれ|ほしい)?|(?:por favor,? )?olvídal[oa](?:,? por favor)?)[。.!！]*$/iu;

/** True if a topic matches a text. With `isOwn`, facts about other people do not match. */
export function isMeant(topic: string, text: string, isOwn = false): boolean {
  const [wanted, told] = [termsOf(topic), termsOf(text)];
  const held = wanted.size === 0 ? 0 : heldOf(topic, text, isOwn).length / wanted.size;
  const isStated = told.size > 1 && shareIn(told, wanted) >= MOST && read(topic).key !== undefined;
  return held >= MOST || isStated;
}

/** Share of one text's words in the other from which they mean the same. */
const MOST = 0.8;

/** The topic's words that a text contains or states in words of the same kind. */
function heldOf(topic: string, text: string, isOwn: boolean): readonly string[] {
  const [wanted, told, other] = [termsOf(topic), termsOf(text), KIN.exec(text)?.[0]];
  const isOfOther = isOwn && other !== undefined && shareIn(termsOf(other), wanted) === 0;
  const kinds = isOfOther
    ? []
    : KINDS.filter(([named, tells]) => topic.search(named) >= 0 && tells.test(text));
  const byKind = termsOf(kinds.flatMap(([named]) => topic.match(named) ?? []).join(" "));
  return [...wanted].filter((term) => byKind.has(term) || shareIn(new Set([term]), told) === 1);
}

/** Closing quotes are not part of a word, parts of a compound are words, and `mine` has no meaning here. */
function termsOf(text: string): ReadonlySet<string> {
  return topicTerms(text.replace(/['’](?![\p{L}])|(?<=\p{L})-(?=\p{L})|我们?的|私の/gu, " "));
}

/** The texts that a wish matches, and the topic that other texts are matched with. */
export interface Meant<T> {
  readonly texts: readonly T[];
  readonly topic: string;
}

/**
 * The texts that a wish matches: those that contain its words. If there are none, for a pronoun's target those
 * that share a telling word.
 */
export function meantBy<T extends { readonly text: string }>(
  wish: ForgetWish,
  texts: readonly T[],
): Meant<T> {
  const { scope, points, isLoose, isOwn } = wish;
  const possible = texts.filter(
    ({ text }) => scope === "anything" || (scope === "own" ? isPersonal(text) : isRule(text)),
  );
  for (const topic of points.length > 0 ? points : [wish.topic]) {
    const meant = possible.filter(({ text }) => isMeant(topic, text, isOwn));
    if (meant.length > 0) return { texts: meant, topic };
    // A part of the name is another thing: `my car` is not `my car insurance`.
    const told = points.length > 0 && isLoose ? telling(topic, isOwn, possible) : undefined;
    if (told !== undefined) return told;
  }
  return { texts: [], topic: wish.topic };
}

/**
 * Adds newer texts to the matches of a wish: a text that replaces one in `told` that the wish matches. It may
 * omit generic words, as `staging` for `our staging server`.
 */
export function withNewer<T extends { readonly text: string }>(
  wish: ForgetWish,
  texts: readonly T[],
  { told, meant }: { readonly told: readonly string[]; readonly meant: Meant<T> },
): Meant<T> {
  const { topic, isOwn } = wish;
  const thing = bare(termsOf(topic));
  const older = thing.size === 0 ? [] : told.filter((text) => isMeant(topic, text, isOwn));
  const newer = texts.filter(
    (one) =>
      !meant.texts.includes(one) &&
      shareIn(thing, termsOf(one.text)) === 1 &&
      older.some((text) => means(one.text, text)),
  );
  return newer.length === 0 ? meant : { texts: [...meant.texts, ...newer], topic: meant.topic };
}

/** A word in more texts than this does not tell them apart. */
const FEW = 2;

/** The texts that share most words with the topic, counting only words that few texts contain. */
function telling<T extends { readonly text: string }>(
  topic: string,
  isOwn: boolean,
  texts: readonly T[],
): Meant<T> | undefined {
  const held = texts.map(({ text }) => heldOf(topic, text, isOwn));
  const isTelling = (term: string): boolean =>
    term.length > 2 && held.filter((terms) => terms.includes(term)).length <= FEW;
  const shared = held.map((terms) => terms.filter(isTelling));
  const most = Math.max(0, ...shared.map(({ length }) => length));
  if (most === 0) return undefined;
  const meant = texts.filter((_, index) => shared[index]?.length === most);
  return { texts: meant, topic: shared.find(({ length }) => length === most)?.join(" ") ?? "" };
}

/** About the user or their people, not about a project's setup. */
function isPersonal(text: string): boolean {
  if (isRule(text)) return true;
  const verb = read(text).key?.verb;
  return verb !== "use" && verb !== "do" && [KIN, OTHERS, MINE].some((own) => own.test(text));
}

function isRule(text: string): boolean {
  return LASTING.test(text) || FORBIDS.test(text) || PERMITS.test(text) || rulesIn(text).length > 0;
}

const MINE =
  /(?<![\p{L}])(?:my|i|ich|mein\p{L}{0,2}|je|mon|ma|mes|yo|mis?|eu|meus?|minhas?|я|мо\p{L}{1,2}|меня)(?![\p{L}])|j['’]\p{L}|我|私|^(?:soy|tengo|vivo|trabajo|tomo|sou|tenho|moro|trabalho)(?![\p{L}])/iu;
