import { oneLine } from "../../summarizers/extractive/text.ts";
import { any, THAT } from "./language.ts";
import { isValue, remembered, topicTerms } from "./terms.ts";

// Orders and wishes to forget something, in nine languages, found clause by clause. The words that name their object
// come after them, before them, or in an earlier sentence.

const END = "(?![\\p{L}])";

/** Words that may precede a request: courtesy and connectives. */
const LEAD: RegExp = new RegExp(
  `^(?:[\\s,.!:;–—-]|${any(
    `(?:please|pls|plz|kindly|hey|hi|ok(?:ay)?|oh|um|so|hm+|btw|by the way|sorry|actually|well|and|but|also|now|then|thanks|thx|just|lol|maybe|\\p{L}{3,}ly)${END}`,
    `(?:(?:can|could|would|will) (?:you|u)|(?:you|u) (?:can|may|should|could)|(?:i(?:['’]d like| would like| want| need) you to)|(?:can|could|shall|may) we|let['’]?s|i want to have|feel free to|go ahead and)${END}`,
    `(?:bitte|kannst du|könntest du|du (?:kannst|sollst|darfst|könntest)|ach|übrigens|also|und|mal|doch|wieder|einfach|ruhig|ich (?:möchte|will),? dass du)${END}`,
    `(?:s['’]il te plaît|stp|tu peux|peux-tu|pourrais-tu|tu pourrais|au fait|et|alors|bon|merci de|je veux que tu)${END}`,
    `(?:por favor|porfa|(?:ya )?puedes|podrías|oye|ah|y|bueno|quiero que|(?:você |vc )?(?:já )?(?:pode|poderia)|aliás|e|pf|favor|quero que (?:você )?)${END}`,
    `(?:пожалуйста|(?:ты )?(?:можешь|мог(?:ла)? бы)|кстати|и|а|слушай|ну|лучше|давай)${END}`,
    `(?:per favore|puoi|potresti)${END}`,
    "请你?|麻烦你?|你?可以|对了|那个|あの|すみません(?:が)?",
  )})+`,
  "iu",
);

/** Start of a clause that may be a request. German and Romance orders can follow an object unpunctuated. */
const CLAUSE = new RegExp(
  `[:;,.?!–—]\\s+|\\s-\\s|，|\\s(?:and|so|but|und|et|y|e|и)\\s|(?<!(?:^|[\\s,])(?:не|ne|pas|jamais|no|não|nunca|nicht|nie|never|not|don['’]?t)(?: [st]e)?)\\s(?=${any(
    "you (?:can|may)|please|pls",
    "(?:kannst|könntest|darfst|sollst|brauchst|musst) du|bitte|vergiss|lösch|streich",
    "tu peux|oublie|(?:ya )?puedes|olv[ií]da|b[oó]rra|(?:você |vc )?pode|esque[cç]|apag|забудь|удали|сотри",
  )})`,
  "giu",
);

/** Verbs for what a memory does with a topic, as negated by `don't …`, `you need not …` and similar. */
const KNOW = "(?:remember|memori[sz]e|keep track of|keep in mind|h(?:old|ang) on ?to)(?:ing)?";
const HOLD =
  "(?:keep|keeping|hold|holding|stor(?:e|ing)|sav(?:e|ing)|retain(?:ing)?|have|having|record(?:ing)?)";
const SPEAK =
  "(?:mention(?:ing)?|bring(?:ing)? up|refer(?:ring)? to|talk(?:ing)? about|remind(?:ing)? me (?:of|about))";
const NOT_YOU = any(
  "(?:you )?(?:don['’]?t|do not|no longer) (?:need|have) to",
  "(?:there(?:['’]s| is) )?no (?:need|reason|point)(?: for you)? (?:to|in)",
  "(?:you|we) need(?:n['’]t| not)(?: to)?",
  "i (?:really |just )?(?:don['’]?t|do not|no longer) want you (?:to(?: be)?)?",
  "i['’]?d (?:rather|prefer)(?: it)?(?: if)? you (?:didn['’]?t|did not|don['’]?t|stopped|not)",
);
const NOT = any(
  NOT_YOU,
  "don['’]?t(?: you)?|do not|not(?: to)?|never|stop|quit|no longer|let['’]?s not|(?:can|could|would) (?:you|u) (?:stop|not)",
);
const GONE =
  "(?:deleted|removed|erased|wiped|purged|scrubbed|cleared|struck|dropped|forgotten|unlearned|taken (?:out|off)|gone)";
const STORED =
  "(?:stored|saved|kept|remembered|noted|mentioned|recorded|brought up|on (?:file|record)|in (?:here|there)|(?:in|part of) (?:your|the) (?:memory|notes|records?|files?))";
const AGAIN = "(?=.{0,80}(?:again|any ?(?:more|longer))(?![\\p{L}]))";

const IF_YOU = "(?:i['’]?d|i would|it['’]?d|it would) .{2,40}?if you(?: could| would)?";

/** `forget` verbs apply only to a memory, `keep` verbs mostly to one, `take` verbs to anything. */
type OrderKind = "forget" | "keep" | "take";

/** The object follows the match unless a pattern has an `object` group. */
const ORDERS: readonly (readonly [OrderKind, RegExp])[] = Object.entries({
  forget: [
    `(?:forget|un-?learn|dis-?remember|un-?remember|un-?know)(?! (?:to|how)${END})${END}`,
    `(?:${NOT_YOU} (?:ever |even )?|not )know(?:ing)?${END}(?! (?:why|how|if|whether)${END})`,
    `${NOT} (?:ever |even )?${KNOW}${END}(?! (?:to|why|how (?!i)|if|whether|exactly|the exact)${END})`,
    `${IF_YOU} forg[eo]t${END}`,
    `i (?:really )?(?:(?:shouldn['’]?t|should not|should never|never should)(?: have|['’]ve)|(?:regret|wish i (?:hadn['’]t|had not|had never|never)))(?: ever)? (?:told|tell|telling|shared?|sharing|said|saying|mention(?:ed|ing)?)(?: you)?${END}`,
    `(?:vergiss|vergesst|vergessen sie)${END}(?! (?:bitte |mir |ja )*nicht${END})`,
    `(?:l['’]|les? |la )?oublie[rsz]?(?:-(?:le|la|les|moi))?${END}(?! pas${END})`,
    `(?:olvida(?:te|r)?|olvída(?:te|l[oa]s?)|olvidarl[oa]s?|olvides?)(?: de| a(?= (?:mis?|nuestr[oa]s?) ))?${END}`,
    `(?:esqueça|esquece|esquecer|esqueçam)(?:-[oa]s?)?(?: de)?${END}`,
    `(?:забудь(?:те)?|забыть)${END}`,
    `(?:dimentica|scorda(?:ti)?)(?: di)?${END}`,
    "忘(?:[记掉](?![^，,。]*了吗)|了(?![^，,。]*吗))",
    `(?:scratch|strike) (?:that|what i (?:just )?said)(?= (?:about|regarding|on(?! (?:\\p{Lu}\\p{Ll}+day|\\d|yesterday|last))) [^,;:.]+(?:, please)?[.!]*$)`,
    "忘れて(?:ください|くれ|ほしい)?(?=[。.!！]*$)",
    `(?:ich (?:will|möchte) nicht(?: mehr)?,? dass du|(?:du )?(?:musst|brauchst|sollst)(?: du)?(?=[^,;]* nicht )) (?:dir )?(?<object>.*?)(?:^| )?(?:nicht(?: mehr| länger)?)?(?: zu)? ?(?:merken|wissen|behalten|speichern|erinnern|erwähnen|weißt|behältst|merkst|speicherst|erwähnst|kennst|(?:gespeichert|gemerkt) hast)${END}`,
    `merke? dir (?:(?<object>.+?) )?nicht (?:mehr|länger)${END}`,
    `(?:je ne veux (?:pas|plus) que tu|tu n['’]as (?:pas|plus) besoin de|(?:il n['’]est )?(?:pas|plus) besoin de|arrête de|ne) (?:te |t['’])?(?:souviennes?|souvenir|rappelles?|rappeler|reti(?:ens|ennes)|retenir|mémorises?|saches|savoir|connaisses|gardes|garder)(?: (?:pas|plus))?(?: de)?${END}`,
    `(?:no quiero que|(?:ya )?no (?:necesitas|hace falta que|tienes (?:por qué|que))|deja de|no) (?:(?:me|te|l[oa]s?) )?(?:recuerdes|recordar|guardes|sepas|saber|conserves|acuerdes|memorices)(?: de)?${END}`,
    `(?:no quiero que|ya no (?:necesitas|tienes (?:por qué|que))|deja de) (?:guardes|guardar|menciones|mencionar|tengas)${END}`,
    `(?:não quero (?:mais )?que(?: você| vc| tu)?|(?:você |vc )?(?:já )?não precisa(?:s)?(?: mais)?|(?:pare|para|deixe|deixa) de|não) (?:se )?(?:guarde|guardar|lembre|lembrar|saiba|saber|mencione|mencionar|memorize)(?: mais)?(?: de)?${END}`,
    `(?:(?:я )?(?:больше )?не хочу,? чтобы ты|(?:тебе )?(?:больше )?не (?:нужно|надо)|перестань|хватит|(?:больше )?не)(?: больше)? (?:помн(?:и|ить|ила?)|запомина(?:й|ть|ла?)|храни(?:ть|ла?)?|зна(?:ть|ла?)|упомина(?:й|ть|ла?))${END}`,
    "(?:你?不(?:要|用|必|需要)|别|我?不(?:想|希望)(?:让)?你)(?:再|继续)?(?:记(?:住|着|得)?|保存|提(?:起|到)?|知道)(?!录)",
  ],
  keep: [
    `${NOT_YOU} (?:ever |even )?(?:${HOLD}|${SPEAK})${END}`,
    `${NOT} (?:ever |even )?(?:${HOLD}|${SPEAK})${END}${AGAIN}`,
    `i (?:really |just )?(?:don['’]?t|do not|no longer|never) want to (?:ever )?hear (?:of|about)${END}${AGAIN}`,
    `i (?:really |just )?(?:don['’]?t|do not|no longer) want (?!you${END})(?<object>.+?) (?:to (?:ever |still )?(?:come up|pop up|appear|be ${STORED})|(?:being )?${STORED})${END}`,
    `(?<object>.+?) (?:(?:should|must|need)(?:n['’]?t| not| never)|has no business)(?: to)?(?: be| being| have been)? ${STORED}${END}`,
    `(?:i['’]?d|i would|it['’]?d|it would) (?:rather|prefer|.{2,40}?if)(?: that)? (?!you${END})(?<object>.+?) (?:was|were|is)(?:n['’]?t| not| no longer) ${STORED}${END}`,
    `(?<object>.+?) (?:soll(?:te|en)?|darf|dürfen) (?:bitte )?nicht (?:mehr |länger )?.*?(?:stehen|vorkommen|auftauchen|(?:gespeichert|erwähnt) (?:sein|werden|bleiben))${END}`,
    `no quiero que (?<object>.+?) (?:salga|aparezca|quede|esté guardad[oa])${END}`,
  ],
  take: [
    `(?:delete|remove|erase|drop|wipe|purge|scrub|clear|strike|scrap|bin|trash|chuck|toss|discard|dump|ditch|nuke|get rid of|let go of|throw (?:away|out)|take out|cut out|lose)(?: out| away| off)?${END}`,
    `(?:take|throw|chuck|toss|wipe|clear|scrub|cut|cross|get|leave|keep) (?<object>.{1,80}?) (?:out|away|off)${END}(?! (?:the|to)${END})`,
    `${IF_YOU} (?:deleted?|removed?|erased?|dropped?)${END}`,
    `(?:can|could|may|would) (?<object>.{2,60}?) (?:please )?be ${GONE}${END}`,
    `let (?<object>.{1,60}?) go${END}`,
    `(?:i['’]?d like(?: to have)?|i would like(?: to have)?|i want|i need|(?:can|could|may) (?:i|we) (?:have|get)|have|get) (?<object>.{1,80}?) (?:to be )?${GONE}${END}`,
    `(?<object>.{2,80}?) (?:can|may|should|must|needs? to|has to|have to|ought to) (?:now |please )?(?:go|disappear|be ${GONE})${END}`,
    `(?:lösche?|entferne?|streiche?|tilge)${END}|weg damit|raus damit`,
    `(?:nimm|wirf|schmeiß) (?<object>.+?) (?:he)?(?:raus|weg)${END}`,
    `(?:l['’]|les? |la )?(?:supprime|efface|retire|enlève|vire|jette)[rsz]?(?:-(?:l[ea]s?|moi))?${END}`,
    `(?:borr[ae]|elimin[ae]|quit[ae]|suprim[ea])[rs]?(?:l[oa]s?)?(?: a(?= (?:mis?|nuestr[oa]s?) ))?${END}|(?:bórra|elimína|quíta)l[oa]s?${END}`,
    `(?:apague|apaga|apagar|remov[ea]r?|tir[ea]r?|exclu[ai]|deleta?|elimin[ea])(?:-[oa]s?)?${END}`,
    `(?:удали(?:ть|те)?|убери(?:те)?|сотри(?:те)?|стереть|вычеркни|выкинь)${END}`,
    `(?:cancella|elimina|togli|rimuovi)${END}`,
    "(?:删除|删掉|清除|去掉|抹掉)",
  ],
} satisfies Record<OrderKind, readonly string[]>).flatMap(([kind, forms]) =>
  forms.map((form) => [kind as OrderKind, new RegExp(`^(?:${form})`, "iu")] as const),
);

/** Fast pre-check: most clauses contain no order. */
const ANY_ORDER = new RegExp(
  ORDERS.map(([, form]) => form.source.replaceAll("(?<object>", "(?:")).join("|"),
  "iu",
);

/** German infinitives at the end, after `kannst du` or `bitte`. Chinese and Japanese orders are last too. */
const last = (verbs: string): RegExp =>
  new RegExp(`^(?<object>.*?)(?:\\s|^)(?:(?:wieder|bitte|ruhig|auch|einfach) )*(?:${verbs})[.!?]*$`, "iu");
const LAST: readonly (readonly [OrderKind, RegExp])[] = [
  ["forget", last("vergessen|vergisst")],
  ["take", last("löschen|löschst|entfernen|entfernst|streichen|tilgen|rausnehmen|wegwerfen")],
];
const BEHIND: readonly (readonly [OrderKind, RegExp])[] = [
  [
    "forget",
    /^(?:把)?(?<object>.+?)(?:从(?:你的)?(?:记忆|笔记|备忘录?)(?:中|里)?)?(?:忘了|忘掉|忘记)(?:了?吧)?[。.!！]*$/u,
  ],
  [
    "forget",
    /^(?<object>.+?)(?:のこと|って話)?(?:を|は|も|であることを|ということを|ことを)?(?:もう)?(?:忘れて|覚えて(?:い|おか)なくて(?:も)?(?:いい|大丈夫|結構)|覚えておく必要は?(?:ない|ありません))(?:おいて)?(?:ください|くれ|ほしい|です|よ)?[。.!！]*$/u,
  ],
  ["take", /^(?:把)?(?<object>.+?)(?:删除|删掉|清除|去掉|抹掉)(?:了?吧)?[。.!！]*$/u],
  [
    "take",
    /^(?<object>.+?(?:のこと)?)(?:を|は|も)?(?:消去して|消して|削除して)(?:おいて)?(?:ください|くれ|ほしい)?[。.!！]*$/u,
  ],
];

/** German negates an order behind its object: `Vergiss es nicht`. */
const NEGATED = /(?<![\p{L}])(?<!oder )(?:nicht|nie|niemals)(?=\s*[,;:.!?–—]|$| aus(?![\p{L}]))/iu;

/** An order or a wish in a sentence. */
interface Order {
  readonly kind: OrderKind;
  /** Start of the order in the sentence, and end of its own words. */
  readonly at: number;
  readonly end: number;
  readonly before: string;
  readonly object: string;
  /** The matched words of the order. */
  readonly verb: string;
}

/** Maximum characters of a sentence. Longer ones are pasted text or data, not requests. */
const LONGEST = 500;

function ordersIn(sentence: string): readonly Order[] {
  return sentence.length > LONGEST ? [] : shortOrders(sentence);
}

const shortOrders: (sentence: string) => readonly Order[] = remembered(2_000, (sentence) => {
  const starts = [0, ...[...sentence.matchAll(CLAUSE)].map(({ index, 0: mark }) => index + mark.length)];
  return starts.flatMap((at): Order[] => {
    const rest = sentence.slice(at);
    const lead = LEAD.exec(rest)?.[0] ?? "";
    const plain = rest.slice(lead.length);
    const first = ANY_ORDER.test(plain) ? ORDERS : [];
    const forms = [...first, ...(/\p{L}/u.test(lead) ? LAST : []), ...(at === 0 ? BEHIND : [])];
    return forms.flatMap(([kind, form]) => {
      const found = form.exec(plain);
      if (found === null) return [];
      const behind = plain.slice(found[0].length);
      const inside = found.groups?.object;
      const whole = `${inside ?? ""} ${behind}`.trim();
      if (NEGATED.test(whole)) return [];
      const end = at + lead.length + (inside === undefined ? found[0].length : 0);
      const order = { kind, at, end, before: sentence.slice(0, at), verb: found[0] };
      return objectsIn(whole).map((object): Order => ({ ...order, object }));
    });
  });
});

/** A parsed request to forget. */
export interface ForgetRequest {
  /** The words that name the target; for "that", the pronoun itself. */
  readonly topic: string;
  /** True if everything of a kind is meant. */
  readonly all: boolean;
  /** False for `delete my …`, which may refer to anything: it counts only if the memory holds a match. */
  readonly sure: boolean;
  /** Names a pronoun may refer to, nearest first; empty if the request names its target. */
  readonly points: readonly string[];
  /** An item matches if it shares a telling word with the request, whether or not it has the exact name. */
  readonly isLoose: boolean;
  /** The target is said to be the user's own. */
  readonly isOwn: boolean;
  /** Items it can match: for a word like `rule` only rules, for a bare name or `thing` the user's own. */
  readonly scope: "anything" | "rules" | "own";
  /** Start of the request in the sentence. */
  readonly at: number;
  /** End of the order itself; the text after it may state the replacement. */
  readonly end: number;
}

/** Phrases for the memory itself or for what it was told. They show that the target is not in a file. */
const MEMORY = new RegExp(
  any(
    `(?<![\\p{L}])(?:(?:from|out of|off|in|on|to|of|aus|von|de|da|dans|sur|en|em|na|из|в|di|dalla) )?(?:your|ur|dein(?:e[mnr]?)?|(?:ihr|eur)e[mnr]?|ta|tes|ton|votre|vos|[st]us?|vuestr[oa]s?|(?:d)?(?:tua|sua|teu|seu)s?|(?:тво|сво|ваш)(?:е[йм]|их)) (?:\\p{L}+[ -])?(?:memory|memories|notes?|records?|knowledge|files?|head|mind|brain|database|storage|system|context|gedächtnis|notizen|kopf|speicher|unterlagen|mémoire|tête|memoria|notas|cabeza|registros?|memória|cabeça|памят[иь]|замет(?:ок|ки|ках)|голов[ыеу]|appunti|mente)${END}`,
    `(?<![\\p{L}])(?:from|out of|off) (?:the )?(?:long-term )?(?:memory|memories)(?=$|[.,;!?)]| (?:please|pls|plz|now|again|for|because|since|as|and|about|any|that|it|i|we|thx|thanks|too|of|on)${END})`,
    `(?<![\\p{L}])(?:aus dem |im |de la |en la |dans la |da |na |из |в |dalla )(?:gedächtnis|mémoire|memoria|memória|памят[иь])${END}`,
    `(?<![\\p{L}])(?:(?:from|off) the record|on (?:file|record)|in mind)${END}`,
    `(?<![\\p{L}])(?:from )?(?:what(?:ever)?|everything|anything|all)(?: that)? (?:you|u)(?:['’]ve| have)? (?:got|know|knew|keep|kept|have|remember|stored?|saved?|noted|hold)(?: (?:about|on) me)?${END}`,
    `(?<![\\p{L}])(?:you|u)(?:['’]ve| have)? (?:stored|saved|noted|remembered|kept|memori[sz]ed)(?: (?:about|on|for) me)?${END}`,
    `(?<![\\p{L}])(?:what|that|anything|everything|all)(?: that)? i(?:['’]ve| have)? (?:just )?(?:said|told(?: you)?|mentioned|shared)${END}(?! in (?:the|that|this|my|our) )`,
    `(?<![\\p{L}])i(?:['’]ve| have)? told you(?= (?:about )?(?:my|our)${END})`,
    "was (?:du|ich)(?: dir)?(?= .*(?:weißt|gesagt|erzählt))|ce que (?:je t['’]ai (?:dit|raconté)|tu sais)|lo que (?:te )?(?:dije|conté|he dicho|sabes|sepas)|o que (?:eu )?(?:te )?(?:falei|disse|contei)|o que (?:você|vc) (?:sabe|saiba|souber)",
    "(?:то,? )?что (?:я|ты) (?:тебе )?(?:говорил[аи]?|сказал[аи]?|рассказал[аи]?|знаешь)|我(?:刚才)?(?:[跟和对]你)?(?:说|讲|告诉|提)(?:过|你)*的?|(?:从|在)?(?:你的)?(?:记忆|笔记)(?:中|里)?|(?:記憶|メモ(?:リ)?)から|記憶",
  ),
  "giu",
);

/** Words for an item of the memory: a note, a rule, a detail. */
const NOTED_WORD =
  "(?:notes?|entr(?:y|ies)|facts?|rules?|instructions?|preferences?|things?|bits?|info(?:rmation)?|stuff|details?|business|notiz(?:en)?|regeln?|sachen?|infos?|eintrag|anweisung|règle|consigne|truc|regla|instrucción|regra|instrução|cosas?|coisas?|datos?|dados?|información|informaç(?:ão|ões)|nota|заметк[уи]|правило|информаци[юя]|regola)";
const DETERMINED =
  "(?:(?:tod[oa]s?|tou(?:te)?s?|alle|всю)\\s)?(?:(?:the|that|this|any|every|all|both(?: (?:of )?the)?|my|your|these|those|any of the|beide|les deux|ambas|ambos|as duas|обе|die|das|den|diese[ns]?|le|la|les|l['’]|cette|ce|el|lo|los|las|es[ea]|a|o|as|os|ess[ea]|это|эту)\\s)?(?:(?:whole|entire|stupid|old|little|silly)\\s)?";
const OF =
  "(?:about|on|regarding|concerning|of|that|with|where|über|von|zu|mit|dass|sur|de|du|des|d['’]|concernant|sobre|del?|da|do|que|про|о|об|di|su(?:l|lla)?)";
const NOTED_OF = new RegExp(
  `^(?:${DETERMINED}${NOTED_WORD}\\s${OF}|(?:das|die sache) mit|lo de|lo que toca a|le truc de)\\s+(?:(?:den|der|dem)\\s)?`,
  "iu",
);
const NOTED_AS = new RegExp(
  `(?:^|\\s)(?!notes)${NOTED_WORD}$|的?(?:信息|事情?|资料|一切|所有)都?$|(?:の|に関する|についての?)(?:こと|情報|データ)(?:[をはも]?(?:全部|すべて|全て))?$|[をはも](?:全部|すべて|全て)$|に(?:ついて|関して).{0,9}$`,
  "iu",
);
const RULE =
  /(?<![\p{L}])(?:rules?|instructions?|preferences?|regeln?|anweisung|règle|consigne|regla|instrucción|regra|instrução|правило|regola)(?![\p{L}])/iu;

/** Pronouns and phrases that refer to something named earlier. */
const PERSON = "(?:her|him|ihn|elle|lui|ella|él|ela|ele|её|ее|него|неё|нее|нём|нем|ней)";
const POINTS = new RegExp(
  `^(?:${PERSON}|it|them|его|их|sie|ihr|that|this|these|those|there|das|dies|es|damit|ça|cela|ceci|eso|esto|isso|isto|это|этом|(?:that|this|the|diese|cette|esa|essa|это|эту) (?:one|${NOTED_WORD}))$`,
  "iu",
);
const PERSONS = new RegExp(`(?<![\\p{L}])${PERSON}$`, "iu");

const POSSESSIVE =
  /^(?:my|mine|our|mein(?:e[nmrs]?)?|unser\p{L}*|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|(?:[oa]s? )?(?:meus?|minhas?)|мо(?:й|я|ё|и|ю|его|ей|их|ем)|(?:il mio|la mia|i miei|le mie))\s|^(?:我的|私の)/iu;

const OF_MINE =
  /^(?:the|d(?:ie|as|en)|les?|la|l['’]|el|los|las|[oa]s?) ?\p{L}+ (?:(?:of|von|de|d[oa]s?) )?(?:my|our|mein\p{L}+|unser\p{L}+|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|meus?|minhas?|noss[oa]s?)\s/iu;

/** A statement of fact, not a thing: `…, that I live in Cologne`. */
const IS_SO =
  /^(?:(?:bitte|please|s['’]il te plaît|por favor|пожалуйста)(?![\p{L}]))?,?\s*(?:that (?:i|we|my|our)|dass (?:ich|wir|mein\p{L}*)|que (?:je|j['’]|nous|mon|ma|yo|mi|soy|vivo|trabajo|tengo|eu|meu|minha|sou|moro|trabalho|tenho)|что (?:я|мы|мо[йяёи]|у меня|у нас)|che (?:io|sono|vivo|lavoro))(?![\p{L}])/iu;

/** A fact in the form of a question: `where I live`. */
const ASKED =
  /^(?:where|when|which|what|who|how)(?: \p{L}+){0,2} (?:i|we|my|our)(?![\p{L}])|^(?:was|wo|wie) (?:ich|wir)(?![\p{L}])/iu;

/** Things that are deleted from a project, not from a memory. */
const OF_WORK =
  /(?<![\p{L}-])(?:files?|branch(?:es)?|functions?|class(?:es)?|methods?|tests?|commits?|changes?|code(?= |$)(?! you)|lines?|imports?|variables?|comments?|columns?|tables?|rows?|fields?|folders?|director(?:y|ies)|containers?|images?|icons?|logos?|cache|logs?|config|apps?|pages?|buttons?|forms?|headers?|footers?|components?|endpoints?|routes?|repo(?:sitory)?|packages?|dependenc(?:y|ies)|modules?|plugins?|scripts?|migrations?|builds?|fixtures?|schemas?|warnings?|errors?|bugs?|flags?|parameters?|arguments?|types?|interfaces?|versions?|tags?|tickets?|todos?|features?|accounts? page|messages?|emails|mails?|photos?|pictures?|posts?|paragraphs?|sections?|sentences?|headings?|drafts?|duplicates?|placeholders?|whitespaces?|characters?|slides?|sheets?|cells?|charts?|boards?|datei(?:en)?|funktion|zeilen?|spalten?|tabellen?|formular|zweig|fichiers?|fonction|lignes?|colonnes?|branche|archivos?|función|líneas?|columnas?|campos?|rama|fotos?|arquivos?|função|linhas?|colunas?|imagens|файл\p{L}*|функци\p{L}*|строк\p{L}*|столб\p{L}*|таблиц\p{L}*|ветк\p{L}*)(?![\p{L}])|文件|函数|代码|表里|列|(?<!银)行|ファイル|関数|ブランチ/iu;

const WORK_AT_THE_END = new RegExp(`(?:${OF_WORK.source})$`, "iu");

/** Located in a file, a list or a text, so not in the memory. */
const ELSEWHERE =
  /\s(?:from|in(?:side|to)?|within|out of|off|on (?!my|our|me|it|him|her|them)|at|(?<!relat(?:ed|ing) |linked )to(?! do with)|aus|dans|auf|из|со?)\s/iu;
const ABOUT_ME =
  /(?<![\p{L}])(?:i|i['’]m|me|my|we|our|ich|mein\p{L}*|je|j['’]|mon|ma|mes|mis?|yo|eu|meu|minha|я|мо\p{L}{1,2}|мне|меня)(?![\p{L}])|我|私/iu;
/** Set aside temporarily, not forgotten. */
const LATER =
  /(?<![\p{L}])(?:for (?:now|today|tonight|once|a change|the moment|this \p{L}+|a (?:bit|moment|second|sec|minute|while))|this time|until|till|right now|first|vorerst|erstmal|erst mal|fürs erste|im moment|pour (?:l['’]instant|le moment)|por ahora|por enquanto|пока)(?![\p{L}])|先|とりあえず/iu;

const ALL = new RegExp(
  `(?<![\\p{L}])(?:everything|anything|all|alles|tou(?:t|te|tes|s)|tod[oa]s?|tudo|nada|rien|всё|все|всю|tutto|what (?:i|you)|whatever|(?:every|any) (?:single )?(?:trace|mention|bit))${END}|所有|全部|一切|すべて|全て`,
  "iu",
);

/** Filler words before and after a topic. */
const AROUND =
  /^(?:[\s,:;，、]+|(?:please|(?:every|any) (?:single )?(?:trace|mention|bit) of|to do with|relat(?:ed|ing) to|re|i['’]m|bitte|s['’]il te plaît|por favor|пожалуйста|everything|anything|all|alles|tout|todo|tudo|nada|rien|всё|все|tutto|what|whatever|that|where|who|how|which|i|you|u|know|keep|have|told|said|mentioned|shared|about|of|regarding|concerning|on|del?|d[oau]|was|welche[rsnm]?|wo|où|dónde|onde|где|(?:wer|wann)(?= (?:mein|unser))|(?:qui|quand)(?= (?:est|sont) (?:m(?:on|a|es)|nos|notre)\s)|(?:quién(?:es)?|cuándo|cuál(?:es)?)(?= (?:es|son) (?:mis?|nuestr))|(?:quem|quando|qual)(?= (?:é|são) (?:[oa]s? )?(?:meu|minha|noss))|(?:кто|когда|как(?:ой|ая|ое|ие))(?= (?:мо[йяёи]|наш))|ich|dir|dass|über|von|ce que|ce qui|que|qu['’]|je|t['’]ai dit|j['’]ai dit|tu sais|sur|concerne|concernant|lo que|te|dije|conté|sabes|sobre|o que|eu|falei|disse|contei|sabe|о|об|про|что|я|ты|тебе|говорил[аи]?|сказал[аи]?|знаешь|di|che|su)(?![\p{L}])|关于|有关|所有|全部|一切)+/iu;
const TAIL =
  /(?:[\s,]+(?:(?:i|we) (?:go|belong) to|please|pls|plz|thanks|thank you|thx|any ?(?:more|longer|where)|ever|again|now|too|auch|aussi|también|também|тоже|out|away|as well|for good|completely|(?:erzählt|gesagt) habe|weißt|bitte|wieder|mal|s['’]il te plaît|stp|por favor|porfa|пожалуйста|per favore|ok|okay|from (?:it|there|here))|(?:吧|了)(?=[\s.!。！]*$)|[\s.!?。！？]+)+$/iu;
/** Text after a request: a reason, a replacement or a further request. */
const BESIDES =
  /(?:[,;]\s+(?!(?:that(?!\s\p{L}+['’]s\s)|dass|que|qu|что|che)(?![\p{L}]))|\s[–—-]\s|\s\(|\s(?:everywhere|wherever|because|since|as it|weil|da ich|parce que|porque|потому|perché)\s|\s(?:and|und|et|y|e|и)\s(?=(?:please|never|don['’]?t|do not|stop|forget|delete|nie|nicht|ne|no|não|nunca|больше|не|никогда|забудь|удали|сотри|remove|erase|lösch|efface|borra|apag\p{L}*)(?![\p{L}]))|(?<=^(?:it|that|this|them|her|him)) (?:and|then|or|so|but)\s|[，。]).*$/isu;

/** The requests of a sentence, one for each thing it names. `before`: the two sentences before it. */
export function readForgetRequests(
  sentence: string,
  before: readonly string[] = [],
): readonly ForgetRequest[] {
  const orders = ordersIn(sentence);
  const first = orders.find((order) => requestOf(order, sentence, before) !== undefined);
  return orders
    .filter(({ at, verb }) => at === first?.at && verb === first.verb)
    .flatMap((order) => requestOf(order, sentence, before) ?? []);
}

/** The first forget request of a sentence, if any. */
export function readForgetRequest(sentence: string): ForgetRequest | undefined {
  return readForgetRequests(sentence)[0];
}

const LIST =
  /\s*(?:[,;、，]\s*(?:(?:and|und|et|y|e|и)\s)?|\s(?:and|und|et|y|e|и|as well as|sowie)\s|和|以及|と)\s*/iu;
const IS = /(?<![\p{L}])(?:is|are|was|ist|sind|est|sont|es|son|é|são)(?![\p{L}])/iu;
const NAME = /^\p{Lu}[\p{L}\d-]*(?:\s\p{Lu}[\p{L}\d-]*)?$/u;

/** `my car, my desk and the gym`; several things only if each has an owner or an article, or all are names. */
function objectsIn(object: string): readonly string[] {
  const [about, behind] = [AROUND.exec(object)?.[0] ?? "", TAIL.exec(object)?.[0] ?? ""];
  const things = object.slice(about.length, object.length - behind.length).split(LIST);
  const areSeveral = things.every((thing) => NAME.test(thing)) || things.every(isThing);
  return areSeveral ? things.map((thing) => `${about}${thing}${behind}`) : [object];
}

function isThing(words: string): boolean {
  const plain = words.replace(TAIL, "");
  // A day or a number belongs to the thing before it.
  if (plain.split(/\s+/).length > 6 || IS.test(plain) || [...topicTerms(plain)].every(isValue)) return false;
  return POSSESSIVE.test(plain) || ARTICLE.test(plain) || /^[我私]/u.test(plain);
}

/** Says that there is something to forget, and not what; nothing that is to be kept, or was forgotten. */
export const ANNOUNCES: RegExp = new RegExp(
  any(
    `^(?!.*(?<![\\p{L}])${any(
      "never|not|cannot|\\p{L}+n['’]t|always|often|i (?:\\p{L}+ly |sometimes |may |might |will |would )?forget",
      "nicht|nie|immer|jamais|pas|toujours|no|nunca|siempre|não|sempre|не|никогда|всегда",
      "(?:ich|wir|er|sie) (?:hab|hat)\\p{L}* (?:\\S+ )?vergessen",
    )}(?![\\p{L}])).*?(?<![\\p{L}])(?:something|(?:one|a|another) thing|etwas|quelque chose|une chose|algo|una cosa|uma coisa|что-то|кое-что|одну вещь)(?![\\p{L}]),?(?: \\S+){0,7}? (?:forget|vergessen(?= (?:sollst|sollen|kannst|könntest|musst|darfst))|vergisst|oubli(?:er|es|iez|ies)|olvid(?:ar|es|ases|aras|e)|esque(?:cer|ças|cesses|ça)|забыть|забуд\\p{L}+|(?<=чтобы .*)забыл\\p{L}?)[^.!:]{0,20}[.!:]*$`,
    "^(?:please )?(?:forget|vergiss|oublie|olvida|esquece|забудь) (?:something|one thing|etwas|quelque chose|une chose|algo|una cosa|uma coisa|кое-что|одну вещь)[^,]*[.!:]*$",
    "有件事(?!.*(?:别|不要|不能)).{0,12}忘(?!了[。.]?$)",
    "忘れて(?:ほしい|欲しい)ことが",
  ),
  "iu",
);
const ALSO =
  /^(?:and|und|et|y|e|и|还有|也|あと|それと)[\s,，、]*(?:(?:also|auch|aussi|también|também|тоже)\s)?(?=\S)/iu;

/** What a sentence adds to the request before it: `And the gym too, please.`, `My allergy.` */
export function goesOnWith(sentence: string, last: string): string | undefined {
  const also = ALSO.exec(sentence)?.[0] ?? "";
  const object = sentence.slice(also.length);
  const isAsked = ANNOUNCES.test(last) || (also !== "" && readForgetRequest(last) !== undefined);
  return isAsked && isThing(object) && !/[?？]/u.test(object) ? `forget ${object}` : undefined;
}

/** Splits a sentence before a request that follows other text: `we use pnpm now, forget yarn`. */
export function splitAtRequest(sentence: string): readonly string[] {
  const { sure, at } = readForgetRequest(sentence) ?? { sure: false, at: 0 };
  return sure && at > 0 ? [sentence.slice(0, at).trim(), sentence.slice(at)] : [sentence];
}

function requestOf(order: Order, sentence: string, earlier: readonly string[]): ForgetRequest | undefined {
  const { kind, at, end, before, object } = order;
  const [bare, named] = [plainOf(object), nameOf(object)];
  const isPointing = bare === "" || POINTS.test(bare) || POINTS.test(named);
  const clauses = isPointing ? clausesBefore(before, earlier) : [];
  const [clause] = clauses;
  const phrase = clause === undefined ? bare : plainOf(clause);
  const meant = {
    phrase,
    bare,
    isPointing,
    isPerson: PERSONS.test(named),
    isNoted:
      [phrase, bare].some((one) => NOTED_OF.test(one) || NOTED_AS.test(one)) ||
      (isPointing && RULE.test(phrase)),
    isOwn: ABOUT_ME.test(phrase),
  };
  const target = clause === undefined ? named : nameOf(clause);
  const strength = has(MEMORY, `${clause ?? ""} ${sentence.slice(at)}`)
    ? "memory"
    : strengthOf(order, meant, sentence.slice(at));
  if (strength === undefined) return undefined;
  return {
    topic: isMemoryItself(bare) ? "" : target,
    points: clauses.map(nameOf),
    all: isMemoryItself(bare) || ALL.test(object),
    sure: strength === "memory" || strength === "sure",
    isLoose: strength === "memory" || (clause !== undefined && isMoreThanNamed(kind, meant)),
    isOwn: meant.isOwn,
    scope: scopeOf(strength, meant),
    at: clause === before ? 0 : at,
    end,
  };
}

const MEMORY_ITSELF = /memor(?:y|ies|ia)|memória|mémoire|gedächtnis|памят/iu;

/** Names the memory and nothing in it, such as `your memory`: everything is meant. */
const isMemoryItself = (bare: string): boolean =>
  MEMORY_ITSELF.test(bare) && bare.replace(MEMORY, "").trim() === "";

/** Clauses a pronoun may refer to, nearest first. */
function clausesBefore(before: string, earlier: readonly string[]): string[] {
  return [before, ...earlier.toReversed()].filter((one) => nameOf(one).length > 1);
}

/** The target of an order. */
interface Meant {
  /** The words that name it, from the order itself or from the clause its pronoun refers to. */
  readonly phrase: string;
  /** The order's own object. */
  readonly bare: string;
  readonly isPointing: boolean;
  readonly isPerson: boolean;
  /** It is called a note, a rule or a thing. */
  readonly isNoted: boolean;
  readonly isOwn: boolean;
}

/**
 * How surely the memory is meant. `memory`: named in the request; `sure`: nothing else can be meant; `owned`
 * and `named`: only if the memory holds a match.
 */
type Strength = "memory" | "sure" | "owned" | "named";

function strengthOf(order: Order, meant: Meant, asked: string): Strength | undefined {
  const { kind, object } = order;
  const { phrase, isNoted, isOwn } = meant;
  if (LATER.test(asked)) return undefined;
  if (IS_SO.test(object)) return "sure";
  if (kind === "forget") return isWorkAlone(meant) ? undefined : "sure";
  const isWork = !isNoted && OF_WORK.test(phrase);
  if (isWork || phrase === "" || ELSEWHERE.test(meant.isPointing ? meant.bare : phrase)) return undefined;
  if (isOwn && (kind === "keep" || NOTED_OF.test(phrase))) return "sure";
  return kind === "keep" || isTheirs(object, meant) ? "owned" : namedBy(order, meant);
}

/** Only a part of the work: `the tests`, `the login page`; of `le serveur de test` the thing comes first. */
function isWorkAlone({ phrase, isNoted, isOwn }: Meant): boolean {
  const isWork = WORK_AT_THE_END.test(phrase.replace(/ d(?:e|u|es|el|[oa]s?) .*$/iu, ""));
  return isWork && !isNoted && !isOwn && isShort(phrase);
}

function isTheirs(object: string, { phrase, isNoted, isPerson }: Meant): boolean {
  const isOfMine = POSSESSIVE.test(phrase) || OF_MINE.test(phrase);
  return isNoted || isPerson || isOfMine || ALL.test(object) || ASKED.test(object);
}

function namedBy({ verb }: Order, { phrase, isPointing }: Meant): Strength | undefined {
  return !isPointing && LOSES.test(verb) && isShort(phrase) && !ARTICLE.test(phrase) && !UNSPACED.test(phrase)
    ? "named"
    : undefined;
}

/** A sentence about a person or a possession says more than the target's name. */
function isMoreThanNamed(kind: OrderKind, { phrase, isPerson, isNoted }: Meant): boolean {
  return isPerson || isNoted || (kind === "forget" && POSSESSIVE.test(phrase));
}

function scopeOf(strength: Strength, { phrase, bare, isPerson, isNoted }: Meant): ForgetRequest["scope"] {
  if (strength === "memory" || strength === "sure" || isPerson) return "anything";
  if (isNoted && RULE.test(`${phrase} ${bare}`)) return "rules";
  return strength === "named" || !POSSESSIVE.test(phrase) ? "own" : "anything";
}

const has = (known: RegExp, text: string): boolean => text.search(known) >= 0;
const UNSPACED = /[\u3040-\u9fff]/u;
const isShort = (phrase: string): boolean => phrase.split(/\s+/).length <= 4;
/** A name has no article. */
const ARTICLE = /^(?:the|an?|th(?:is|at|[eo]se)|all|d(?:er|ie|as|en)|l[ea]s?|el|los|[oa]s?|un[ea]?)\s/iu;
/** Verbs used for deleting a name more often than a part of a project. */
const LOSES =
  /^(?:get rid|erase|wipe|scrub|purge|let|lose|lösch|streich|efface|borra|b[oó]rra|apag|удали|сотри)/iu;

/** Strips the memory's name, courtesy and unrelated text. */
function plainOf(words: string): string {
  const told = words.replace(LEAD, "");
  const place = [...told.matchAll(MEMORY)].at(-1)?.index ?? -1;
  // Text between the request and the memory's name belongs to the target.
  const named = told.replace(BESIDES, (rest, at: number) => (place > at ? rest : ""));
  const placed = oneLine(named.replace(MEMORY, " ")).replace(TAIL, "").trim();
  return placed === "" ? named.replace(TAIL, "").trim() : placed;
}

function nameOf(words: string): string {
  const plain = plainOf(words);
  const that = [plain, words.replace(LEAD, "")].find((one) => THAT.test(one));
  if (that !== undefined) return that;
  const bare = plain.replace(AROUND, "").replace(NOTED_OF, "").replace(NOTED_AS, "");
  return bare.replace(AROUND, "").replace(TAIL, "").trim();
}
