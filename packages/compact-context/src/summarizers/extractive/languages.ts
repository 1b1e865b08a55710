type Pattern = Pick<RegExp, "test">;

/** How sentences of a language express lasting rules and decisions. Matched in lower case. */
export interface Language {
  /** Forbids, demands, limits or prefers, beyond the step at hand. */
  readonly rule: Pattern;
  /** Describes the past, possibilities or others' opinions: never a rule. */
  readonly aside: Pattern;
  /** Describes how a program behaves or should behave. */
  readonly product: Pattern;
  /** Settles a choice between alternatives. */
  readonly decision: Pattern;
}

interface Latin extends Language {
  /** Words almost unique to this language. */
  readonly tells: ReadonlySet<string>;
}

interface OwnScript extends Language {
  /** Characters almost unique to this language. */
  readonly tells: RegExp;
}

const listed = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** V8 compiles a pattern whose first text is so long at once, else twice: first to bytecode, which takes five times as long. */
const LONG = " ".repeat(1000);

/** Made when it is first used: a session has few of the languages. */
function words(...alternatives: readonly string[]): Pattern {
  const source = `(?<![\\p{L}\\p{N}_'’-])(?:${alternatives.join("|")})(?:(?<=\\s)|(?![\\p{L}\\p{N}_]))`;
  let pattern: RegExp | undefined;
  return {
    test: (text) => {
      if (pattern === undefined) {
        pattern = new RegExp(source, "u");
        pattern.test(LONG);
      }
      return pattern.test(text);
    },
  };
}

/** Start of a clause, where an imperative stands. */
const clause = (openers: string, then: string): string =>
  `(?:^|(?<=[,;:.!(]\\s{0,2})|(?<=(?<![\\p{L}])(?:${openers}),?\\s))(?:${then})`;

const EN_OPEN =
  "and|but|so|btw|though|please|then|also|just|only|ok|okay|yes|no|again|you|we|always|let['’]s|first|in general";

// What people name when they tell how their program behaves or is to behave: a sentence about it is no rule of work.
const EN_PRODUCT =
  "users?|admins?|customers?|visitors?|players?|moderators?|guests?|buttons?|dialogs?|modals?|menus?|check ?box(?:es)?|drop ?downs?|rows?|cells?|pages?|screens?|icons?|tooltips?|banners?|pop-?ups?|cards?|requests?|responses?|orders?|events?|sessions?|tokens?|schedulers?|importers?|exporters?|parsers?|servers?|clients?|workers?|retr(?:y|ies)|caches?|queues?|jobs?|images?|fields?|forms?|inputs?|charts?|linter|sensors?|tenants?|ids?|timers?|spinners?|sidebars?|columns?|lists?";

const EN: Latin = {
  tells: listed(
    "the a an as if will has have any all can at by or but so they me is are and of with you your this that it to be for not we i from was when please should don't dont what do my in on never always no only use must",
  ),
  rule: words(
    clause(
      EN_OPEN,
      [
        "never(?! mind| thought| knew| saw| had| was| heard| been| across| forget (?!to\\b))",
        "always(?! (?:the|been|locally|\\w+[^\\Ws]s)\\b)",
        "(?:do not|don['’]?t)(?! worry| know| think| see| understand| mind| have| get| believe| care| remember| need| like| do anything| do that)",
        "avoid(?! the )|refrain from|stop (?!and )\\w+ing|stop after (?:all|each|every|the)|stick (?:to|with)|skip the|prefer(?:ably)?|let['’]?s (?:not|never|avoid|stick)",
        "no (?:\\w+ )?(?:changes?|new|other|third|external|force|inline|mocks?|globals?|emojis?|comments?|abbreviations|dependenc\\w+|\\w+ing|more|bullets?|tables?|console|logs?|direct|raw|hard-?coded|default|magic|any|batch\\w*|single|\\w+s(?=$|[.,;:!)…]| (?:in|at|on|to|for|from|please|pls|unless|without|anywhere|ever|and|or|of|under|than|outside|by|via|here|allowed)\\b))(?! (?:with|in sight|so far|yet|(?:is|are|was|were|has|have|\\w+ed|found|left)\\b))",
        "nothing (?:in|but|else|that|on|under|outside)|hands off|leave \\S.{0,80} (?:alone|as (?:is|it is|they are)|untouched|unchanged|intact)",
        "keep \\S.{0,80}(?:out of|untouched|unchanged|intact|as (?:is|it is|they are)|in sync|separate|compatible|short|small|brief|minimal|under|below|within|to \\d)",
        "only (?:use|commit|push|touch|edit|change|modify|respond|reply|answer|write|add|run|work|ever|\\w+ when|the \\w+ in)",
        "(?:use|write|reply|respond|answer|prefix|end|begin|start|include|treat|run|put|ask|stop|commit|report)\\b.{0,90}(?:only\\b|\\b(?:instead of|rather than|not |everywhere|throughout|by default|(?:every|each|all (?:your|the|other|of)|any)\\b|as (?:an? )?(?:error|english|read|frozen|final|given)|whenever|when (?:you|we|i)))",
        "(?:reply|respond|answer|speak|write|talk)(?: to me)?(?: only)? in \\w+|(?:speak|talk|write) \\w+ (?:with|to) me",
        "(?:be|stay) (?:concise|brief|terse|explicit|careful (?:not|to|with)|conservative)|remember (?:to|that)|make it a habit|work (?:through|on) .{1,60}(?:in order|one (?:by|at)|step by step)",
        "(?:make sure|be sure|ensure|see to it)(?: that)?(?: \\S+){0,4} (?:always|never|not|no|every|each|all|keeps?|stays?|remains?|only)",
      ].join("|"),
    ),
    clause(
      EN_OPEN,
      "(?!the |this |these |those |its? |tests? |there |whether |if |when |that |how |what |why |i |which )(?:[\\w-]+ ){0,2}[\\w-]*[a-z]s should(?! (?:be )?(?:now|fixed|pass|work|fine|have))",
    ),
    "(?<!(?:it|that|this|there) )must(?:n['’]?t)?(?! have (?:been|\\w+ed|gone|done|seen|lost|got)| be nice|['’]ve| \\d| be (?:some|a |an |because|the ))",
    // Every and any, and plurals without an article, refer to future work; `the` refers to what is here.
    "(?:all|every|each|any|no(?! longer)|our|your|public)(?: [\\w./`'’-]+){1,6}? (?:should|shall|needs?|has to|have to|may not|can(?:no|['’])t|requires?|gets?|goes?|stays?|go|get|stay|(?<=(?:all|every|each|any|no)\\b.{0,120})(?:is|are))(?! (?:done|fixed|working|fine|passing|green|already|now|set|good|complete\\w*))",
    "(?:should|shall|may|will|needs? to|ha(?:s|ve) to|is|are) (?:never|always|only|not (?:allowed|acceptable|negotiable|ok(?:ay)?|permitted|in scope))(?! once| called)",
    "from (?:now|here|this point) on|going forward|until further notice|until i say|at all times|as a (?:general |standing )?(?:rule|policy)|for future reference|without exception|no exceptions|for the (?:rest|remainder) of|in future|as long as (?:i|we)|in the future|from this point|for all future|(?:here|today|now) and (?:later|in (?:the )?future)|across the (?:whole|entire)|for (?:every|any|each) \\w+,",
    "(?:every|each|any) time(?= you| we|,)|when you(?:['’]?re| are) (?:unsure|not sure|stuck|in doubt)|whenever (?!i\\b|a |an |the |someone|it |they |he |she |\\w+s )|when(?:ever)? in doubt|wherever possible|whatever you do|(?:after|before|at the end of|^(?:for|in|on)|(?<=[,:;(] )(?:for|in|on)) (?:every|each|any)|(?:before|after) you (?:\\w+ )?(?:commit|push|answer|reply|change|publish|merge)",
    "(?:ask|tell|warn|check with|consult|notify|stop)(?: \\w+){0,2} (?:first|before)|without (?:asking|telling|my|an?|explicit|consulting|checking)|needs? (?:\\w+['’]?s? ){0,3}(?:approval|sign-?off|consent|permission)(?: first)?|let me know before|wait for my",
    "off[- ]limits|forbidden|prohibited|banned|taboo|(?:is|are|stays?|remains?) (?:frozen|read-only|untouched|mandatory|reserved)|not (?:allowed|acceptable|negotiable|mergeable)|unacceptable|out of scope|feature freeze|code freeze|keep out|nowhere else|and nothing else|(?:we|you)['’]?re not (?:allowed|supposed)",
    "(?:at most|no (?:more|longer|larger|fewer) than|max(?:imum)?\\.?(?: of)?|not more than|up to|fewer than|less than|limit(?:ed)? to|stay(?:s|ed)? (?:under|below|within|at|on|free)) (?:\\d|one|two|three|five|ten|[a-z]+ )",
    "i(?:['’]?d| would) (?:rather|prefer|appreciate|like (?:you|every|all|to keep|to use|to avoid))|i (?:never|don['’]?t|do not) (?:ever )?want(?! to know| to see what)|i (?:don['’]?t|do not) like (?:it )?when|i (?:always|only) want|(?:i|we) (?:strongly |really )?prefer|i insist|i expect (?:every|all|you)|would be (?:nice|good|great) (?:if you|to avoid)(?! c)",
    "we (?:only|always|never|don['’]?t|do not|no longer(?! need)) (?!know|think|have|see|understand|get|got|remember|want to know|need to)\\w+|(?:can|could|shall) we (?:please |just )?(?:always|only|never|avoid|not|stick|keep)",
    "(?:use|run|write|import|install|commit|format|indent)\\b.{1,60}(?:\\bhere\\b|\\bin (?:this|our) (?:repo|project|codebase|package|house|code base))",
    clause(
      EN_OPEN,
      "(?:commit messages?|pr titles?|branch names?|docstrings?|comments|answers|replies|variable names?|identifiers|file names?) (?:in|start|begin|end|stay|go|come)",
    ),
    "(?:(?:whatever|everything|anything) |(?:any|every|each|all) (?:\\w+ ){1,4})(?:that )?you (?:write|do|add|change|build|touch|run|make|put|create|edit|open|send)|(?:through|past|by) me first|goes? through me|(?:is|are) (?:mine to|for me only|my job)|house style|in this (?:project|repo|codebase) (?:get|have|use|go|are|stay)|my preference is|that['’]s how we (?:work|do)|nothing (?:gets|goes) (?:merged|pushed|shipped|deployed|in\\b)|you should(?:n['’]?t| not| never| always)|not (?:ok|okay|fine|acceptable) (?:to|if)|leave (?:the )?\\w+ to (?!you|them|it)\\w+|i want (?:to see )?(?:an?|the|tests?|every|each)\\b.{1,60}\\b(?:before you|alongside|with|for) (?:each|every|any|write|start|commit|push|change)|(?:an? \\w+|one) per (?:file|ticket|task|change|feature|issue|commit|pr)|one (?:commit|pr|test|file|class|component|change|branch|migration|feature|topic|function|module) (?:per|for each)|(?:stays?|remains?|keep it) (?:\\S+ ){0,3}compatible|no (?:\\w+ ){1,2}(?:on|in) (?:this|our) (?:box|machine|server|repo|project|codebase|house)|(?:can|could|would) you (?:please |pls )?(?:always|never|only|stop|not)",
    clause(
      EN_OPEN,
      "(?!that|this|it|read|write|view|local|admin|(?:simplifi|limit|restrict|reduc|scop|us|call|test)ed )(?:[\\w-]+ ){1,3}only(?: please| pls)?(?=[.!]?$)",
    ),
    "counts? as|instead of (?:guessing|assuming|\\w+ing new)|(?:not|never),? (?:ever|even)|(?:this|here) is (?:an?|the|my) (?:\\w+ )?(?:constraint|rule|requirement|convention|policy|preference)|(?:i['’]m|i am) (?:only |just )?looking (?:to|for) .{1,60}(?:after|before|under|below|at most|without)|i['’]?d like to (?:use|keep|pay|spend) .{1,60}(?:first|only)",
    "if (?:you|a|an|any|the|something|anything)\\b[^,;]{3,80}, (?:then )?(?:stop|ask|tell|warn|wait|don['’]?t|do not|never)|(?:when(?:ever)?|before|after|once|until) (?:you|an?|any|each|every|\\w+ing)\\b[^,;?]{2,80}, (?:please |then |always |just )?(?!i\\b|we\\b|it\\b|the\\b|this\\b|that\\b|there\\b|you (?:will|['’]ll|get|see)\\b|can\\b|could\\b|does?\\b|is\\b|are\\b|will\\b|would\\b|what\\b|how\\b|why\\b)[a-z]+",
  ),
  aside: words(
    "(?:must|should|could|would|might)(?:n['’]?t)? ?(?:have (?:been|\\w+ed|gone|done|seen|lost|got)|['’]ve)(?! to)|used to|years ago|back then|had (?:an?|to|been|never|always)|if (?:we|i|it|they) (?:were|had)",
    "(?<!what )(?:was|were|said|told|asked|complained|insisted|argued|suggested|decided|which is why|that['’]s why|turn(?:s|ed) out|apparently|found out) (?!before|first|again)",
    "i(?:['’]ve)? (?:always|never) (?:found|understood|thought|knew|liked|seen|had|heard|used|saw|tried)|i (?:counted|don['’]?t know|just \\w+ed|already|wonder)|always (?:passes|works?|worked|fails|failed|crashes|been|takes)|it (?:always|never|only|still)|has always|you['’]d have to",
    "bug|(?:can|could) always|i don['’]t think|(?:let['’]?s|let us) (?:say|assume|pretend|imagine)|suppose|imagine|hypothetically",
    "because (?:we|i|it|they) (?:never|always|only)|(?<!(?:don['’]?t|do not|leave|never|keep|without|no) .{0,80})(?:for now|for the moment)|(?:for|in) (?:this|the next) (?:pr|ticket|issue|run|one)|first\\b.{0,40}\\b(?:look|check|see)|we['’]re (?:building|writing|making)|(?:eslint|tsc|mypy|pylint|ruff|clippy|compiler|linter|console|terminal|error|warning) (?:says?|said|reads?|complains?|shows?|prints?|tells?)|i (?:bet|assume|suspect|reckon|guess)",
    "(?:spec|docs?|documentation|guide|manual|rfc|readme|article|book|policy)(?: \\w+){0,3} (?:says?|claims?|states?|mentions?|recommends?)|must be nice|no idea|not sure|makes sense now",
  ),
  product: words(
    `let (?:the |a )?(?:${EN_PRODUCT})`,
    `(?<!(?:to|for|by|with|of|from|in|on) (?:the |our )?)(?:${EN_PRODUCT})(?: (?:in|on|of|for|that|which|we['’]re) \\S+(?: \\w+)?)? (?:should|must|may|can(?:not)?|needs?|ha(?:s|ve) to|gets?|goes?|go|is|are|shows?|stays?|will|has|have|only|never|always|do(?:es)?(?: not|n['’]t))`,
  ),
  decision: words(
    "(?:i|we)(?:['’]ve| have)? (?:decided|chose|opted|settled on|agreed|picked|went with|ended up)|(?:go|going|stick|sticking) with|settle on|decided (?:to|on|against|not)|(?:rejected|ruled out)",
    "let['’]?s (?:go with|use|keep|stick|not|skip|drop|switch|start with|adopt|move to|do (?:option|the|it|only)|make|log|first)(?! (?:the )?(?:search|find|grep|ls|cat))",
    "not worth|no need (?:for|to)|not needed|(?:we )?(?:don['’]?t|no longer) need (?!to (?:know|worry))",
    "makes? (?:more|the most|much more|perfect) sense",
    "(?:i|we)(?:['’]ll| will| would|['’]d|['’]m going to| should| can)? (?:\\w+ly |just )?(?:keep|use|put|leave|drop|remove|make|split|skip|revert|rename|move|avoid|treat|add|fix|change|restructure|do)\\b.{1,200}\\b(?:because|since|so that|instead|rather than|to avoid|to keep|for consistency|as (?:it|they|this|that)|for now)",
    "(?:kept|skipped|left|chose|dropped) .{1,160}(?:because|since|as (?:it|they|the)|to avoid)|this (?:avoids|keeps)|for (?:consistency|simplicity)",
  ),
};

const DE_OPEN = "und|aber|also|dann|bitte|jetzt|auch|sonst";

const DE: Latin = {
  tells: listed(
    "der die das und ist nicht ein eine einen ich du wir mir mit für auf von zu den dem bitte mal auch wenn dass sind wird im zum zur bei nur alle nach kein keine sich es immer aus statt jede jeder nie",
  ),
  rule: words(
    "nie(?:mals)?(?: wieder| mehr)?|immer (?!noch|wieder|mehr|so |durch)\\S+|ab (?:sofort|jetzt|heute)|künftig|in zukunft|von nun an|weiterhin|grundsätzlich|durchgehend|ausnahmslos|bis auf weiteres|solange ich nichts|im zweifel|unter (?:keinen|allen) umständen|auf (?:keinen|jeden) fall|unbedingt|zwingend|tabu|verboten|untersagt|unzulässig|strikt|finger weg",
    "(?:muss|müssen|musst|darf|dürfen|darfst|soll(?:en|st)?)(?! (?:ein|das) (?:fehler|problem) sein)",
    "nur (?:noch|nach|mit|in|über|die|den|das|der|im|auf|unter|für)\\b|ausschließlich|lediglich|(?:höchstens|maximal|nicht mehr als|mindestens) \\S+|nichts (?:verloren|anderes|an|außer)|(?:und|sonst) nirgend\\S*|nichts an",
    clause(
      DE_OPEN,
      "kein(?:e|en|er)? |vermeide|verzichte|bevorzuge|halte dich|achte|denk dran|lass (?:die|den|das|alles)|spar dir|statt |bevor du|frag(?:e)? ",
    ),
    "(?:jede|jeder|jedes|jeden|alle|pro|sämtliche)(?: \\S+){1,5} (?:braucht|brauchen|bekommt|gehört|gehören|auf|in|kommt|bleibt|bleiben|nicht|kein\\S*|wird|werden|ist|sind)|vor jede[mnrs]|nach jede[mnrs]|bei jede[mnrs]",
    "(?:rühr|fass|änder|push|committe|verwende|nutze|benutze|nimm|öffne|lösch|schreib|füg|mach)(?:e|t|st)?(?: \\S+){0,8} (?:nicht|nichts|nur|nie|keine?n?)|(?:fasst|rührst) du nichts|(?:bitte )?nicht (?:ohne|vor|in den|anfassen|ändern|committen|pushen|löschen|öffnen)",
    "ohne (?:vorher|zu fragen|rückfrage|meine|mein|absprache)|nach absprache|vorher (?:fragen|zu fragen)|hol dir mein|frag mich|mir wäre (?:es )?lieb(?:er)?|ich (?:will|möchte) (?:kein\\S*|nicht|nie|immer|dass)|ich fände es gut|statt (?:dessen|zu|neue|`)|so (?:kurz|klein) wie|(?:schreiben|verwenden|nutzen|machen|committen) wir (?!gerade|mal|noch|das|es|jetzt)|wo es geht",
  ),
  aside: words(
    "war(?:en)?|(?:hab(?:e|en)?|hat|ist|sind) .{1,120} (?:ge|ver|be|ent|er)\\p{L}{2,}(?:t|en)|bug|(?:den|der) fehler|spezifikation|doku\\p{L}*|hatte(?:n|st)?|wurde(?:n)?|hätte(?:n)?|wäre(?:n)?(?! (?:es )?(?:lieb|gut))|früher|damals|gemeldet|angenommen|offenbar|anscheinend|man müsste|da müsste|dann hätten|gehört, dass|keine ahnung|weiß (?:keiner|nicht)|fertig\\.|überlegt|hieß es|diesmal",
  ),
  product: words(
    "(?<=^(?:der|die|das) [\\p{L}-]+ (?!(?:muss|müssen|soll|sollen|darf|dürfen) )\\p{L}+ )(?:immer|nie|niemals)|(?:button|knopf|nutzer|benutzer|kunden?|dialog|fenster|seite|liste|feld|tabelle|zeile|anfrage|server|ding|app|import|export) (?:darf|muss|soll|sollte|wird|ist|geht|zeigt|stürzt|hängt)",
  ),
  decision: words(
    "entschieden|entscheide\\S*|(?:wir|ich) nehmen?|nehmen wir|bleiben wir bei|gehen wir mit|verzichten|verworfen|anstelle|anstatt|lieber|statt(?:dessen)?",
  ),
};

const FR: Latin = {
  tells: listed(
    "le la les des du un une et est sont dans pour pas que qui ne je tu nous vous avec sur ce cette aux au plus par tous toutes chaque jamais toujours son ses mon ma il on se",
  ),
  rule: words(
    "ne (?:\\S+ ){1,3}(?:jamais|que|plus)|jamais (?!vu|compris|pensé|su)|toujours (?!pas|passé|été)\\S+|désormais|dorénavant|à partir de maintenant|jusqu['’]à nouvel ordre|dans tous les cas|en aucun cas|sans exception|systématiquement|dans le doute|à chaque fois|par défaut|obligatoirement|interdit\\S*|interdiction|strictement|impérativement|absolument",
    "(?:doit|doivent|devra|il faut(?! dire)|faut)(?! être (?:un|une) )",
    "n['’](?:ouvre|utilise|ajoute|écris|envoie|efface|installe|oublie)\\S* (?:pas|jamais|rien|aucun\\S*)|(?:^|[,;:] ?|et |mais )(?:ne |n['’])(?!est|ai|a |était)\\S+ (?:pas|rien|aucun\\S*)|on n['’]?y? ?\\S+ pas|pas (?:de|d['’])\\S+",
    "(?:seulement|uniquement|exclusivement|rien d['’]autre|nulle part ailleurs|réservé\\S*|au maximum|au plus|maximum|pas plus de|moins de|limité\\S*|plafond)",
    "(?:chaque|tout|toute|tous les|toutes les|aucun|aucune|les)(?: \\S+){1,6} (?:doit|doivent|s['’]écri\\S+|vont|va|reste\\S*|sont|est|passe\\S*|viennent|en|commence\\S*) ",
    "(?:on|nous) (?:bosse|travaille|utilise|écrit|code)\\S*[^?]{1,60}(?:, pas|dans ce (?:dépôt|projet))|à proscrire|(?:évite|préfère|respecte|veille|assure-toi|pense à|n['’]oublie|garde|laisse|limite-toi|inutile de)\\S*|de préférence|plutôt que|au lieu de|demande-moi|préviens-moi|consulte|sans (?:me |mon |mes |ma |demander|prévenir)|avant (?:de|tout|chaque) [^?]{3,60}|après chaque|je (?:ne )?(?:veux|préfère|souhaite)(?! savoir| voir)|j['’]aimerais (?:autant )?que|partout où",
  ),
  aside: words(
    "(?:a|ai|as|avons|avez|ont) \\p{L}+(?:é|u|i|is|it|ert)|restait|bug|l['’]erreur|la spec|plante|était|étaient|avait|avaient|avions|(?:a|ont|ai|as|avons) (?:été|dit|demandé|vu|su|eu|envisagé|toujours été)|disait|aurai\\S*|serai[ts]|supposons|apparemment|finalement|autrefois|il faudrait (?:vraiment )?ne|laquelle|quand même|est-ce|cette fois|pour l['’]instant|pour le moment",
  ),
  product: words(
    "(?<=^(?:le|la|les) \\p{L}+ )(?:n['’]|ne )\\p{L}* ?(?:jamais|toujours)|(?:bouton|utilisat\\p{L}+|client|page|écran|liste|champ|menu|cache|mot de passe|serveur|modale)(?: de \\p{L}+)? (?:doit|doivent|est|n['’]est|se|va|reste|s['’]affiche)",
  ),
  decision: words(
    "décidé\\S*|choisi\\S*|plutôt que|au lieu de|on (?:garde|prend|part sur|utilise|abandonne)|retenu\\S*|restons",
  ),
};

const ES: Latin = {
  tells: listed(
    "el la los las un una y es son en de del para por con que no se su lo al como más pero si este esta cada nunca siempre hay está están me mi tus sin",
  ),
  rule: words(
    "nunca (?!he|había|vi|supe|entendí|terminaba)\\S+|jamás|siempre (?!ha|pasa|falla|fue|estuvo)\\S+|a partir de ahora|de ahora en adelante|en adelante|hasta nuevo aviso|en ningún caso|bajo ningún|sin excepción|en caso de duda|ante la duda|por defecto|cada vez que|obligatori\\S+|prohibid\\S+|estrictamente",
    "(?:debe|deben|tiene que|tienen que|hay que|deberá\\S*)(?! ser (?:un|una|el) )",
    "(?:^|[,;:] ?|y |pero |que )no (?!es|era|hay|sé|entiendo|funciona|está|puedo|me |fue|tengo|veo|creo|recuerdo)\\p{L}+(?:[ae]s|áis|éis|a|e|emos|amos|ar|er|ir)\\b|no se (?:toca|permite|puede|acepta|admite|usa)|ahí no|ningún|ninguna|nada de",
    "(?:sólo|solo|solamente|únicamente|exclusivamente)(?! quería| había)|nada más|en ningún otro|como máximo|máximo|no más de|menos de|limitad\\S+|salvo|excepto",
    "(?:cada|todo|toda|todos los|todas las|los|las)(?: \\S+){1,6} (?:debe|deben|lleva|llevan|van|va|se escriben?|quedan?|necesita\\S*|en inglés)",
    "(?:evita|prefiere|procura|asegúrate|recuerda|respeta|mantén|deja|ahórrate|limítate)\\S*|en (?:vez|lugar) de|pregúntame|avísame|consúltame|sin (?:preguntar\\S*|avisar\\S*|mi |consultar\\S*|que yo)|antes de (?:cada|cualquier|\\S+r )|después de cada|(?:quiero|preferiría|me gustaría) (?:que|no|siempre)|prefiero|antes de decirme|no quiero",
  ),
  aside: words(
    "(?!todavía|deb|podr|prefer)\\p{L}{2,}(?:é|ó|aron|ieron|aban?|ábamos|(?<!r)ían?|imos)|ha (?:vuelto|devuelto|estado|sido)|bug|el (?:fallo|error)|la especificación|era|eran|había|habían|estaba|estaban|fue|fueron|terminaba|dijo|dijeron|decía|pidió|preguntó|habría\\S*|sería|supongamos|al parecer|por lo visto|antes (?:teníamos|había)|hubier\\S+|no sé|resulta que|tendrías que|cuál|por ahora|esta vez|de momento",
  ),
  product: words(
    "(?<=^(?:el|la|los|las) \\p{L}+ )(?:siempre|nunca) |(?:botón|usuari\\p{L}+|cliente|página|pantalla|lista|campo|menú|pedido|servidor|modal)(?: de \\p{L}+)? (?:debe\\p{L}*|tiene|siempre|nunca|solo|sólo|se|va|es)",
  ),
  decision: words(
    "decid\\S+|elegi\\S+|en (?:vez|lugar) de|vamos con|nos quedamos con|optamos|descartad\\S+|mejor (?:usar|dejar)",
  ),
};

const PT: Latin = {
  tells: listed(
    "o a os as um uma e é são em no na nos nas do da dos das para por com que não se seu sua ao mais mas você este esta cada nunca sempre isso lá está estão me sem toda todo todas todos pelo pela",
  ),
  rule: words(
    "nunca (?!vi|tinha|soube|entendi|terminava)\\S+|jamais|sempre (?!foi|passa|falha|esteve)\\S+|a partir de agora|de agora em diante|daqui (?:em|para|pra) (?:diante|frente)|até segunda ordem|em nenhum caso|em hipótese alguma|sem exceção|na dúvida|por padrão|sempre que|toda vez que|obrigatóri\\S+|proibid\\S+|estritamente",
    "(?:deve|devem|precisa(?:m)?(?: de)?|tem que|têm que|é preciso|deverá\\S*)(?! ser (?:um|uma|o) )",
    "(?:^|[,;:] ?|e |mas |que )não (?!é|era|há|sei|entendo|funciona|está|posso|foi|tenho|vejo|acho|lembro|consigo)\\p{L}+|não se (?:toca|permite|pode|aceita|usa)|nenhum(?:a)?|nada de",
    "(?:só|somente|apenas|unicamente|exclusivamente)(?! queria| havia)|no máximo|máximo|não mais (?:de|que)|menos de|limitad\\S+|exceto|salvo",
    "(?:cada|todo|toda|todos os|todas as|os|as)(?: \\S+){1,6} (?:deve|devem|precisa\\S*|vão|vai|ficam?|em inglês|tem que|têm que)",
    "(?:evite|prefira|procure|certifique-se|lembre|respeite|mantenha|deixe|limite-se|dispense)\\S*|em vez de|ao invés de|me (?:pergunte|avise|consulte)|pergunte(?:-me)? antes|sem (?:me |perguntar|avisar|minha|meu|consultar)|antes de (?:cada|qualquer|\\S+r )|depois de cada|(?:quero|gostaria) (?:que|não|sempre)|prefiro|passa(?:m)? por mim|não quero",
  ),
  aside: words(
    "(?!museu)\\p{L}{3,}(?:ou|eu|iu|aram|eram|iram|avam?|esse)|fi(?:quei|camos)|deve (?:ter|ser bom)|imagina|o (?:bug|erro)|a especificação|na especificação|bug|era|eram|havia|tinha|tinham|estava|estavam|foi|foram|terminava|disse|disseram|dizia|pediu|perguntou|teria\\S*|seria|suponha\\S*|pelo visto|aparentemente|antigamente|não sei|qual|descobri\\S*|por enquanto|desta vez",
  ),
  product: words(
    "(?<=^(?:o|a|os|as) \\p{L}+ )(?:sempre|nunca|só) |(?:botão|usuári\\p{L}+|cliente|página|tela|lista|campo|job|servidor|modal|menu)(?: de \\p{L}+)? (?:dev\\p{L}+|precisa|só|fica|vai|é|tem)",
  ),
  decision: words(
    "decid\\S+|escolh\\S+|em vez de|ao invés de|vamos (?:com|de|usar|manter)|ficamos com|optamos|descartad\\S+",
  ),
};

const RU: OwnScript = {
  tells: /[а-яё]/gu,
  rule: words(
    "никогда|всегда(?! (?:проходит|падает|работал|был))|впредь|отныне|с этого момента|в дальнейшем|по умолчанию|без исключений|ни в коем случае|ни при каких|категорически|запрещ\\p{L}+|запрет\\p{L}*|нельзя|обязательно|обязан\\p{L}*|исключительно|строго|недопустим\\p{L}*|до особого|при любых|если сомневаешься|в случае сомнений",
    "долж(?:ен|на|но|ны)|(?:нужно|надо|следует|необходимо) (?:всегда|перед|каждый|сначала|обязательно)|требу\\p{L}+",
    "(?:^|[,;:–—] ?|и |а |но |туда |там |ничего |сюда )не (?!знаю|понимаю|помню|работает|вижу|могу|хватает|уверен|только|так|был)\\p{L}+(?:й|йте|ь|ьте|и|ите|ем|им|ть|уй|уйте)",
    "только|лишь|максимум|не (?:более|больше|длиннее|дольше)|не выше|никаких|никакого|никакой|ничего (?:кроме|другого)|кроме|больше нигде",
    "(?:все|каждый|каждая|каждое|каждой|каждого|любой|любая|у кажд\\p{L}+|перед кажд\\p{L}+|после кажд\\p{L}+)(?: \\S+){1,6}|без (?:моего|моей|спроса|разрешения|согласования|предупреждения|номера)",
    "(?:отвечай|пиши|комментируй|говори)(?:те)? (?:мне )?(?:\\p{L}+ )?(?:по-\\p{L}+|на \\p{L}+)|(?:избегай|предпочитай|старайся|следи|помни|учти|соблюдай|держи|оставь|спрашивай|предупреждай|согласовывай)\\p{L}*|вместо (?:того|`|\\S+)|сначала (?:спроси|согласуй)|прежде чем|перед тем как|(?:я )?(?:хочу|предпочитаю|хотел бы|прошу),? чтобы|мне не нуж\\p{L}+|(?:пишем|используем|делаем|коммитим) (?!сейчас)",
  ),
  aside: words(
    "(?!если|сначала|файл|модул|стил|канал|журнал|отдел)\\p{L}{2,}(?:ал|ил|ел|ыл|ул|ял|шл|ёл|гл)(?:а|о|и|ся|ась|ось|ись)?|баг|должно быть|спецификаци\\p{L}+|представляешь|раньше|было бы|если бы|наверное|видимо|оказалось|предположим|допустим|не знаю|никто не|на этот раз|в этот раз",
  ),
  product: words(
    "(?<=^\\p{L}+ )(?:никогда|всегда) (?:не )?\\p{L}+(?:ет|ит|ся)|(?:кнопк\\p{L}+|пользовател\\p{L}+|клиент\\p{L}*|страниц\\p{L}+|экран\\p{L}*|пол[ея]|меню|сервер\\p{L}*|админ\\p{L}*) (?:долж\\p{L}+|всегда|никогда|только|не )",
  ),
  decision: words(
    "реш(?:ил|или|ено)\\p{L}*|выбра\\p{L}+|вместо|остановил\\p{L}+ на|возьмём|берём|отказ\\p{L}+ от|остав(?:им|ляем)",
  ),
};

const ZH: OwnScript = {
  tells: /\p{Script=Han}/gu,
  rule: /不要(?!紧)|别(?!的|人|说|名|处|致|是|担心)|必须|绝不|绝对不|永远(?!不消失)|永不|禁止|务必|不能(?!复现|用了|理解)|不得|不许|不可以|不准|请勿|一律|统一|从(?:现在|今)(?:起|开始|以后)|今后|以后(?!再说)|往后|始终|任何情况|无论如何|每次|每当|(?:每(?:个|条|一|份|页|次)|所有|凡是|全部|任何)[^？?]{1,40}(?:都|要|得|必须|不超过|用|一律)|都(?:要|得|必须|按|走|用|放)|只(?:能|用|许|允许|可以|准|由|限|接受|支持)|仅(?:限|允许|用)|优先|尽量|不再(?!报错)|不(?:超过|多于|接受|允许|收|写|动)|最多|至多|上限|以内|除了[^。？]{1,40}(?:以外|之外|都|不)|(?:没有|未经|没)[^。？]{0,6}(?:同意|批准|允许|许可)|先(?:问|跟我|得|征)|而不是|不要猜|记得|应该?(?:始终|保持)|用(?:中文|英文)(?:回|写|答)|谁都不能|到[^。]{1,10}为止/u,
  aside:
    /以前|早就|当初|本来|不知道|奇怪|[说写]着|听说|难怪|原来|好像|据说|假设|如果当时|从来没|结果|已经|昨天|才会|讨论过|暂时|这次|要求我们|报错|吗[？?]?$|呢[？?]?$/u,
  product:
    /(?:^|这个|那个)(?:页面|按钮|列表|用户|弹窗|表格|密码|游戏|敌人)[^。，,]{0,8}(?:会|应该|必须|都|只|卡|显示)|(?:时候|每次)[^。，,]{0,12}(?:总是|卡|崩|空)/u,
  decision: /决定|选择了|选用|采用|改用|而不是|就用|选\s?[A-Da-d1-4]|放弃|不采用|所以(?:我们)?(?:用|选)/u,
};

const JA: OwnScript = {
  tells: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
  rule: /絶対(?!ならな|に違い)|必ず|決して|常に|今後|これから(?:は|も)|以後|以降|毎回|都度|いかなる|どんな場合|当面|ないで(?:$|[。、！!]|ください|下さい|もらえ|ほしい|いただ)|ないこと|てはいけ|てはなら|ちゃダメ|はダメ|禁止|厳禁|不可|のみ|だけ(?:に|で|を|が|使|許)|に限(?:る|定|り)|以内|以下に|まで(?:に(?:して|収)|とする|です)|上限|最大|対象外|除外|以外|触ら(?:ない|ず)|変更しない|方針|ルール(?:です|として)|(?:る|た|追加|変更)(?:とき|際|場合|前|後)(?:は|に)[^。？]{0,40}(?:こと|確認|相談|聞い)|(?:する|した|追加|変更)(?:とき|際|場合|前|後)[^。？]{0,40}(?:こと|ください|お願い)|前に[^。？]{0,20}(?:毎回|必ず|確認|聞い|相談)|ずに[^。？]{0,10}(?:聞|確認)|推測せず|勝手に|許可なく|承認|事前に|相談なし|優先|ではなく|代わりに|(?:べき|なければならない|なければいけない|必須|必要があります)(?!だった)|こと(?:。|$)|(?:返答|回答|返事|コメント|メッセージ)は[^。？]{1,20}(?:で|に)|簡潔に|不要です|いりません|使わない|入れない|付けない|みなす|統一|徹底|維持|そのまま/u,
  aside:
    /昔は|以前は|かつて|前の|だった|でした|(?:い|っ|し|き)た(?:。|$)|違いない|未だに|いまだに|分からない|わからない|らしい|とある|と書いて|と思う|エラーが|としたら|聞かれた|今回は|とりあえず|仕様です|んだけど|ですか|でしょうか|のでしょう|かな(?:。|$)/u,
  product: /(?:ボタン|画面|ユーザー|リスト|一覧|ページ|API|プレイヤー|セッション|ログイン)(?:は|が|の場合)/u,
  decision:
    /にします|に決め|採用し|を選び|を選ん|ではなく|の代わりに|で行きましょう|でいきます|をやめて|することにし/u,
};

const LATIN: readonly Latin[] = [EN, DE, FR, ES, PT];

/** The languages that a word indicates, one bit each. */
const TELLING = new Map<string, number>();
for (const [at, { tells }] of LATIN.entries())
  for (const word of tells) TELLING.set(word, (TELLING.get(word) ?? 0) | (1 << at));

const BEYOND_LATIN = /[\u0250-\uffff]/;

/** The possible languages of a sentence: those of its script, or those with the most matching words. */
export function languagesOf(text: string): readonly Language[] {
  const read = text.slice(0, 600).toLowerCase();
  if (BEYOND_LATIN.test(read)) {
    const letters = Math.max(1, read.match(/\p{L}/gu)?.length ?? 0);
    const share = (pattern: RegExp): number => (read.match(pattern)?.length ?? 0) / letters;
    if (share(JA.tells) > 0.08) return [JA];
    if (share(ZH.tells) > 0.15) return [ZH];
    if (share(RU.tells) > 0.25) return [RU];
  }
  const counts = tellingWords(read);
  const most = Math.max(...counts);
  // A short sentence may contain no indicative word.
  return LATIN.filter((_, at) => (counts[at] ?? 0) >= (most <= 2 ? most - 1 : most));
}

/** Number of indicative words in the text per Latin-script language. */
function tellingWords(text: string): readonly number[] {
  const counts = LATIN.map(() => 0);
  for (const token of text.replaceAll("’", "'").match(/[\p{L}']+/gu) ?? []) {
    const end = token.indexOf("'");
    const whole = TELLING.get(token) ?? 0;
    // In a contraction, the part before the apostrophe counts too.
    const told = end < 0 ? whole : whole | (TELLING.get(token.slice(0, end)) ?? 0);
    for (let at = 0; told >> at > 0; at += 1) counts[at] = (counts[at] ?? 0) + ((told >> at) & 1);
  }
  return counts;
}
