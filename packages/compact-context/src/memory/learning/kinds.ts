import { rule, word } from "./language.ts";
import { list, shareIn, topicTerms } from "./terms.ts";

/** A kind of personal fact, in eight languages: words that name the kind, and words that state the fact. */
interface Kind {
  readonly named: RegExp;
  readonly told: RegExp;
}

const kind = (named: string, told: string): Kind => ({
  named: new RegExp(`(?<![\\p{L}])(?:${named})(?![\\p{L}])|${unspaced(named)}`, "giu"),
  told: new RegExp(`(?<![\\p{L}])(?:${told})(?![\\p{L}])|${unspaced(told)}`, "iu"),
});

/** Chinese and Japanese words are not separated by spaces. */
function unspaced(words: string): string {
  const found = words.split("|").filter((one) => /^[\u3040-\u9fff]/u.test(one));
  return found.length === 0 ? "(?!)" : `(?:${found.join("|")})`;
}

const I = "(?:i|we|ich|wir|je|nous|yo|eu|я|мы)";

export const KINDS: readonly Kind[] = [
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
    "(?:phone|mobile|cell|telephone|telefon|handy|téléphone|teléfono|telefone|celular)\\p{L}*|reach me at|call me (?:on|at)|телефон\\p{L}*|\\+?\\d[\\d -]{6,}\\d|电话|手机|電話",
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
    "partner|husband|wife|spouse|boyfriend|girlfriend|fiancée?|mein(?:e[rmn]?)? (?:frau|mann|freund(?:in)?)|married|engaged|divorced|dating|girlfriend|verheiratet|geschieden|partnerin|ehemann|ehefrau|mari|femme|copain|copine|mariée?|divorcée?|pareja|marido|esposa|novi[oa]|casad[oa]|divorciad[oa]|namorad[oa]|женат|замужем|муж\\p{L}*|жен[аыуе]|丈夫|妻子?|老婆|老公|男朋友|女朋友|夫|彼氏|彼女",
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
    "account(?: number)?|bank(?: account| details)?|card(?: details| number)?|iban|konto|kontonummer|bank|karte|compte|carte|banque|cuenta|tarjeta|banco|conta|cartão|счёт\\p{L}*|счет\\p{L}*|карт[аыуе]|银行卡?|账户|账号|口座|カード",
    "account|bank|iban|card|konto|karte|compte|carte|cuenta|tarjeta|banco|conta|cartão|счёт|счет|карт[аыуе]|银行|账户|账号|口座|カード",
  ),
];

/** Other people as the subject of a statement: not meant if the user speaks of their own data. */
const OTHERS =
  /^(?:my|our|meine?|unsere?|mon|ma|notre|mi|nuestr[oa]|(?:[oa] )?(?:meu|minha)|мо[йяё]|我的?|私の)\s?(?:\p{L}+\s)?(?:son|daughter|kids?|children|mother|father|mum|mom|dad|brother|sister|parents?|husband|wife|partner|boyfriend|girlfriend|ex(?:-\p{L}+)?|friend|boss|colleague|neighbou?r|landlord|client|customer|doctor|dentist|therapist|lawyer|solicitor|accountant|teacher|nephew|niece|nanny|babysitter|cleaner|coach|tutor|trainer|gran|grandma|grandpa|uncle|aunt|cousin|grandmother|grandfather|cat|dog|sohn|tochter|mutter|vater|bruder|schwester|mann|frau|freundin|freund|chefin|chef|fils|fille|mère|père|frère|sœur|mari|femme|hij[oa]|madre|padre|herman[oa]|jef[ea]|filh[oa]|mãe|pai|irmão|irmã|сын|дочь|мать|отец|брат|сестра|муж|жена)(?![\p{L}])/iu;

/** The person a statement is about, if it is not the user. */
export function otherIn(text: string): string | undefined {
  return OTHERS.exec(text)?.[0];
}

// ---- questions about such a fact, in any of the languages

/** Words of a project for which the languages differ; the same words name and state it. */
const WORK: readonly Kind[] = [
  "databases?|db|datenbank\\p{L}*|bases? de données|bases? de datos|bancos? de dados|баз[аыуе] данных|数据库|データベース",
  "caches?|zwischenspeicher|caché|кэш\\p{L}*|缓存|キャッシュ",
  "deadlines?|due date|frist|abgabetermin|échéance|date limite|fecha límite|plazo|prazo|срок\\p{L}*|дедлайн\\p{L}*|截止日期|期限|締め切り|締切",
  "releases?|veröffentlichung|sortie|lanzamiento|lançamento|релиз\\p{L}*|发布|リリース",
  "meetings?|besprechung\\p{L}*|réunions?|reuni(?:ón|ones)|reuni(?:ão|ões)|встреч\\p{L}*|会议|会議",
  "budgets?|presupuesto|orçamento|бюджет\\p{L}*|预算|予算",
  "ports?|puertos?|portas?|порт\\p{L}*|端口|ポート",
  "servers?|serveurs?|servidor(?:es)?|сервер\\p{L}*|服务器|サーバー?",
  "teams?|équipes?|equipos?|equipes?|команд\\p{L}*|团队|チーム",
  "customers?|clients?|kund(?:e|en|in)|clientes?|клиент\\p{L}*|客户|顧客",
  "tests?|testen|prueba\\p{L}*|teste[sm]?|тест\\p{L}*|测试|テスト",
  "repo(?:sitor(?:y|ies))?|repositorios?|repositórios?|dépôts?|репозитори\\p{L}*|仓库|リポジトリ",
].map((words) => kind(words, words));

const ASKING = list(`
  which what where who whose how when use uses used using called call have own tell know say show
  welche welcher welches welchen was wo wer wie wann nutzen verwenden benutzen haben heißt heiße gibt
  quel quelle quels quelles où qui comment quand utilisons utilise est-ce est-on appelle avons
  qué cuál cuáles dónde quién cómo cuándo usamos utilizamos tenemos llama llamo qual quais onde quem como quando temos chama
  какой какая какое какие где кто как когда используем зовут есть
  什么 哪 哪里 哪儿 哪个 谁 怎么 吗 呢 多少 什么时候 何 どこ 誰 どの か いくつ いつ どれ 何です`);

const ABOUT_ME: RegExp = rule(
  "^(?:so,? )?who (?:am i|i am)[?.! ]*$|^what do you know about me|^(?:sag mir,? )?wer (?:bin ich|ich bin)|^was weißt du über mich",
  "^qui (?:suis-je|je suis)|^que sais-tu (?:de|sur) moi|^¿?quién soy|^¿?qué sabes de mí|^quem (?:sou eu|eu sou)|^o que você sabe sobre mim",
  "^(?:скажи,? )?кто я[?.! ]*$|^что ты знаешь обо мне|^我是谁|^你(?:知道|了解)我(?:什么|多少)|^(?:私|僕|俺)は誰",
);
const ME: RegExp = rule(
  word(
    "^(?:i am|i['’]m|my (?:\\p{L}+ )?name|call me|ich (?:bin|heiße)|mein name|je suis|je m['’]appelle|mon nom|me llamo|soy|mi nombre|meu nome|(?:eu )?sou|chamo-me|me chamo|меня зовут|мо[её] имя|я)",
  ),
  "^我[是叫]|^我的名字|^(?:私|僕|俺)(?:は|の名前)",
);

/** A test for statements of what a question asks about the user or the project; undefined if it asks more than that. */
export function answersTo(question: string): ((text: string) => boolean) | undefined {
  if (ABOUT_ME.test(question)) return (text) => ME.test(text);
  const named = [...KINDS, ...WORK].filter((one) => question.search(one.named) >= 0);
  const rest = named.reduce(
    (words, one) => words.replace(one.named, " "),
    question.replace(/['’]s(?![\p{L}])/gu, ""),
  );
  if (named.length === 0 || [...topicTerms(rest)].some((term) => !ASKING.has(term))) return undefined;
  const asked = topicTerms(question);
  return (text) => {
    const other = otherIn(text);
    const isOfAnother = other !== undefined && shareIn(topicTerms(other), asked) === 0;
    return (
      named.every((one) => one.told.test(text)) && (!isOfAnother || named.some((one) => one.told.test(other)))
    );
  };
}
