// Orders and wishes to lose something, in nine languages: where they stand in a sentence, and what they are about.

export const END = "(?![\\p{L}])";
export const any = (...sources: readonly string[]): string => `(?:${sources.join("|")})`;

/** What may stand before a request: courtesy, and words that go from one matter to another. */
export const LEAD: RegExp = new RegExp(
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

/** Where a clause begins that may ask for it; German and Romance orders may stand behind their object without a mark. */
const CLAUSE = new RegExp(
  `[:;,.?!–—]\\s+|\\s-\\s|，|\\s(?:and|so|but|und|et|y|e|и)\\s|(?<!(?:^|[\\s,])(?:не|no|não|nicht|never|not|don['’]?t))\\s(?=${any(
    "you (?:can|may)|please|pls",
    "(?:kannst|könntest|darfst|sollst|brauchst|musst) du|bitte|vergiss|lösch|streich",
    "tu peux|oublie|(?:ya )?puedes|olv[ií]da|b[oó]rra|(?:você |vc )?pode|esque[cç]|apag|забудь|удали|сотри",
  )})`,
  "giu",
);

/** What memories do with a matter, as `don't …`, `you need not …` and the like forbid it. */
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

/** What kind of order it is: `forget` is said of a memory and nothing else, `keep` mostly, `take` of anything. */
export type OrderKind = "forget" | "keep" | "take";

/** What is to be lost follows where no `object` is marked. */
const ORDERS: readonly (readonly [OrderKind, RegExp])[] = Object.entries({
  forget: [
    `(?:forget|un-?learn|dis-?remember|un-?remember|un-?know)(?! (?:to|how)${END})${END}`,
    `(?:${NOT_YOU} (?:ever |even )?|not )know(?:ing)?${END}(?! (?:why|how|if|whether)${END})`,
    `${NOT} (?:ever |even )?${KNOW}${END}(?! (?:to|why|how (?!i)|if|whether|exactly|the exact)${END})`,
    `${IF_YOU} forg[eo]t${END}`,
    `i (?:really )?(?:(?:shouldn['’]?t|should not|should never|never should)(?: have|['’]ve)|(?:regret|wish i (?:hadn['’]t|had not|had never|never)))(?: ever)? (?:told|tell|telling|shared?|sharing|said|saying|mention(?:ed|ing)?)(?: you)?${END}`,
    `(?:vergiss|vergesst|vergessen sie)${END}(?! (?:bitte |mir |ja )*nicht${END})`,
    `(?:l['’]|les? |la )?oublie[rsz]?(?:-(?:le|la|les|moi))?${END}(?! pas${END})`,
    `(?:olvida(?:te|r)?|olvída(?:te|l[oa]s?)|olvidarl[oa]s?|olvides?)(?: de)?${END}`,
    `(?:esqueça|esquece|esquecer|esqueçam)(?:-[oa]s?)?(?: de)?${END}`,
    `(?:забудь(?:те)?|забыть)${END}`,
    `(?:dimentica|scorda(?:ti)?)(?: di)?${END}`,
    "(?:忘记|忘掉|忘了)",
    `(?:ich (?:will|möchte) nicht(?: mehr)?,? dass du|(?:du )?(?:musst|brauchst|sollst)(?: du)?) (?:dir )?(?<object>.*?)(?:^| )?(?:nicht(?: mehr| länger)?)?(?: zu)? ?(?:merken|wissen|behalten|speichern|erinnern|erwähnen|weißt|behältst|merkst|speicherst|erwähnst|kennst|(?:gespeichert|gemerkt) hast)${END}`,
    `merke? dir (?<object>.+?) nicht (?:mehr|länger)${END}`,
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
    `(?:borr[ae]|elimin[ae]|quit[ae]|suprim[ea])[rs]?(?:l[oa]s?)?${END}|(?:bórra|elimína|quíta)l[oa]s?${END}`,
    `(?:apague|apaga|apagar|remov[ea]r?|tir[ea]r?|exclu[ai]|deleta?|elimin[ea])(?:-[oa]s?)?${END}`,
    `(?:удали(?:ть|те)?|убери(?:те)?|сотри(?:те)?|стереть|вычеркни|выкинь)${END}`,
    `(?:cancella|elimina|togli|rimuovi)${END}`,
    "(?:删除|删掉|清除|去掉|抹掉)",
  ],
} satisfies Record<OrderKind, readonly string[]>).flatMap(([kind, forms]) =>
  forms.map((form) => [kind as OrderKind, new RegExp(`^(?:${form})`, "iu")] as const),
);

/** German infinitives at the end, behind `kannst du` or `bitte`; Chinese and Japanese orders stand there too. */
const LAST: readonly (readonly [OrderKind, RegExp])[] = [
  [
    "forget",
    /^(?<object>.*?)(?:\s|^)(?:(?:wieder|bitte|ruhig|auch|einfach) )*(?:vergessen|vergisst)[.!?]*$/iu,
  ],
  [
    "take",
    /^(?<object>.*?)(?:\s|^)(?:(?:wieder|bitte|ruhig|auch|einfach) )*(?:löschen|löschst|entfernen|entfernst|streichen|tilgen|rausnehmen|wegwerfen)[.!?]*$/iu,
  ],
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
    /^(?<object>.+?)(?:のこと)?(?:を|は|も)?(?:消去して|消して|削除して)(?:おいて)?(?:ください|くれ|ほしい)?[。.!！]*$/u,
  ],
];

/** An order or a wish in a sentence. */
export interface Order {
  readonly kind: OrderKind;
  /** Where it begins in the sentence, and where its own words end. */
  readonly at: number;
  readonly end: number;
  readonly before: string;
  readonly object: string;
  /** The words of the order itself. */
  readonly verb: string;
}

/** A longer sentence is a text or data, and asks for nothing. */
const LONGEST = 500;

/** The orders of a sentence, clause by clause. */
export function ordersIn(sentence: string): Order[] {
  if (sentence.length > LONGEST) return [];
  const starts = [0, ...[...sentence.matchAll(CLAUSE)].map(({ index, 0: mark }) => index + mark.length)];
  return starts.flatMap((at): Order[] => {
    const rest = sentence.slice(at);
    const lead = LEAD.exec(rest)?.[0] ?? "";
    const plain = rest.slice(lead.length);
    const known = [...ORDERS, ...(/\p{L}/u.test(lead) ? LAST : []), ...(at === 0 ? BEHIND : [])];
    return known.flatMap(([kind, form]): Order[] => {
      const found = form.exec(plain);
      if (found === null) return [];
      const behind = plain.slice(found[0].length);
      const inside = found.groups?.object;
      const end = at + lead.length + (inside === undefined ? found[0].length : 0);
      const object = `${inside ?? ""} ${behind}`.trim();
      return [{ kind, at, end, before: sentence.slice(0, at), object, verb: found[0] }];
    });
  });
}
