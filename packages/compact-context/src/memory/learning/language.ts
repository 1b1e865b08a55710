/**
 * Patterns for what a sentence does (asks, forbids, reports, changes), in English, German, French, Spanish,
 * Portuguese, Russian, Chinese and Japanese.
 */

export const any = (...parts: readonly string[]): string => `(?:${parts.join("|")})`;
/** JavaScript's `\b` only knows ASCII. */
export const word = (...parts: readonly string[]): string =>
  `(?<![\\p{L}\\p{N}_])${any(...parts)}(?![\\p{L}\\p{N}_])`;
export const rule = (...parts: readonly string[]): RegExp => new RegExp(any(...parts), "iu");

// ---- words used by several patterns

const NEVER = "never|nie|niemals|jamais|nunca|jamás|никогда";

const FORBIDDEN = "forbidden|verboten|interdit\\p{L}*|prohibid[oa]s?|proibid[oa]s?|запрещен[оаы]?";

/** Something starts to apply. */
export const FROM_NOW_ON: string = any(
  "from now on|going forward",
  "ab (?:jetzt|sofort)|künftig",
  "désormais|dorénavant|à partir de maintenant",
  "a partir de (?:ahora|agora)|de ahora en adelante",
  "(?:de agora|daqui|de hoje) em diante|daqui (?:pra|para a?) frente",
  "с этого (?:дня|момента)|отныне|впредь",
);

/** Asks to keep something in mind, of one person or several, informally or formally. */
export const KEEP_IN_MIND: string = any(
  "remember|note(?: (?:bien|to self))?|memori[sz]e|(?:keep|bear) in mind|(?:don['’]?t|do not) forget",
  "(?:make|take) (?:a )?note(?= that|[:,])|for (?:the )?(?:future|record)(?: reference)?|fyi|just so you know",
  "merk(?:e? dir|t euch|en sie sich)|denk(?:e|t|en sie)? daran|(?:vergiss|vergesst|vergessen sie) nicht",
  "(?:notier|behalt)(?:e?(?: dir)?|e?t(?: euch)?|en sie(?: sich)?)(?=(?: bitte)?,? dass|:)",
  "(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous)(?! (?:de(?! que)|d['’]))|reti(?:ens|enne)|retenez",
  "n['’]oublie[sz]? pas|(?:notez(?: bien)?|mémorise[sz]?|sache[sz]?)(?= que|:)|garde[sz]? (?:en tête|à l['’]esprit)",
  "recuerd[ae]n?|recuérd[ae]n?me(?= que)|acuérd(?:ate|ese|ense)|(?:ten|tengan?) (?:en cuenta|presente)",
  "no (?:[st]e )?olvide[ns]?|(?:anot|apunt)(?:a|e|en|ad)(?= que|:)",
  "(?:lembr|record)(?:a|e|em)(?:-[st]e)?|não (?:[st]e )?esque[çc]a[ms]?|te(?:m|nham?) em (?:conta|mente)",
  "(?:anot|guard)(?:a|e|em)(?: aí)?(?= que|:)",
  "(?:запомни|учти|учитывай|помни|не забудь|не забывай)(?:те)?|име(?:й|йте) в виду|запиши(?:те)?(?=,? что|:)",
  "ricorda(?:ti)?",
);

// ---- acts

/** A request to remember, at the beginning of a sentence. */
export const REMEMBER: RegExp = new RegExp(
  `^(?:please\\s+|and\\s+|also[, ]+|bitte\\s+|por favor,?\\s+|пожалуйста,?\\s+|请)*${any(
    `${KEEP_IN_MIND}(?![\\p{L}]|-\\p{L})(?:[, ]+bitte|\\s+de(?![\\p{L}]))?`,
    "(?:记住|記住|记下|记得|(?:别|不要)忘(?:了|记))",
    "(?:覚えて|メモして|忘れないで)(?:おいて)?(?:ください|下さい|ね)*",
  )}(?:[\\s,:;：，、]+(?:that|this|dass|que|what|что)(?![\\p{L}]))?[\\s,:;：，、]*`,
  "iu",
);

/** The same after a statement, or as a separate sentence about the one before. */
export const REMEMBER_THAT: RegExp =
  /(?:^|[,;，、]\s*)(?:(?:please )?(?:remember|note|keep) (?:that|this|it)(?: in mind)?|merk (?:dir )?(?:das|es)(?: bitte)?|merk dir das|merken sie sich das(?: bitte)?|retiens(?:-le| ça| cela)|recuérdalo|recuerda eso|lembr(?:e-se|a-te) disso|запомни это|请?记住(?:这个|这点)?|覚えて(?:おいて)?(?:ください)?)[.!。！]*$|(?:(?:という)?ことを|(?<=[だたるいんす])(?:と|って))(?:覚えて|メモして|忘れないで)(?:おいて)?(?:ください|下さい|ね)*[.!。！]*$/iu;

/** Something applies from now on, or every time. */
export const LASTING: RegExp = rule(
  word(
    NEVER,
    FORBIDDEN,
    FROM_NOW_ON,
    "always|(?:don['’]?t|do not|not) ever|ever again|in (?:the )?future|every time|(?:before|after) (?:each|every)|whenever|by default|as a rule",
    "without (?:asking|telling|checking with|my)|ohne (?:zu fragen|rückfrage|mein\\p{L}*)|sans (?:me|mon|ma)|sin (?:preguntar\\p{L}*|mi)|sem (?:perguntar|me|minha)|без моего",
    "in general|until further notice|immer|grundsätzlich|toujours|siempre|sempre|всегда|теперь",
  ),
  "总是|永远|绝不|从不|以后|今后|一律|默认|必须|常に|絶対|今後|必ず|これから",
);

/** A choice that was made. */
export const CHOSEN: RegExp = rule(
  word(
    "(?:^|(?<=[,;.:–—-] |so ))(?:we|i)(?:['’]ve| have)? (?:went|gone|opted|settled|landed|ended up) (?:with|for|on)|(?:^|(?<=[,;.:–—-] |so ))we(?:['’]ve| have)? (?:picked|ruled out)|we(?:['’]re| are) going with",
    "let['’]s (?:use|go with|keep(?! (?:going|at|it))|stick|switch)",
    "(?:we|i)(?:['’]ve| have)?(?: also| finally| all)? (?:decided|agreed|chosen|chose|settled|made (?:the|a) decision)|decision:",
    "we(?:['’]ll| will) (?:use|go with|keep)|wir (?:haben (?:uns )?entschieden|nehmen)",
    "on (?:a décidé|prend)|nous avons décidé|(?:hemos decidido|decidimos)|мы решили",
  ),
  "我们决定|决定(?:用|使用)|に決め(?:た|ました)",
);

/** True only for a short time. */
export const TRANSIENT: RegExp = rule(
  word(
    "current(?:ly)?|right now|at the moment|for (?:now|the moment)|in progress|just now|today|tomorrow",
    "yesterday|tonight|(?<!(?:as of|since|from) )this (?:morning|week|time|session|turn|branch|pr|test|error|message|one)",
    "last (?:message|commit|run)|wip|about to|working on|still (?:failing|running|broken|red)",
    "(?:is|are|was) (?:failing|broken|red|stuck)|temporar(?:y|ily)|gerade|heute|momentan|vorübergehend",
    "actuellement|pour l['’]instant|aujourd['’]hui|ahora mismo|por ahora|hoy|por enquanto|hoje|сейчас",
    "сегодня|пока",
  ),
  "目前|今天|正在|暂时|今日|一時的|とりあえず",
);

/** Days on which something was said or done, not when it applies. */
export const SAID_ON: RegExp = rule(
  word(
    "yesterday|(?<=new (?:\\S+ ){0,3})today|this (?:week|month)|(?:as of|since|from|starting) (?:today|tomorrow|this \\w+)|this morning|last (?:night|week|month)|gestern|(?:ab|seit) (?:heute|gestern)(?: \\p{L}+)?|hier|ayer|ontem|вчера|с сегодня",
  ),
  "昨天|昨日|从今天起|今日から|今週から",
);

/** Says that something is no longer so. */
export const NO_MORE: RegExp = rule(
  word(
    "any ?(?:more|longer)|no longer|nicht mehr|kein\\p{L}*(?: .{1,40})? mehr|(?:ne|n['’]).{1,30} plus|ya no|não .{1,30} mais",
    "больше не(?:т)?",
  ),
  "不再|もう.{0,30}(?:ない|ません)",
);

/** Lifts a rule: something forbidden is allowed, or something required is optional. */
export const PERMITS: RegExp = rule(
  word(
    "(?:is|are|it['’]s) (?:now )?(?:fine|ok|okay|allowed|permitted|all right|no longer (?:needed|necessary|required|forbidden))",
    "you (?:may|can) (?:now )?(?!not|need|want|have)\\w+|free to|(?:don['’]t|do not|no longer) (?:need|have) to",
    "no need to|darfst|dürft|kannst|(?:musst|brauchst) (?:du )?(?:\\S+ ){0,6}(?:nicht|nicht mehr)",
    "(?:tu )?(?:peux|pouvez)|(?:pas|plus) besoin de|(?:ya )?puedes|podéis",
    "(?:ya )?no (?:hace falta|tienes que)|(?:já )?pode(?:s|m)?|não precisa(?:s)?(?: mais)?|можно|можешь",
    "(?:больше )?не (?:нужно|надо|обязательно)",
  ),
  "可以|不必|不用(?!说)|て(?:も)?(?:いい|よい|大丈夫|構(?:わない|いません)|かまわない|かまいません)|必要は(?:ない|ありません)|なくて(?:も)?いい",
);

/** For one time only: a permission of this kind lifts no rule. */
export const ONCE: RegExp = rule(
  word(
    "(?:just )?this once|just this time|nur dieses eine mal|ausnahmsweise|(?:s[oó]lo )?por esta vez",
    "cette fois seulement|только в этот раз",
  ),
  "今回だけ(?!で|じゃ)|仅此一次",
);
/** It applies to more than one time after all. */
export const AGAIN: RegExp = rule(
  FROM_NOW_ON,
  word("again|for good|always|wieder|immer|de nouveau|toujours|de nuevo|siempre|снова|всегда|теперь"),
  "以后|今后|从现在|又|再|永|今後|これから|また|ずっと",
);

export const FORBIDS: RegExp = rule(
  word(NEVER, FORBIDDEN, "don['’]t|do not|must not|nicht|ne pas|não|нельзя|не"),
  "不要|不得|别|绝不|从不|禁止|ないで|しない|禁止|てはいけ|やめて(?:ください|下さい|くれ|ね)?(?=[。.!！]*$)",
);

/** Any form of negation. */
export const NEGATED: RegExp = rule(
  word(
    NEVER,
    "not|no|no longer|none|cannot|without|\\p{L}+n['’]t|nicht|kein\\p{L}*|pas|plus|ya no|não|не|нет",
  ),
  "[不没未]|别|ない|ません|ず(?:に)?|않|안 ",
);

/** What somebody did not see or do, which changes nothing. */
export const MISSED: RegExp = rule(
  word(
    "(?:i|we)(?:['’]ve| have)? (?:\\p{L}+ly |just )?(?:missed|forgot(?:ten)?(?! to (?:say|mention|tell))|overlooked|skipped|slept through)",
    "(?:ich habe?|wir haben) .{1,60} (?:verpasst|vergessen|versäumt)|(?:j['’]ai|nous avons|on a) (?:\\p{L}+ment )?(?:raté|manqué|oublié)",
    "me (?:perdí|olvidé)|(?:he|hemos) olvidado|perdi|esqueci(?:-me)?|(?:я|мы) (?:пропустил|забыл)\\p{L}?",
  ),
  "我们?(?:错过|忘)了|(?:見逃し|忘れ)(?:た|てい?た|まし)",
);

/** A state of the past, or what was missed then. */
export const PAST: RegExp = rule(
  MISSED.source,
  word(
    "(?<!(?:am|is|are|be|been|was|were|gets?|got|getting|['’](?:m|re|s)) )used to",
    "(?:was|were|had|lived|worked) (?:(?!after |from |since ).){0,80}?(?:(?:un)?till?|formerly|previously|back then|in the past|before(?=[.!]*$))|(?:formerly|previously|in the past|back then),? (?:\\S+ ){1,4}?(?:was|were|had|lived|worked)",
    "(?:when|while) (?:i|we) (?:was|were|lived|worked|had|studied)|^back in|^as an? (?:student|child|kid|teenager|boy|girl)",
    "(?:war(?:en)?|hatten?|hieß(?:en)?|lief(?:en)?|lag(?:en)?|wohnten?|arbeiteten?|nutzten?) (?:\\S+ ){0,3}?(?:früher|damals|zuvor|vorher|ehemals|bis)|(?:früher|damals) (?:war(?:en)?|hatten?|hieß(?:en)?|lief(?:en)?|lag(?:en)?|wohnten?|arbeiteten?|nutzten?)",
    "(?:étai|avai|habitai|travaillai|utilisi)\\p{L}+ (?:\\S+ ){0,4}?(?:avant|auparavant|autrefois|jusqu\\S+)|(?:avant|autrefois|auparavant),? (?:\\S+ ){0,4}?(?:étai|avai|habitai|travaillai|utilisi)\\p{L}+",
    "(?:era|eran|estaba|vivía|trabajaba|usábamos|ficava|estava|morava|trabalhava|usávamos) (?:\\S+ ){0,4}?(?:antes|hasta|até)|antes,? (?:\\S+ ){0,4}?(?:era|eran|estaba|vivía|trabajaba|usábamos|ficava|estava|morava|trabalhava|usávamos)|sol(?:ía|íamos)|costumav\\p{L}+",
    "раньше (?:\\S+ ){0,4}?(?:был|находил|жил|работал|использовал)\\p{L}*|(?:был|находил|жил|работал|использовал)\\p{L}* (?:\\S+ ){0,4}?раньше",
  ),
  "以前(?=[在是叫用住])|曾经|(?:以前|昔|かつて)は?.{1,30}(?:た|ました)[。.]?$",
);

/** Says that something has changed; `STRONG_CHANGE` is unambiguous. */
export const STRONG_CHANGE: RegExp = rule(
  NO_MORE.source,
  word(
    "instead|corrections?:?|correct that|update:|changed my mind|actually|sorry|scratch that|used to|i was (?:wrong|mistaken)|(?:no|nein|non|não|нет),",
    "(?:upgraded|downgraded|bumped|raised|lowered|increased|decreased|reduced|slipped|retired|deprecated|discontinued|(?:is|are) (?:dead|gone|history)|(?:went|goes) (?:up|down)|(?:went|jumped|fell|climbed|improved|expanded|scaled|grown|doubled|tripled|cut) (?:up |down )?(?:from|to)|rose|grew|shrank)",
    "(?:(?:switch|migrat|mov|transition|pivot)(?:e|ing)? (?:\\S+ ){0,5}?from|(?:switch|migrat|transition)ing (?:\\S+ ){0,5}?to|moved|switched|migrated|changed|renamed|postponed|rescheduled|dropped|replaced|relocated|extended|shortened|brought forward|(?:took|taken) over)",
    "(?:um)?gezogen|umgestellt|verlegt|verlängert|déménagé|migré|mudé|movid[oa]|mudad[oa]|trasladamos|trocad[oa]",
    "slid|shifted|swapped|ripped out|not going back|relicensed|rewritten|rewrote|became|(?:turned|started)(?= \\d)|put (?:\\S+ ){0,4}?(?:up|down) to|(?:is|are|was|were|['’](?:m|re|s)) (?:up|down) to|got (?:moved|pushed|bumped|stolen)|(?:shut|closed|broke) down|moved (?:out|away)|(?:talked|voted) (?:me|us) out of|(?:took|taken|shifted|brought) (?:our|my|the) (?:\\S+ ){1,3}?(?:over )?to|(?:graduated|promoted) (?:from|to)",
    "stattdessen|statt|sondern|korrektur|verschoben|umgestiegen|geändert",
    "gewechselt|ersetzt|getauscht|doch nicht|à la place|au lieu|correction|désolée?|pardon|(?:remplac|échang)ée?s?",
    "(?:a|est|sommes|avons) (?:changé|passée?s?|décalée?|reporté\\p{L}*|déplacé\\p{L}*|déménagé)|décalée?",
    "en (?:lugar|vez) de|corrección|perdón|sino",
    "(?:cambi(?:ó|amos|é|ado)|(?:sustitui|reemplaza)(?:mos|do)|se movió|movimos|migramos|mudamos|(?:aplaz|retras|adelant)ad[oa]|pospuest[oa]|pasamos|pas(?:ó|aron) al?)|(?:foi|ficou|passou|foram|ficaram|passaram) para|em vez de|no lugar de",
    "correção|desculpa|(?:mud(?:ou|amos|ei)|(?:adi|remarc|antecip)ad[oa]|trocamos|substitu(?:ímos|iu|ído))|вместо|исправление|поправка",
    "(?:перешли|перевели|замени(?:л|ла|ли)|перенес\\p{L}{2,4}|сдвинул\\p{L}?|продлили|переехали|изменил\\p{L}{2}|сменили|переехал\\p{L}?)",
  ),
  "不对[，。]|いいえ|違います|改成|改为|改用|改到|换成|换到|搬到|搬去|迁到|重写|移到|推迟|提前到|挪到|代替|更正|纠正|の代わりに|ではなく|じゃなく|訂正|変更|変わり|切り替え|延期|移り|移転|引っ越|移行|置き換え|乗り換え",
);

/** A change that did not happen, or is only considered. */
export const UNCHANGED: RegExp = new RegExp(
  any(
    `${word(
      "(?:never|not|\\p{L}+n['’]t)(?: (?:yet|been|be|being|ever|going to))* (?:switch(?:ed|ing)?|mov(?:e|ed|ing)|migrat(?:e|ed|ing)|chang(?:e|ed|ing)|renamed?|postponed?|rescheduled?|replaced?|replacing|tak(?:e|en|ing) over|took over)",
      "(?:nicht|nie|niemals) (?!mehr|auf|am|um|in|bei)[^,;.]{0,60}?(?:umgestiegen|gewechselt|ersetzt|(?:aus|ein)?getauscht|verschoben|verlegt|umgezogen|geändert|übernommen)",
      "(?:pas|jamais) (?:encore )?(?:été )?(?:passée?s?|remplacée?s?|changée?s?|échangée?s?|déplacée?s?|reportée?s?|décalée?s?|déménagée?s?|migrée?s?)",
      "(?:no|nunca) (?:(?:hemos|he|ha|han|se ha|se) )?(?:cambi|sustitu|reemplaz|movi|muda|migra|aplaz|retras|adelant|traslad|pospu|pasad)\\p{L}*",
      "(?:não|nunca) (?:(?:foi|foram|fomos) )?(?:troc|mud(?:ou|amos|ei|ad)|substitu|adiad|remarcad|antecipad|migr|passou|passamos)\\p{L}*",
      "не (?:пере(?:ш|вел|нес|ех)|замен|смени|поменя|сдвину|изменил|продлил)\\p{L}*",
      "(?:nobody|no one|niemand|personne ne|nadie|ninguém|никто не) (?:has |hat |a |ha )?(?:took|taken|changed|moved|switched|replaced|übernommen|remplac|sustitu|substitu|замен)\\p{L}*",
    )}(?![^.;]*[\\s,](?:but|sondern|sino|mas sim|а)\\s)`,
    "(?:没有?|未|不会|不想|不打算|没打算|不必|不用|考虑|讨论|想过|是否|要不要)(?:要)?[把从].{0,40}?(?:换|改|迁移|切换|替换)(?:到|成|为)了?(?!.*而是)",
    "没有?(?:改|换|搬|移|迁|推迟|提前|挪)(?:成|到|为)?(?!.*而是)",
    "に?は?(?:乗り換え|切り替え|置き換え|変え|(?:変更|移行)し)(?:て(?:は)?(?:い)?)?(?:ない|ません)(?:でした)?",
    "(?:に|を)(?:乗り換え|切り替え|置き換え|変え|変更|移行)(?:る|す(?:る)?)?(?:べき|かどうか|かもしれ|つもりはな)",
  ),
  "giu",
);

const MY =
  "(?:my|our|(?:mein|unser)(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|(?:[oa]s? )?(?:meus?|minhas?|noss[oa]s?)|мо(?:[йяёиюе]|его|ей|их)|наш(?:[аеи]|его|ей|их)?|我的?|私の)";

const RELATIVES = any(
  "sons?|daughters?|kids?|child(?:ren)?|mother|father|mum|mom|dad|brothers?|sisters?|parents?|husband|wife|partner|boyfriend|girlfriend|ex(?:-\\p{L}+)?|friends?|colleagues?|neighbou?rs?|(?:room|flat|house)mate|landlord|(?:step|grand)?(?:mother|father|son|daughter|child)(?:-in-law)?|gran|grandma|grandpa|uncle|aunt|cousin|nephew|niece|client|customer|competitor|rival|supplier",
  "sohn(?:es)?|söhne|töchter|tochter|mutter|vaters?|bruders?|brüder|schwestern?|eltern|mann(?:es)?|frau|freund(?:in|es|s)?|nachbar(?:in|n|s)?|kolleg(?:en?|in)|onkels?|tante|cousine?|oma|opa|neffen?|nichte|vermieter(?:in|s)?|mitbewohner(?:in|s)?",
  "fils|filles?|enfants|mère|père|frères?|sœurs?|soeurs?|mari|femme|amie?|copain|copine|voisine?|collègue|oncle|tante|cousine?|grand-(?:mère|père)|neveu|nièce",
  "hij[oa]s?|madre|padres?|herman[oa]s?|marido|mujer|espos[oa]|novi[oa]|amig[oa]|vecin[oa]|colega|compañer[oa]|t[íi][oa]|prim[oa]|abuel[oa]|sobrin[oa]|filh[oa]s?|mãe|pais?|irmãos?|irmãs?|mulher|namorad[oa]|vizinh[oa]|av[óô]|sobrinh[oa]",
  "сын(?:а|у)?|доч(?:ь|ери|ка|ки)|мат(?:ь|ери)|мам[аые]|отец|отц[ау]|пап[аые]|брат[ау]?|сестр[аые]|муж[ау]?|жен[аые]|друг[ау]?|подруг[аие]|сосед(?:а|у|ка|ки|ке)?|коллег[аие]|дяд[яи]|т[её]т[яи]|бабушк[аие]|дедушк[аие]|родител(?:и|ей)",
);

/** Somebody else whom a statement is of, as its subject or as the owner of it: what they changed is theirs. */
export const OTHERS: RegExp = new RegExp(
  any(
    `(?<=^(?:|(?:(?:the|el|la|los|las|les?|[oa]s?|d(?:er|ie|as)) |l['’])(?:\\p{L}+ ){1,2}?(?:(?:of|von|de) |d(?=[oa]s? )|(?=mein|unser))|(?!(?:я|мы) )(?:\\p{L}+ ){1,2}(?=мо|наш)))${MY} ?(?:\\p{L}+ )?${RELATIVES}(?![\\p{L}])(?! (?:and|und|et|y|e|и) (?:i|me|ich|moi|yo|eu|я)(?![\\p{L}]))`,
    "^(?:私の|うちの)?元?(?:父|母|兄|弟|姉|妹|夫|妻|娘|息子|友人|友達|同僚|隣人|彼氏|彼女)(?:さん)?(?=[はがのも])",
    "^我们?的?(?:爸|妈|父亲|母亲|哥|姐|弟|妹|儿子|女儿|丈夫|妻子|老公|老婆|男朋友|女朋友|朋友|同事|邻居|室友)(?!.{0,2}[和跟]我)",
    "^(?:(?:a|the) (?:friend|client|customer|competitor|rival|supplier|neighbou?r(?:ing \\p{L}+)?|other \\p{L}+)s?(?:['’]s?(?: \\p{L}+)?)?|(?:die|das|der) \\p{L}+ (?:sein|ihr)e[srm] \\p{L}+|(?:das|die|der) (?:ander|benachbart)\\p{L}+ \\p{L}+|(?:das|die|der) \\p{L}+ nebenan|l['’]\\p{L}+ (?:voisine?|d['’]à côté)|l['’]autre \\p{L}+|(?:el|la) otr[oa] \\p{L}+|[ao] outr[oa] \\p{L}+|соседн\\p{L}+ \\p{L}+|друг\\p{L}+ \\p{L}+)(?=\\s)",
  ),
  "iu",
);

/** A person of the speaker's as the subject of a statement: not meant if the user speaks of their own data. */
export const KIN: RegExp = new RegExp(
  `^${MY}\\s?(?:\\p{L}+\\s)?(?:${RELATIVES}|boss|doctor|dentist|therapist|lawyer|solicitor|accountant|teacher|nanny|babysitter|cleaner|coach|tutor|trainer|cat|dog|chefin|chef|jef[ea])(?![\\p{L}])`,
  "iu",
);

export const WEAK_CHANGE: RegExp = rule(
  word(
    FROM_NOW_ON,
    "now|as of|these days|nowadays|the new|the latest|new (?=(?:\\S+ ){0,3}\\S+[:：])|jetzt|inzwischen|maintenant|ahora|agora|теперь",
  ),
  "现在|以后|今后|今は|今では|今後|これから(?:は)?",
);

/** Words before a statement that are not part of it. */
export const LEAD: RegExp =
  /^(?:(?:(?:moment|falsch|quatsch|errei|enganei-me|ой|ошибся|ошиблась|не так)(?=[,:])|and|so|also|well|before (?:we|i|you) (?:start|begin|go on)|one (?:more |last )?thing|wait(?: no)?|no wait|lol|haha|hey|oye|i (?:told you|got (?:that|it)) wrong|corrigindo|me equivoqué(?: antes)?|quise decir que|yeah|ah|ugh|oh|hm+|argh|guess what|bad news|good news|yes|nope?(?=,)|ok(?:ay)?|by the way|btw|fyi|my bad|(?:quick |small )?heads[- ]up|turns out(?: that)?|typo(?: earlier| yesterday| there)?|(?:(?:big|great|good|bad|sad|quick|exciting|small|huge) )?(?:news|update|decision|change|announcement|upgrade)(?=\s?[—–:-])|i (?:should|forgot to|want to|wanted to|must)(?: also)? (?:mention|add|say|note)(?: that)?|i(?:['’]d| would) like to (?:mention|add)(?: that)?|it['’]?s official|i made a (?:big )?decision|for context|just so you know|just heard(?: from \S+)?(?: that)?|usually|normally|these days|nowadays|as of (?:today|now|(?:this|last|next) \w+|\w+ \d+)|since (?:last |this |the )?(?!when)\w+|from now on|now|sorry|actually|(?:small |quick )?(?:correction|update)|correct that|scratch that|change of plans?|(?:on )?second thoughts?|after all|i misspoke(?: yesterday| earlier)?|my mistake|i changed my mind|na verdade|erro meu|erreur de ma part|(?:no|nein|non|não|нет)(?=,)|eigentlich|tatsächlich|en fait|en réalité|en realidad|na realidade|на самом деле|вообще-то|übrigens|ab jetzt|ab sofort|jetzt|inzwischen|korrektur|au fait|désormais|finalement|au final|maintenant|désolée?|pardon|por cierto|ahora|a partir de (?:ahora|agora)|corrección|aliás|agora|correção|кстати|теперь|отныне|исправление|顺便说一下|(?:刚才|我|昨天)?说错了|对了|更正|现在|以后|今は|今後は?|訂正|すみません|ちなみに|不对|いいえ|いや|違います|実は)(?![\p{L}\p{Script=Latin}])[\s,.:：，、–—-]*|(?:现在|更正|其实|今は|すみません|実は|訂正(?:です)?)[：，、。]?\s*)+/iu;

/** Any word of a change or a corrected mistake; it does not tell what changed. */
export const TELLS_CHANGE: RegExp = rule(
  STRONG_CHANGE.source,
  WEAK_CHANGE.source,
  word(
    "(?:^|(?<=[,;.!–—-] ))so(?= (?:the|our|my|we|i|it['’]s|(?:\\p{L}+ ){1,3}?(?:is|are)) )|(?:after|thanks to|since|with) the (?:new |\\S+ )?(?:work|upgrade|migration|move|renovation|refactor\\p{L}*|relaunch|rebrand|merger|acquisition|hires?|job)|(?:stretch|push|raise|lower|cut|extend)(?:ed)? (?:\\S+ ){1,4}?to(?= [\\d$€£])|(?:died|stolen|expired|quit|left|sold|bought|picked up|passed)|over the weekend|started (?:at|as)|all the way",
    "misspoke|mistakes?|mistaken|typo|turns out|should read|make that|after all|(?:on )?second thoughts?|out of date|outdated|lifted|again|no more|(?:scratch|ignore|disregard|never mind) (?:what|the)",
    "wrong|mixed up|upped|joined|ended|removed|stopped|too (?:strict|pricey|expensive|slow|short|long)|turned out|starting|since|from here on|swapped|nope|renewed|abandoned|voted|new|new home|pushed|pulled out|gone|gets? rid of|got rid of|is all|cut|in the end|i go by|decommissioned|sunset|phased out|superseded|swapped|became|has become|finally|isn['’]t|used to",
    "eigentlich|tatsächlich|en (?:fait|réalité|realidad)|na realidade|на самом деле|вообще-то",
    "(?:falsch|quatsch|errei|enganei-me)(?=[,:])|umzug|raus|aufgehört|vertan|geirrt|doch|gegangen|weg|abgeschafft|nun|neu(?:e[rsn]?)?|seit (?:heute|gestern|dieser|letzter)|aufgehoben|wieder|abgelöst|ersetzt",
    "quitté\\p{L}*|parti(?= à)|depuis|finalement|erreur|maintenant|trompée?|remplac\\p{L}+|de nouveau|nouve(?:au|lle)",
    "terminamos a migração|actualización|lo pensé mejor|desde|subimos|bajamos|quedó|aplaz\\p{L}+|equivoqu\\p{L}+|nuev[oa]|vuelve|volver|lo pasamos|al final",
    "abandonamos|transferid[oa]|na verdade|virou|foi parar|nov[oa]|voltar|enganei|erro meu|no fim|cancelamos",
    "не вышло|правильно|отказал\\p{L}+|всё-таки|ошиб\\p{L}+|уволи\\p{L}+|снят\\p{L}?|снова|друг\\p{L}{2}|нов\\p{L}{2}|поменял\\p{L}+",
  ),
  "->|→|=>|全部改|换成|又可以|来不及|其实|说错|搞错|弄错|取消|换了|入れ替え|代わ|すみません|また|なくな|実は|間違|新しい",
);

/** Words of another person, reported. */
export const REPORTED: RegExp = rule(
  "(?<![\\p{L}])(?<!(?:^|[\\s,])(?:i|we)(?:['’]ve| have| just| already)? )(?:says?|said|wrote|writes|told(?! you)|claims?|claimed|thinks|believes|insists?|suggests|suggested|proposes|recommends|wants|demands|demanded|requested|asked (?:me|us)|states|reads)(?![\\p{L}])",
  word("according to"),
  word(
    "(?<!ich )(?<!wir )(?:sagt(?:e)?|meint(?:e)?|schreibt|schrieb|behauptet|findet,? dass)|laut",
    "(?<!je )(?<!j['’]ai )(?:dit|écrit|affirme|pense) qu[e'’]|selon|d['’]après",
    "(?:dice|dijo|escribe|escribió|cree|afirma) que|según|(?:diz|disse|escreveu|acha|afirma) que",
    "segundo (?:o|a)|(?:говорит|сказал\\p{L}?|пишет|написал\\p{L}?|считает|утверждает)|по словам",
  ),
  "(?<!我)(?<!我们)(?:说|表示|认为|写道|建议)(?!过)|根据.{1,10}[说的]|によると|と(?:言って|言いました|書いて|述べて)",
);

/** It was a joke. */
export const JOKE: RegExp = rule(
  word(
    "(?:just|only|was|am|i['’]m|we['’]re) (?:kidding|joking)|(?:is|was|it['’]s) (?:just |only )?a joke|jk",
    "(?:nur|bloß|war|kleiner) (?:ein |als )?(?:scherz|spaß|witz)|(?:je|on) (?:plaisant(?:e|ais)|rigol(?:e|ais))|une blague|pour rire",
    "(?:es|era|en) (?:una )?broma|bromea(?:ba|ndo)|brincadeira|brincando|шучу|шутка|пошутил\\p{L}?",
  ),
  "开玩笑|冗談|ジョーク",
);

/** Denies that it was said, is true or was meant. */
export const DENIED: RegExp = rule(
  JOKE.source,
  word(
    "(?:never|didn['’]t|did not|haven['’]t|have not) (?:said|say|told|tell|asked|ask|meant|mean|wanted)|not (?:saying|claiming|suggesting)",
    "(?:sage|behaupte|meine) (?:ja )?nicht|ne (?:dis|prétends) pas|no (?:digo|estoy diciendo)|não (?:digo|estou dizendo)|не (?:говорю|утверждаю)",
    "(?:not|isn['’]t) true|it is (?:wrong|false) that|(?:nie|nicht) (?:gesagt|behauptet|gemeint)",
    "stimmt nicht, dass|(?:jamais|pas) dit|(?:nunca|no) (?:dije|he dicho)|(?:nunca|não) (?:disse|falei)",
    "(?:никогда )?не говорил\\p{L}?",
  ),
  "(?:没有?|不是|从来没)(?:说|讲)过?|言って(?:い)?(?:ない|ません)|言った覚えは",
);

/** A hypothesis. */
export const SUPPOSED: RegExp = rule(
  "^(?:and |but |so |now |ok,? )?(?:if|falls|wenn|si|se|если|如果|もし)(?![\\p{L}])(?!\\s+(?:you|du|ihr|tu|vous|usted|você|ты|вы))|^(?:如果|もし)",
  word(
    "suppos(?:e|ing)|imagin(?:e|ing)|assum(?:e|ing)|pretend|what if|let['’]s say|say (?:we|i|you)",
    "in (?:the|my|this|a) (?:novel|story|game|movie|film|book|scenario|dream|example|play)|speaking as|role-?play\\p{L}*",
    "im (?:roman|spiel|film)|dans (?:le roman|le film|l['’]histoire)|en la (?:novela|película)|no (?:romance|filme)|в (?:романе|фильме)",
    "hypothetically|in theory|for (?:example|instance)|maybe|perhaps|might|not sure",
    "(?:we|i|you) (?:could|would(?! (?:like|prefer|rather)))|angenommen|stell dir vor|vielleicht",
    "zum beispiel|könnten|supposons|imagine(?:z|ons)?|peut-être|par exemple|supongamos|imagina|quizás?",
    "tal vez|por (?:ejemplo|exemplo)|suponha(?:mos)?|imagine|talvez|предположим|допустим|представь",
    "возможно|может быть|например",
  ),
  "假设|假如|小说里|故事里|小説で|物語で|也许|可能|例如|比如|想象|仮に|たとえば|例えば|かもしれ",
);

/** Asks not to store what is said. */
export const NOT_TO_KEEP: RegExp = rule(
  word(
    "(?:don['’]?t|do not|never) (?:remember|memori[sz]e)",
    "(?:don['’]?t|do not) (?:save|store|note|keep|record|learn|write) (?:this|that|it|what|any of this|down)",
    "never (?:write|note) (?:(?:this|that|it) down|down that (?:i|we|my|our))",
    "off the record|not for (?:your|the) memory|(?:just|only|strictly) between us",
    "(?:keep|leave) (?:this|that|it) out of (?:your |the )?memory",
    "(?:just|only) for this (?:conversation|chat|session)|merk(?:e? dir|t euch|en sie sich) (?:das |dies |es )?(?:bitte )?nicht",
    "nicht (?:merken|speichern)|unter uns|entre nous",
    "ne (?:(?:te |vous )?souv(?:iens|enez)|reti?en(?:s|ez)|mémorise[sz]?|note[sz]?) pas|n['’]enregistre[sz]? pas",
    "no (?:[st]e )?(?:recuerd|guard|memoric|anot|acuerd)e[ns]?|entre nosotros",
    "não (?:[st]e )?(?:guard|memoriz|lembr|anot|grav)e[ms]?|entre nós",
    "не (?:запоминай|сохраняй|записывай)(?:те)?|между нами",
  ),
  "(?:不要|别|不用)(?:记|保存|记住)|覚えないで|記憶しないで|保存しないで|ここだけの話",
);

/** Asks to process a text, at the beginning of a sentence. */
export const TASK: RegExp = new RegExp(
  `^(?:please |can you |could you |bitte |kannst du |s['’]il te plaît,? |por favor,? |пожалуйста,? |请|帮我)*${any(
    "(?:summari[sz]e|translate|write|add|create|draft|compose|generate|insert|put|reply|respond|review|fix|rewrite|proofread|correct|print|echo|read|check|explain|look at|tell (?:him|her|them|\\p{Lu}\\p{L}+)|send|paste|commit|convert|format)(?![\\p{L}])",
    "(?:fass|übersetze?|schreibe?|füge?|erstelle?|antworte (?:ihm|ihr|ihnen)|prüfe?|korrigiere?|lies)(?![\\p{L}])",
    "(?:résume|traduis|écris|ajoute|rédige|réponds-(?:lui|leur)|corrige|relis)(?![\\p{L}])",
    "(?:resume|traduce|escribe|añade|redacta|respóndele|corrige|revisa)(?![\\p{L}])",
    "(?:resuma|traduza|escreva|adicione|redija|responda-lhe|corrija|revise)(?![\\p{L}])",
    "(?:переведи|напиши|добавь|составь|исправь|проверь|перескажи|подведи)(?![\\p{L}])",
    "总结|翻译|写|添加|起草|检查|修改(?!.{0,20}文件)|この.{0,12}を(?:要約|翻訳|確認|修正)",
  )}`,
  "iu",
);

/** Labels before one's own statement, unlike the speaker names before what others say. */
export const LABEL: RegExp =
  /^(?:remember|note|nb|ps|fyi|btw|by the way|quick note|heads up|also|falsch|quatsch|errei|enganei-me|ошибся|ошиблась|übrigens|au fait|à propos|por cierto|a propósito|aliás|кстати|对了|ちなみに|correction|corection|decision|rule|update|merke?(?: dir)?|korrektur|regel|entscheidung|correction|règle|corrección|regla|recuerda|correção|regra|lembre-se|исправление|правило|запомни|поправка|更正|纠正|请?记住|決定|决定|訂正|覚えて(?:おいて)?|.{0,40}(?:budget|deadline|port|name|key|password|card|code|number|address|host|url|version|branch|channel|limit))$/iu;

/** Refers to what was just said. */
export const THAT: RegExp =
  /^(?:(?:that|this|it|what i (?:just )?said)|was ich (?:gerade |eben |dir )*(?:gesagt|erzählt) habe|ce que je (?:viens de (?:te )?dire|t['’]ai dit)|lo que (?:(?:te )?(?:acabo de decir(?:te)?|dije|he dicho))|o que (?:eu )?(?:(?:te )?(?:acabei de (?:te )?dizer|disse|falei))|(?:то,? )?что я (?:только что |тебе )*сказал\p{L}?|我?刚才?说的话?|今(?:言った|話した)(?:こと)?|das|dies|es|ça|cela|ceci|eso|esto|isso|isto|это|этом|它|这个|这件事|这些|それ|これ|このこと|今の)(?:\s+(?:again|wieder|bitte|please|from (?:your |the )?memory|aus deinem gedächtnis|de ta mémoire|de tu memoria|da (?:tua |sua )?memória))*[.!。！]*$/iu;
