/** Words by which a sentence shows what it states, by language. All are matched on lower-case text. */
export interface Cues {
  /** Words that nearly only this language has: they tell which cues apply. */
  readonly language: RegExp;
  /** Forbids, demands, limits or prefers, for more than the step at hand. */
  readonly rule: RegExp;
  /** Tells what was or might have been, or what others say: no rule, whatever else it says. */
  readonly report: RegExp;
  /** Asks for something to be done. */
  readonly request: RegExp;
  /** Settles a choice between ways to do something. */
  readonly decision: RegExp;
}

const word = (...alternatives: readonly string[]): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}_'’-])(?:${alternatives.join("|")})(?:(?<=\\s)|(?![\\p{L}\\p{N}_]))`, "u");

/** At the beginning of a clause: of the sentence, after a mark or one of the words that open it. */
const opening = (fillers: string, ...alternatives: readonly string[]): string =>
  `(?:^|(?<=[,;:.!(–—-]\\s{0,3})|(?<![\\p{L}\\p{N}])(?:${fillers})[\\s,]{1,3})(?:${alternatives.join("|")})`;

/** Some words in the same clause. */
const GAP = "[^;!?\\n]{1,90}?";

// ---- English

const EN_OPEN =
  "only|please|and|but|so|then|also|just|always|ok(?:ay)?|yes|no|now|first|next|instead|or|well|finally|again|let's|you should|can you|could you";
const EN_DO =
  "add|adjust|adapt|align|analy[sz]e|annotate|apply|append|archive|ask|assign|attach|audit|base|benchmark|book|branch|bring|build|bump|call|cancel|change|check|clean|clear|close|collapse|collect|combine|commit|compare|compile|compute|configure|confirm|connect|continue|convert|copy|correct|count|cover|create|cut|debug|define|delete|deploy|describe|design|determine|diagnose|disable|discuss|display|document|double-?check|download|draft|drop|edit|enable|ensure|estimate|evaluate|examine|exchange|exclude|execute|expand|explain|export|expose|extend|extract|figure|fill|filter|find|finish|fix|format|generate|get|give|go|group|handle|have|help|hide|highlight|implement|import|improve|include|increase|initiali[sz]e|inline|insert|inspect|install|integrate|introduce|investigate|keep|let|limit|lint|list|load|log|look|lower|make|mark|measure|mention|merge|migrate|mock|modify|monitor|move|name|narrow|open|optimi[sz]e|order|organi[sz]e|outline|parse|patch|pick|pin|plan|point|port|post|prepare|print|profile|propose|provide|publish|pull|push|put|reda|read|rebase|rebuild|reduce|refactor|reformat|reload|remove|rename|reopen|reorder|replace|reply|report|reproduce|reset|resolve|restart|restore|restructure|return|reuse|revert|review|rewrite|roll|rollback|rotate|run|save|scan|schedule|scrap|search|send|separate|set|setup|shorten|show|shrink|simplify|sketch|skip|solve|sort|spawn|speed|split|squash|stage|start|stop|store|strip|submit|suggest|summari[sz]e|support|swap|switch|sync|take|tell|test|tidy|trace|track|translate|trim|troubleshoot|try|tune|turn|undo|unify|unblock|uninstall|update|upgrade|upload|use|validate|verify|visit|walk|watch|work|wrap|write";

const EN: Cues = {
  decision:
    /\b(?:(?:i|we)(?:['’]ve| have)? (?:decided|chose|opted|settled on|agreed|picked|went with|ended up)|(?:i|we)(?:['’]ll| will|['’](?:m|re) going to|['’]d| would| should| can)? (?:go(?:ing)? with|stick(?:ing)? (?:with|to)|opt(?:ing)? for|settle on|agree with|not (?:optimi[sz]e|copy))|going with|let['’]?s (?:go with|use (?!the (?:find|built|search)|`?(?:find|grep|the|search|ls|cat))|keep|stick|not |skip|drop|switch|do (?:option|the)|start with|also add|add it|adopt|move to|try \d|try a|tackle)|decision:|decided (?:to|on|against|not)|(?:rejected|ruled out) (?:because|since|as|in favou?r)|not worth (?:a|the|it)|we (?:don['’]t|no longer) need (?!to (?:know|worry))|(?:is|would be|be|seems|are) (?:the |a )?(?:right|best|better|simplest|cleanest|safest|cleaner|most robust) (?:approach|choice|option|call|way|fix|target|place|if)|(?:the )?(?:simplest|cleanest|best|right|real|correct) (?:fix|approach|solution|option|target|choice)(?: here)?(?: is|:|\b.{0,60} is\b)|the fix is|makes? (?:more|the most) sense|(?:option|approach) [a-d1-5]\b.{0,40}(?:is (?:best|better|right|the)|makes|please)|(?:i|we)(?:['’]ll| will|['’]m going to|['’]ve| have)? (?:\w+ly )?(?:keep|kept|use|put|leave|left|drop|dropped|remove|make|split|skip|skipped|revert|rename|move|avoid|treat|shell out|hardcode|base|consolidate|not) .{1,160}\b(?:because|since|so that|so the|to avoid|instead of|rather than|to keep|to stay)\b|this avoids|^(?:please |so |then )?(?:use|keep|replace|store|adapt|preserve|reuse|adopt) .{1,120}(?:instead of|rather than|over|, not) |(?:to|into) .{1,80} rather than a|rather than (?:introduc|add|duplicat|patch|extend|renam|supporting)\w*|(?:was|were) (?:chosen|picked|selected)|(?:design|product) (?:decision|correction)|hard deprecation|no backward compat\w*)/i,
  language:
    /(?<![\p{L}'’-])(?:the|a|as|if|will|has|have|any|all|can|at|by|an|or|but|so|they|me|is|are|and|of|with|you|your|this|that|it|to|be|for|not|we|i|from|was|when|please|should|don't|what|do|my|in|on)(?![\p{L}])/gu,
  rule: word(
    opening(
      `${EN_OPEN}|you`,
      "never(?! mind| ?nester| thought| knew| saw| had| was| heard)",
      "always(?! the | wondered| thought| been)",
      "(?:do not|don['’]?t)(?! worry| know| think| see| understand| mind| have| get it| believe| care| remember| need| like| do anything| do that| forget)",
      `don['’]?t forget to ${GAP}(?:every|each|always|whenever)`,
      "avoid(?! the )",
      "prefer(?:ably)?(?! the )",
      "refrain from",
      "under no circumstances",
      "from (?:now|here|this point) on",
      "going forward",
      "in (?:the )?future,",
      "whenever(?! i)",
      "(?:every|each|any) time(?! i)",
      "no (?:new |other |third-party |external |raw |direct |force |inline |bare |default |magic |hard-?coded |manual |emojis?|force-push|comments? |abbreviations|bullet|markdown|tables?|dependenc|mocks?|globals?|any )",
      "nothing (?:that needs|that requires|but|else|newer|older|outside)",
      "stick (?:with|to)",
      "let['’]?s (?:not|never|stick (?:with|to)|avoid)",
      "work (?:through|on) (?:the|these|this|them|each|it)\\b[^;!?]{0,40}?(?:in order|one (?:by|at)|step by step|item by item)",
      "stop (?:and report |and ask |there |here )?(?:after|once|as soon as|when|at) (?:the|all|each|every|any|you|item|step|phase|task|these|this)",
      "make it a habit",
      "ask (?:me |us |first |for \\w+ )?before",
      "check with me",
      "stop (?:using|adding|asking|writing|committing|saying|apologi[sz]ing)",
      "only (?:use|commit|push|touch|edit|change|modify|respond|reply|answer|write|add|run|work|support|import|call|accept|ever|bug ?fix|fixes|the|in|on|on\\w+|read)",
      `(?:treat|consider) ${GAP}(?:as|read-only|frozen)`,
      `use ${GAP}(?:,? not |,? never |instead of|rather than|everywhere|throughout|for (?:all|every|any|each)|whenever|at all times|in all|only\\b|consistently|by default)`,
      `(?:keep|leave) ${GAP}(?:out of|under|below|within|short|small|brief|simple|minimal|as (?:it|they) (?:is|are)|alone|untouched|unchanged|intact|in sync|separate|compatible|at (?:most|least)|everywhere)`,
      "remember (?:to|that)",
      "be (?:concise|brief|terse|succinct|careful (?:not|to|with)|explicit|conservative)",
      `(?:reply|respond|answer|speak|talk|write)(?: to me| me| back)?(?: only| always| exclusively)? in (?!the |a (?:file|new)|this )${GAP}`,
      `(?:reply|respond|answer|end|start|begin|finish|sign|prefix|format|write|spell|give|include|mention|list|show|cite|quote|mark|tag|name|round|express|call|address|wrap|test|run|link|log|document)\\b${GAP}\\b(?:every|each|all (?:your|the|numbers|dates|times|files|code|responses|replies|answers|units|names|functions)|any (?:time|new)|whenever|when you|when(?:ever)? (?:i|you|we|the)|in (?:your|all|every) (?:repl|answer|response|message|summar|explanation)|before (?:you|every|each|any|commit|push|merg)|after (?:you|every|each|any)|at the (?:end|start|beginning|top) of (?:your|every|each|all))`,
    ),
    `(?:(?:when|whenever|if|unless|once|each time|every time)(?: (?:you|we|a|an|any|the|in|unsure|something|someone|anything|i)\\b)|(?:before|after|until) (?:you|a|an|any|each|every|\\w+ing)\\b)${GAP},\\s{1,3}(?:please |then |always |also |just |first |you (?:must|should|need to|have to|may|can) |do not |don['’]?t |never )?(?:${EN_DO}|prefer|avoid|wait|warn|notify|say|state|leave|prefix|spell|cite|quote|round|express|follow|prioriti[sz]e|assume)`,
    "(?:you |we |it |they |which |that |and |code |changes? |tests? |files? |\\w+s )?(?:must(?:n['’]?t| not| never| always| only)?)(?! have|\\s{1,3}214)",
    `(?:should|shall|may|can|will|would|could) (?:never|always|not ever|only (?:be|use|ever))`,
    "(?:all|every|each|any|no|our|your|public|user-facing|new|existing|responses?|repl(?:y|ies)|answers?|comments?|commit messages?|commits|variables?|names|functions?|files?|tests?|error messages?|errors|logs?|docs|documentation|dates|amounts|timestamps|paths|prs?|pull requests|branch(?:es| names)|migrations|queries|changes|the (?:api|code|app|site|website|ui|build|output|public|summary|response|whole))(?: [\\w./`'’-]+){0,6}? (?:should(?:n['’]?t)?|ha(?:s|ve) to|needs? to|shall|can(?:no|['’])t|may not|needs? (?:a|an|line|more|approval)|requires?|go(?:es)? (?:in|into|through|thru|under|via|first)|belongs? (?:in|to|under|at)|lives? (?:in|under)|stays?|(?:is|are) (?:to be|limited|capped|(?:written|stored|saved|kept) (?:in|as|under)|in (?:english|utc|cents)|read-only|stable|frozen|off|forbidden|banned|mandatory|treated))(?! (?:fixed|done|working|fine)\\b)",
    "(?:off[- ]limits|no exceptions|(?:is|are|stays?|remains?) (?:frozen|read-only|untouched|forbidden|prohibited|banned|taboo|mandatory)|forbidden|not (?:mergeable|acceptable|negotiable|up for discussion)|unacceptable|(?:is|are|['’]re|['’]s) ?n['’o]?t (?:ok(?:ay)?|allowed|permitted|acceptable|in scope|mergeable)|arent (?:acceptable|allowed)|out of scope|hands off|feature freeze|code freeze|leave .{1,40} alone)",
    "i['’]?(?:d| would) (?:rather (?:not|you|we|have)|prefer|appreciate it if you (?:always|never|would not))|i (?:don['’]?t|do not|never) (?:ever )?want (?!to (?:know|see (?:what|how|if))|it to be)|i don['’]?t like (?:it when|when|seeing)|(?:i|we) (?:strongly |much |really )?prefer|i (?:always|only) want|i insist|i expect (?:every|all|you)",
    "(?:can|could|shall) we (?:please |just )?(?:stick|keep (?:to|using)|always|only|never|avoid)",
    `i['’]?(?:m| am) (?:only |just )?looking (?:to|for) ${GAP}(?:after|before|under|below|at most|no more than|without|between)`,
    `i['’]?(?:d| would) like to (?:use|keep|pay|have|spend) ${GAP}(?:first|only|at most|no more than|but not)\\b`,
    "(?:commit(?:ting)?|report(?:ing)?|test(?:ing)?|check(?:ing)?|push(?:ing)?|ask(?:ing)?|stop(?:ping)?) (?:me |back |the \\w+ )?(?:after|before) (?:each|every|all)",
    "we (?:only|always|never|don['’]?t|do not|no longer) (?:support|use|accept|allow|ship|want|commit|push|deploy|merge|write|do|add|mock|rely|take|touch|need (?!to)|break|have to support)|we (?:treat|support [^.]{1,60} (?:only|and that['’]?s it)|count|stick (?:to|with))",
    "without (?:asking|checking with|consulting|my (?:ok|approval|permission|consent)|talking to|telling|an explicit|explicit)",
    "(?:at|no more than|no longer than|up to|maximum of|max\\.?|not more than|under|below) (?:at )?(?:most )?\\d+[\\w ,]{0,30}(?:per |each|in (?:any|every|all)|, (?:also|including)|at most|max\\b)|(?:at most|no more than|max(?:imum)?(?: of)?) \\d+ (?:char|line|word|sentence|second|retr|attempt|column|bullet|paragraph|item)",
    "should (?:align|match|follow|conform|comply|stick|stay)|doesn['’]?t make sense to|stick to the|(?:stays?|remains?) unchanged|for the (?:rest|remainder) of|until further notice|at all times|as a (?:general )?rule|from now on|going forward|henceforth|(?:it(?: would|['’]d)|would) be (?:nice|good|great|helpful) if you [^;]{1,60}(?:(?:before|after) (?:every|each|any)|always|whenever)|max(?:imum|\\.)?(?: of)? \\d+ [a-z]+|(?:\\d+|one|two|three|five|ten) \\w+ (?:at most|max(?:imum)?|or less|or fewer)|(?:variable|function|class|branch|file|method|test)s?(?: names?)? (?:are |always |only )?in (?:english|german|lower|snake|camel|kebab)|by default,|in general,|(?:now|today) and (?:later|in (?:the )?future)|for (?:all|any) future|throughout the (?:project|code|session|conversation)",
    "(?:anything|everything|whatever|all|any \\w+)[^;]{1,70} (?:except|apart from|other than|but not)(?: for)? [`'\"\\w]",
    "(?:may|can|are free to) [^;]{1,70}(?:, but (?:not|never|don['’]?t|writing|only|leave)|except)",
    "(?:needs?|requires?) (?:\\w+['’]?s? ){0,4}(?:approval|sign-?off|consent|review|permission|ok)(?: first| before)?|(?:approved|signed off|reviewed) by [\\w ]{1,30} (?:first|before)",
    "if (?:a|an|any|the|you|your) [^;]{3,80}, (?:stop|ask|tell|warn|wait)|(?:count(?:s)?|treat \\w+) as (?:errors?|passing|failures?)|(?:is|are) still on (?:[\\w.]+ ?){1,4}, so|(?:that's it|nothing else|that is all)\\b.{0,3}$",
    "doesn['’]?t count as|do(?:es)? not count as|not until|only (?:after|when|if|once) (?:i|we|you|the)\\b(?! (?:was|were|had|did))|instead of (?:guessing|assuming|trying)",
    "(?:this|here) is (?:an?|the|my) (?:\\w+ )?(?:constraint|rule|requirement|convention|policy|preference|guideline)|(?:important|hard|strict|firm) (?:constraint|rule|requirement)|(?:house|ground|coding|style|team) rules?\\b.{0,3}:",
    "(?:avoid|stop) (?:inventing|adding|using|creating|breaking|changing|introducing|over)|be sure to (?:always|never)|make sure (?:(?:that )?(?:you |to )?(?:always|never)|(?:every|each|all|no)\\b)|(?<!to )ensure (?:that )?(?:every|each|all|no)\\b|(?:is|be) (?:our|the|a) (?:hard )?(?:limit|rule|policy|standard|convention)",
  ),
  report: word(
    "must['’]?(?:ve| have)|should(?:n['’]?t)?['’]?(?:ve| have) (?!to)|could['’]?ve|would(?:n['’]?t)?['’]?(?:ve| have)|we['’]d (?:never )?have|if (?:we|i|it|they) (?:were|had|could have)",
    "used to|had a (?:rule|policy)|(?:rule|policy) (?:was|that .{1,60} (?:died|dropped|ended|abandoned))|back (?:then|when)|years ago|in the old days|ages ago",
    "i['’]?(?:ve| have)? (?:always|never) (?:found|understood|thought|knew|liked|seen|had|wondered|heard|got|figured|been|used|saw|tried|liked)|i (?:counted|already|just|think we should have)|ha(?:s|d) always (?:been|worked)",
    "always (?:passes|works|worked|passed|fails|failed|crashes|crashed|been|did|was|returns|returned|takes|took)(?! .{1,80}please)",
    "(?:spec|specification|docs?|documentation|guide|manual|rfc|readme|article|book|policy|contract|google|their \\w+|colleagues?|friend|company|boss)(?: \\w+){0,3} (?:says?|said|contains?|claims?|states?|mentions?|recommends?|lists?|tells?|requires? that they)|contains the word|my (?:wife|brother|friend|cousin|old|former|last|previous)['’]?s? (?:company|employer|team|job|boss)",
    "(?:was|were|had been) (?:never|always|only|not allowed|forbidden)|(?:only|never) (?:had|returned|got|happened|happens|worked|ran|saw|took|left|went)|there (?:was|were) (?:only|never)",
    "no idea|i don['’]?t (?:know|think|remember|understand|see|recall|get)|i(?:'m| am) not sure|makes sense now",
  ),
  request: word(
    opening(
      EN_OPEN,
      `(?:${EN_DO})(?:-check)?(?! (?:is|are|was|were|has|had|went|failed|passed|fails|passes|works|looks|seems|took)\\b)`,
      "(?:i|we)(?:['’]d| would)? (?:like|love|need|want|wanted|have to|gotta)(?! to (?:know|understand) if)",
      "i['’]?m looking (?:to|for)",
      "i['’]ll go with",
    ),
    "(?:can|could|would|will|may|might) (?:you|we|i|u|somebody|someone|one of you)(?! believe| imagine| even)",
    "would you mind|do you mind|mind (?:taking|looking|checking|running|adding)|please|pls|plz|let['’]?s|lets|how about (?:we|you|adding|making)|what would it take|i (?:need|want|would like|['’]d like)|(?:should|shall) we|any chance (?:you|we|of)|(?:it would|it['’]d|would) be (?:nice|great|good|cool|helpful)|we (?:need|should|want|have to)|(?:needs|need) (?:a fix|fixing|to be|your|investigat)|(?:wanna|gonna need)|(?:is|are) there (?:a|any) way to|(?:a |your )?(?:hand|help) with|help me|why don['’]?t (?:you|we)|you (?:should|need to|can)|go ahead",
  ),
};

// ---- German

const DE_OPEN = "bitte|und|aber|also|dann|jetzt|nun|ok|okay|ja|auch|dabei|künftig|immer";

const DE: Cues = {
  decision:
    /(?<!\p{L})(?:entschieden|entscheide|entscheiden wir|entschied|wir nehmen|nehmen wir|ich nehme|bleiben (?:wir )?bei|gehen wir mit|wir verzichten|verworfen|statt(?:dessen)?|anstelle|anstatt|lieber|wir machen)(?!\p{L})/iu,
  language:
    /(?<![\p{L}])(?:der|die|das|und|ist|nicht|ein|eine|einen|ich|du|wir|mir|dir|mit|für|auf|von|zu|den|dem|bitte|mal|auch|noch|wenn|dass|sind|wird|werden|kannst|im|am|zum|zur|bei|nur|alle|nach|kein|keine|sich|es|schon|immer|maximal|aus|statt)(?![\p{L}])/gu,
  rule: word(
    "nie(?:mals)?(?: wieder| mehr)?(?! verstanden| passiert| gesehen| gehört| kapiert| verschwindet)",
    "immer (?!durch|wieder|noch|mehr|öfter|schneller|mal)(?:\\S+ ){0,6}?\\S*",
    "ab (?:sofort|jetzt|heute|nun)|künftig|zukünftig|in zukunft|von nun an|fortan|weiterhin|grundsätzlich|generell|prinzipiell|durchgehend|durchgängig|ausnahmslos|ohne ausnahme",
    "(?:unter keinen umständen|auf keinen fall|keinesfalls|keineswegs|nirgendwo sonst|sonst nichts|sonst nirgends|tabu|verboten|untersagt|unzulässig|unerwünscht|unangetastet|eingefroren|strikt|zwingend|verpflichtend|pflicht|unbedingt)",
    "(?:darf|dürfen|darfst|soll(?:en|st)?|sollte[nst]?|kann(?:st)?|können|wird|werden|bleib\\w*) (?:\\S+ ){0,10}?(?:nicht|nichts|kein\\w*|nur|nie|niemals|ausschließlich|maximal|höchstens|immer|so)(?! (?:so )?(?:schwer|leicht|sein, dass))",
    "(?:muss|müssen|musst|müsste[nst]?)(?! der| es (?:wohl|an)|te)(?: \\S+){1,14}",
    "(?:muss|müssen|musst|haben zu|hat zu|ist zu|sind zu|sollen|sollten|dürfen|darf)\\b[^.]{1,90}(?:bleiben|sein|werden|haben|landen|stehen|liegen|funktionieren|laufen|enthalten|erklären|heißen|passieren|auftauchen|dauern)",
    "(?:gehör(?:t|en)|kommt|kommen|landet|landen|steht|stehen|liegen|bleibt|bleiben) (?:\\S+ ){0,4}?(?:nach|in|unter|ins|auf|wie|so|stabil|bei)",
    opening(
      DE_OPEN,
      "keine?[nmrs]?(?! (?:ahnung|problem|sorge|idee|zeit|thema))",
      "nicht(?:s)? ",
      "nur(?! (?:mal|so|kurz))",
      "(?:verwende|nutze?|nimm|benutze|schreib|schreibe|halte?|lass|fass|änder[ne]?|lösch[e]?|füge?|mach|installier[e]?|committe?|pushe?|bau|commite)\\b[^.]{1,90}(?:\\bnicht\\b|\\bkeine?[nmr]?\\b|\\bnur\\b|\\bnie|\\bstatt\\b|\\bimmer\\b|\\bstets\\b|\\büberall\\b|\\ballen\\b|\\bjede[rsmn]?\\b|\\blieber\\b)",
      "vermeide?|achte? (?:\\S+ ){0,3}?darauf|pass auf|stell sicher|sorg dafür|bleib bei|verzichte|bevorzug|denk dran|denk daran|halte? dich",
      "(?:antworte|schreib|rede|sprich|duz|duze)(?:e)? (?:mir |mich |bitte |immer |nur |stets ){0,4}(?:auf (?:deutsch|englisch)|in (?:kurzen|ganzen|stichpunkten)|kurz|knapp)",
      "maximal|höchstens|mindestens|max\\.?",
      "frag(?:e)? (?:\\S+ ){0,4}?(?:bevor|ehe|vorher|nach|statt|erst)|erst fragen",
      "(?:sobald|wenn|falls|bevor|ehe|solange|immer wenn|jedes mal|jedesmal|vor jede[mr]|nach jede[mr]|bei jede[mr]|schlägt|scheitert)\\b[^?]{3,100},? ?(?:hörst|frag|fragst|meld|sag|stopp?|brauch(?:en|t)?|muss|musst|lauf|führ|schreib|leg|füg|gib|bitte|dann|erst|immer|informier|warn|halt|teste?)\\p{L}*",
      "lieber ",
    ),
    "(?:jede[rsnm]?|alle[rn]?|sämtliche|änderungen|kommentare|commit-messages?|dokumentation|variablen\\w*|bezeichner|tests?|antworten|fehlermeldungen|logs|funktionen|methoden|die öffentliche api|api)\\b[^?]{1,90}(?:\\bnur\\b|\\bnicht\\b|\\bnichts\\b|erklären|gespeichert|auf englisch|auf deutsch|\\bin (?:utc|cent)|landet|braucht|benötigt|freigegeben|genehmigt|abgesegnet|abgestimmt|maximal|höchstens|dauern|stabil|gilt|gelten|\\bwerden als|müssen|muss|soll)",
    "(?:höchstens|maximal) (?:\\d+|ein\\p{L}*|zwei|drei|vier|fünf|zehn)|möchte ich (?:\\S+ ){0,6}?(?:nicht|keine?n?|nie)|will ich (?:\\S+ ){0,6}?(?:nicht|keine?n?|nie)|ich (?:will|möchte|mag) (?:\\S+ ){0,5}?(?:keine?n?|nicht)(?! wissen)|akzeptier\\w* ich nich|nehm\\w* ich nicht|ich bevorzuge|mir ist wichtig|ich (?:bestehe|lege wert)|mir wäre lieber|am liebsten",
    "(?:es )?wäre (?:schön|gut|super|nett|toll), wenn du (?:[^.]{0,40})(?:immer|vor jede\\w|nach jede\\w|jedes|stets|künftig)",
    "unterstützt werden|wir unterstützen (?:nur|ausschließlich)|lassen wir (?:bewusst )?weg|außen vor|machen wir nicht|gilt (?:fürs ganze|für alle|immer|überall|auch)|das gilt",
    "ohne (?:rückfrage|rücksprache|absprache|meine|mein|vorher|zu fragen|mich|mir|freigabe|zustimmung|ok)|erst fragen|vorher fragen|statt zu raten|nachfragen statt|nicht raten",
    "(?:außer|bis auf|nur `?[\\w./-]+`? nicht|ausgenommen|mit ausnahme)|aber (?:bitte )?(?:nichts|nicht|nie|kein\\w*)\\b[^?]{0,40}|das warum, nicht|nicht das was",
    "laufen? (?:noch|weiterhin|nach wie vor) [^.]{1,40}(?:also|daher|deshalb|deswegen)|also (?:nichts|keine?n?|bitte kein)|freeze|nur (?:noch )?bugfix|gewöhn",
    "darauf, dass (?:jede|alle|nie|kein|immer)|zählen als fehler|gelten als|behandeln wir|nicht mergebar|ist nicht (?:akzeptabel|okay|ok|erlaubt|gestattet|verhandelbar)|kommt nicht in frage",
  ),
  report: word(
    "früher (?:galt|hatten|gab|war|durfte|mussten)|das ist lange vorbei|damals|hätten|hätte(?! gern)|ha(?:t|ben|tte|tten) [^?]{0,40}nie|wäre(?:n)? (?:das |es |so etwas |sowas )?(?:nie|nicht)|nie passiert|noch nie|läuft (?:\\S+ ){0,3}immer|muss (?:wohl |der |es |am |an )(?:\\S+ ){0,4}(?:gewesen|gelegen)|abgefahren|gezählt|in der firma|in der spezifikation|(?:doku|dokumentation|spezifikation|styleguide|handbuch|leitfaden)(?: \\S+){0,4} (?:sagt|steht|heißt|schreibt)|ich glaube|ich finde|ich habe?(?:['’]s)?|(?:wurde|war|waren|lief|ging|hat|haben|ist|bin)\\b[^.]{0,80}(?:geliefert|gelaufen|durchgelaufen|gestorben|gebraucht|gemergt|gemerged|gewesen|rumlag|verstanden|gegangen|gefunden|immer durch)|keine ahnung|komisch|ging nur|meine[rs]? (?:frau|bruder|freund|alte)",
  ),
  request: word(
    opening(
      `${DE_OPEN}|als nächstes|danach|anschließend|zuerst`,
      "(?:füge?|ergänz|änder|benenn|nenn|bau|beheb|behebe|fix|mach|schreib|erstell|erzeug|generier|erklär|zeig|prüf|überprüf|teste?|lass uns|lass|lauf|führ|starte?|such|finde?|schau|guck|sieh|lies|vergleich|aktualisier|entfern|lösch|räum|refaktorier|verschieb|zieh|migrier|portier|stell|sortier|fass|nimm|gib|hilf|kümmer|sorg|setz|hol|leg|pack|implementier|installier|konfigurier|debugg|analysier|untersuch|ermittle|find|richte|skizzier|entwirf|plane?|dokumentier|reproduzier|optimier|beschleunig|verkürz|trag|häng|öffne|schließ|committe?|pushe?|merge|rebase|deploye?|wandle|konvertier|formatier|verbesser|korrigier|ersetz|übersetz|verwende|nutze?|mess|miss|probier|versuch|liste|zähl|sag|nenn|erweiter|profil|deaktivier|aktivier|rechne)e?(?:re|n|le)?(?![\\p{L}])",
    ),
    "(?:kannst|könntest|würdest|magst|willst|könnten|könnt|können) (?:du|sie|ihr|wir)|ließe(?:n)? sich|lässt sich|ich (?:bräuchte|brauche|hätte gern\\w*|möchte(?! \\S+ nicht)|will|wünsche mir)|wir (?:brauchen|sollten|müssten)|bitte|lass uns|lasst uns|wäre (?:super|toll|nett|gut|schön)|hilf|mach du|[\\p{L}]+(?:en|ern|eln) bitte|(?:umstellen|umbenennen|aufräumen|einbauen|ergänzen|hinzufügen|entfernen|löschen|zusammenführen|anpassen|aktualisieren|migrieren|schreiben|prüfen|fixen|beheben)$|bau(?:st)? (?:du )?das ein|einmal [\\p{L}]+en",
  ),
};

// ---- French

const FR_OPEN =
  "et|puis|mais|donc|alors|ensuite|maintenant|ok|oui|merci de|bon|aussi|veuillez|s'il te plaît|stp|svp|d'abord|bonjour";

const FR: Cues = {
  decision:
    /(?:(?:j['’]ai|on a|nous avons|a été) (?:décid|choisi|opté|retenu)\p{L}*|(?:on|je|nous) [^?]{1,60}(?:plutôt que|au lieu d)|on part sur|partons sur|on garde|gardons|optons pour|je choisis|on prend)/iu,
  language:
    /(?<![\p{L}'’])(?:le|la|les|un|une|des|du|et|est|pas|je|tu|il|on|nous|vous|que|qui|dans|pour|avec|sur|ce|cette|ces|ne|sont|en|au|aux|mais|plus|sans|son|ses|mon|ma|mes|tout|tous|toutes|toujours|jamais|merci|ça|moi|chaque)(?![\p{L}])|(?<![\p{L}])(?:l|d|j|n|c|qu|s|t|m)['’]|[çêèàùœ]/gu,
  rule: word(
    "(?<!(?:qui|que|spinner) )(?:ne|n['’])\\s?(?!disparaît|servent|marche|fonctionne|sais|comprends)\\S+ (?:\\S+ )?(?:jamais|pas|aucune?|rien)(?! (?:encore|compris|su|arrivé|pourquoi))[^?]{0,60}",
    "plus jamais|jamais d[e'’]|jamais (?:en|dans|par|de|sur) \\S+|dans le doute|en cas de doute|on traite|\\d+ \\S+ (?:\\S+ ){0,3}(?:maximum|max|au plus)|(?:ce|il) serait bien (?:de|d['’]) ?[^?]{1,60}(?:chaque|toujours)|toujours (?!pas|plante|été|eu|à |dans |en train|le même|plante|au job|aussi)",
    "désormais|dorénavant|à l['’]avenir|à partir de maintenant|à partir d['’]aujourd['’]hui|dès maintenant|par défaut|systématiquement|sans exception|en permanence|partout|obligatoire\\w*|impérative\\w*|impératif|uniquement|exclusivement|strictement|en aucun cas|sous aucun prétexte|à chaque (?!ouverture|fois que j)|chaque fois que tu|interdiction|interdit[es]*|proscrit[es]*|prohibé|gelée?s?|gel du code|hors[- ]périmètre|tabou",
    "(?:doit|doivent|devra|devront|dois|devez)(?! (?:apparaît|être le cache|venir))\\b(?: \\S+){1,12}|il faut (?:toujours|que (?:chaque|tout|les|le|la)|impérativement|absolument)|il ne faut",
    "(?:sauf|excepté|hormis|à part|à l['’]exception|mais pas)|pas d['’](?:enum|écri|emoji|accès|abr)\\S*|(?:donc|,) pas d[e'’]|pas de nouve\\w*|aucune? (?!idée|problème|souci)\\S+|pas le (?:comment|quoi)|pas touche|on n['’]y touche|on (?:n['’]accepte|n['’]utilise|ne touche|privilégie|préfère|utilise toujours|évite|garde|reste)",
    opening(
      `${FR_OPEN}|toujours`,
      "évite[zr]?|privilégie[zr]?|préfère[zr]?|garde[zr]? |conserve[zr]? |veille[zr]? à|pense[zr]? à|assure[zr]?[- ]|n['’]oublie|abstiens|respecte[zr]?|limite[zr]?[- ]|contente-toi",
      "seule?s? |maximum|au (?:maximum|plus)|pas de |pas d['’]|aucune? (?!idée|problème)",
      "(?:réponds?|répondez|écris|écrivez|parle|explique)(?:[- ]moi)?(?: toujours| uniquement)? (?:en (?:français|anglais)|par|de façon|brièvement|sans|avec des phrases)",
      "demande[zr]?(?:[- ]moi)?(?: d['’]abord| toujours)? (?:avant|l['’])",
      "utilise[zr]? (?:seulement |[^?]{1,80}(?:plutôt que|au lieu d|et non|pas |partout|uniquement|toujours|dans tout|pour tou))",
      "(?:si|quand|lorsque?|dès que|avant d|avant que|après|à chaque fois|chaque fois|tant que|en cas de)\\b[^?]{3,100},\\s?(?:tu |vous |on )?(?:t['’]|m['’])?(?:arrêt|demand|préviens|dis|ajout|lanc|pose|parl|fais|mets|écri|vérifi|inclu|crée|stop|signal|attend|pens|n['’]|il faut)\\p{L}*",
    ),
    "(?:si|quand|dès que) [^?]{3,100}, (?:tu|vous|on) (?:t['’]|m['’]|me )?(?:arrêt|stopp|demand|préviens|parl|appell|ajout)\\p{L}*|(?:chaque|toute?s?|tous|les|tout)\\b[^?]{1,80}(?:doi(?:t|vent)|maximum|(?:sont|est|restent?|vont|va|passent?) (?:en |dans |par |toujours |à l['’]|au |figé|gelé|stocké|interdit|stable)|expliquent|sauf|validée?s? par|nécessite\\w*|passe par|requi)",
    "je (?:préfère|préférerais|veux|voudrais|souhaite|tiens à|refuse|n['’]accepte)\\b[^?]{0,30}(?:ne plus|ne pas|jamais|pas (?!de temps)|plus de|que (?:le|la|les|tout|chaque)|aucun|ce que)|je ne veux (?:pas|plus|aucun)",
    "(?:le droit|tu peux|vous pouvez)\\b[^?]{1,60}(?:, pas|mais pas|sauf|mais (?:ne|jamais))|(?:réservée?|limitée?s?) (?:à|aux)|reste(?:nt)? (?:\\S+ ){0,2}(?:utilisable|stable|inchangé|en lecture|tel|intact|compatible)|lecture seule|sans (?:me demander|demander|mon accord|mon feu vert|ma validation|m['’]en parler|en parler|prévenir)|de pair avec|au lieu de (?:deviner|supposer)|plutôt que de (?:deviner|supposer)|(?:en anglais|en français)\\b[^?]{0,10}(?:svp|stp|s['’]il|partout|, même)|même dans les tests|tourne encore|encore en \\S+ [\\d.]+, donc",
    "il serait bien que tu [^?]{1,60}(?:toujours|chaque|avant)|ce serait bien (?:que|si) tu [^?]{1,60}(?:toujours|chaque|avant)|compte comme|considér\\w+ comme|prends? l['’]habitude|ne dépasse",
  ),
  report: word(
    "(?:s['’]|n['’])?(?:est|a|ai|as|ont|avait|avons|sont) jamais|avant, |autrefois|à l['’]époque|c['’]est fini depuis|était interdit|aurait dû|aurait|aurions|serait jamais|si on avait|si nous avions|je n['’]ai jamais|j['’]ai (?:déjà|compté|compris)|n['’]a (?:renvoyé|jamais)|il ne restait|a tourné|est mort|est passée?|je crois qu|je ne sais pas|apparaît \\d+|(?:leur|la) (?:doc|documentation|spec|spécification)(?: \\S+){0,3} (?:dit|indique|demande|précise)|ça (?:marche|passe) toujours|(?:passe|marche|fonctionne) toujours (?:chez|sur)|dans la boîte|chez (?:mon|ma|leur)|a dû être|ça devait être|trop tard|je comprends",
  ),
  request: word(
    opening(
      FR_OPEN,
      "(?:ajoute|corrige|renomme|rédige|écris|crée|génère|mets?|fais|lance|exécute|supprime|enlève|retire|vire|trie|compare|explique|vérifie|regarde|jette|montre|trouve|cherche|analyse|examine|enquête|investigue|migre|déplace|convertis|remplace|refactorise|nettoie|mesure|profile|teste|documente|installe|configure|débogue|reproduis|dis|donne|liste|résume|propose|esquisse|prépare|termine|continue|implémente|passe|porte|sépare|découpe|fusionne|annule|restaure|ouvre|ferme|calcule|affiche|traduis|essaie|aide|répare|règle|améliore|optimise|active|désactive|intègre|répartis|découvre|détermine|identifie|transforme|reformate|commite|pousse|déploie)(?:z|r|s)?(?:-(?:moi|le|la|les|nous|lui|y|toi))?(?![\\p{L}'’])",
    ),
    "(?:peux|pourrais|pourriez|pouvez|veux|voudrais|voulez)[- ](?:tu|vous|bien)|(?:tu|vous) (?:peux|pourrais|pouvez|pourriez|veux bien|voulez bien)|on (?:peut|pourrait|essaie|essaye|va)|est-ce que tu (?:peux|pourrais|veux)|merci d['’]\\p{L}+|merci de|j['’]aurais besoin|j['’]ai besoin|je (?:voudrais|veux|souhaite|souhaiterais)|j['’]aimerais|il (?:faudrait|faut|me faut)|coup de main|ce serait (?:bien|super|top)|peut-on|(?:^|, )(?:aide)|occupe-toi|s['’]il (?:te|vous) plaît|stp|svp|veuillez|allons",
  ),
};

// ---- Spanish

const ES_OPEN =
  "y|pero|así que|entonces|luego|ahora|por favor|ok|vale|sí|también|además|primero|buenas|hola|siempre";

const ES: Cues = {
  decision:
    /(?:(?:he|hemos|se ha) (?:decidido|elegido|optado)|decid(?:í|imos)|elegí|elegimos|opt(?:é|amos) por|en (?:lugar|vez) de|nos quedamos con|vamos con|me quedo con|descart\p{L}+|usaremos)/iu,
  language:
    /(?<![\p{L}])(?:a|el|la|los|las|un|una|y|es|que|de|del|en|con|por|para|no|se|su|al|lo|como|más|pero|sus|me|ya|o|este|esta|sin|sobre|si|son|qué|cuando|muy|hay|nada|nunca|siempre|cada|las|mi|tu|ni|también|está|puedes|añade|desde|cómo|dos|hasta|todo|todos)(?![\p{L}])|[ñ¿¡]/gu,
  rule: word(
    "nunca(?! (?:entendí|supe|vi|pasó|desaparece|más se|lo había|ha ))|jamás|nunca más|siempre (?!pasa|falla|se cae|ha |funciona|he |igual)|a partir de ahora|de ahora en adelante|en adelante|de aquí en adelante|en el futuro|de hoy en adelante|por norma|por defecto|sin excepc\\w*|en todo momento|bajo ningún\\w* \\S+|en ningún caso|de ninguna manera|prohibid[oa]s?|terminantemente|obligatori[oa]s?|exclusivamente|únicamente|solamente|estrictamente|intocable|congelad[oa]s?",
    "(?:debe|deben|deberá|deberán|debes|ha de|han de|has de|tiene que|tienen que|tienes que)(?! (?:ser la caché|haber|sale))\\b(?: \\S+){1,12}|hay que (?:siempre|\\S+ (?:siempre|todas|todos|cada|antes))|no (?:se )?(?:puede|pueden|debe|deben|permite|permiten|acepto|aceptamos|admite|quiero|queremos|toques?|uses?|metas?|subas?|hagas?|añadas?|agregues?|borres?|elimines?|modifiques?|cambies?|commitees?|escribas?|instales?|rompas?|pongas?|toca|tocar|usar|usamos|soportamos|mezcles?|asumas|supongas|inventes|quites?|incluyas?|pushees?)(?! (?:saber|ser))",
    "nada de |nada más\\b.{0,3}$|y nada más|ningún(?:a)? (?!idea|problema)\\S+|ni (?:de|en) \\S+ ni|en ningún otro|solo (?:se )?(?:acepta\\w*|admit\\w*|correc\\w*|usa|permit\\w*|soporta\\w*|bug\\w*|arreglos|lectura)|salvo|excepto|menos (?:el|la|los) `|a excepción|fuera de(?:l)? alcance|de solo lectura|quieto|sin tocar|no se toca|quedarse como|queda como está",
    opening(
      ES_OPEN,
      "evita[dr]?|evite|prefier[eo]|usa (?:siempre|solo)|procura|asegúrate de (?:que )?(?:\\S+ )?(?:siempre|cada|tod|nunca)|asegúrate|recuerda|ten en cuenta|mant[eé]n |deja [^?]{1,40} (?:como|tal)|limita|respeta|acostúmbrate",
      "máximo|como (?:mucho|máximo)|solo |nada de|ningún|sin ",
      "(?:contesta|responde|escribe|háblame|contéstame|respóndeme|habla)(?:me)?(?: siempre| solo)? (?:en (?:español|inglés|castellano)|con (?:frases|pocas)|sin|de forma|breve)",
      "preg[uú]nta(?:me|r)?(?: siempre| primero)? (?:antes|en (?:lugar|vez))|consúltame|avísame (?:antes|siempre)",
      "(?:usa|utiliza|emplea) [^?]{1,80}(?:en (?:lugar|vez) de|y no |no |en todo|siempre|solo|para tod)",
      "(?:si te|si algo|si un\\p{L}*|si l[ao]s?|si falla|si|cuando|cada vez que|siempre que|antes de|después de|cada vez que cambies|al (?:cambiar|añadir|terminar|modificar)|mientras|en cuanto|ante la duda)\\b[^?]{3,100},\\s?(?:me |te |lo )?(?:pregunt|para|avis|añad|ejecut|pasa|inclu|actualiz|dime|detente|cre|documen|escrib|lanz|consult|comprueb|verific|haz|usa|pon|deja|no )\\p{L}*",
      "(?:los|las|todos los|todas las|l[oa]s nombres de) (?:variables|comentarios|mensajes|nombres|commits)\\b[^?]{0,40} en (?:inglés|ingles|español)",
    ),
    "(?:cada|tod[oa]s? l[oa]s?|l[oa]s|cualquier|el|la)\\b[^?]{1,80}(?:debe[n]?|tienen? que|ha[n]? de|como mucho|como máximo|se guardan?|se guarda| van (?:en|a|por)| va (?:en|a|por|siempre)|requieren?|necesitan? (?:el|la) (?:visto|aprob)|es estable|no se puede|explican|pasan? por|sin excepción|aprobad[oa]s? por|visto bueno)",
    "preferiría|prefiero|quiero que (?:siempre|tod\\p{L}*|cada|nunca|l[oa]s)|no quiero|no me gusta|estaría bien que [^?]{1,60}(?:siempre|antes de|cada)|me gustaría que (?:siempre|nunca|no)",
    "puedes\\b[^?]{1,60}(?:, pero no|pero (?:no|nunca)|salvo|excepto|menos)|sin (?:consultar\\w*|preguntar\\w*|mi permiso|avisar\\w*|mi aprobación|mi visto|hablar\\w*)|en (?:lugar|vez) de (?:suponer|adivinar|asumir|inventar)|el porqué, no|no el qué|incluso en los tests|también en los comentarios|seguimos con [^?]{1,40}así que|congelación|se consideran?|cuentan? como|que no (?:supere|pase)|se tratan? como|tratamos (?:l[oa]s )?\\p{L}+ como|(?:sería|estaría) bien \\p{L}+r [^?]{1,60}(?:cada|siempre)",
  ),
  report: word(
    "antes (?:había|teníamos|existía|era)|nunca (?:se )?\\p{L}+(?:ó|aron|ieron|aba|aban|ía|ían|é)|hace años|en su día|en aquella época|debería(?:n|mos)? haber|habría|hubiera|hubiese|si (?:estuviéramos|hubiéramos|tuviéramos)|nunca (?:entendí|supe)|deb(?:e|ió|ía) (?:de )?(?:ser|haber sido)|solo (?:quedaban|ha |quedaba|había)|ya (?:lo|la|he|es tarde)|(?:las|los) he contado|(?:sale|aparece) \\d+ veces|su (?:documentación|doc|guía)(?: \\S+){0,3} (?:dice|indica|pide)|en la empresa de|creo que|ni idea|qué raro|murió|pasó al|estuvo|siempre pasa|me parece|ahora lo entiendo",
  ),
  request: word(
    opening(
      ES_OPEN,
      "(?:añade|agrega|arregla|corrige|renombra|cambia|redacta|escribe|crea|genera|haz|ejecuta|lanza|corre|elimina|borra|quita|ordena|compara|explica|revisa|mira|muestra|busca|encuentra|analiza|examina|investiga|migra|mueve|convierte|reemplaza|sustituye|refactoriza|limpia|mide|perfila|prueba|documenta|instala|configura|depura|reproduce|di|dime|dame|lista|resume|propón|propon|prepara|termina|continúa|implementa|pasa|porta|separa|divide|fusiona|deshaz|restaura|abre|cierra|calcula|averigua|traduce|intenta|ayuda|repara|mejora|optimiza|activa|desactiva|integra|actualiza|comprueba|verifica|pon|sube|despliega|junta|transforma|identifica|determina|esboza|describe|recomienda|échale|echa|saca|une|usa)(?:me|lo|la|los|las|nos|le|selo|melo)?(?![\\p{L}])|(?:explíca|investíga|recomiénda|añáde|arrégla|revísa|ponlo|hazlo|múestra|muéstra|pása|búsca|dímelo|escríbe|cámbia|ayúda|prepára|compára|míra|échal)\\p{L}{1,6}",
    ),
    "(?:puedes|podrías|podéis|puede|podría|quieres|te importa|te importaría|me puedes|me podrías)(?! (?:leer|reorganizar))|necesito|necesitamos|necesitaría|quiero|quisiera|me gustaría|vamos a|a ver si|por favor|hace falta|hay que|habría que|¿?(?:me|le|nos) (?:echas|pasas|haces|ayudas|explicas|das|cambias|miras)|lo haces tú|échame|una mano|estaría bien|convendría|toca \\p{L}+r|deberíamos",
  ),
};

// ---- Portuguese

const PT_OPEN = "e|mas|então|depois|agora|por favor|ok|sim|também|além disso|primeiro|oi|olá|sempre|aí";

const PT: Cues = {
  decision:
    /(?:decid(?:i|imos|ido)|escolh(?:i|emos|ido)|opt(?:ei|amos) por|em vez de|no lugar d|ao invés de|ficamos com|vamos de|vamos com|descart\p{L}+|usaremos|vamos usar)/iu,
  language:
    /(?<![\p{L}])(?:o|a|os|as|um|uma|e|é|que|de|do|da|dos|das|em|no|na|nos|nas|com|por|para|pra|não|se|seu|ao|mais|mas|me|já|ou|este|esta|isso|sem|sobre|são|qual|quando|muito|você|nunca|sempre|cada|meu|minha|também|está|pelo|pela|foi|até|ele|ela|tá|todo|todos|pro)(?![\p{L}])|[ãõ]/gu,
  rule: word(
    "nunca(?! (?:entendi|soube|vi|teria|some|mais teria))|jamais|nunca mais|sempre(?! (?:passa|falha|cai|foi|funciona|quebra|dá|trava))|de agora em diante|daqui (?:pra|para) (?:frente|a frente)|a partir de agora|a partir de hoje|no futuro|por padrão|sem exceç\\w*|em hipótese alguma|de jeito nenhum|em nenhuma hipótese|em nenhum outro|sob nenhuma circunstância|proibid[oa]s?|obrigatóri[oa]s?|exclusivamente|somente|apenas|unicamente|estritamente|congelad[oa]s?|intocável",
    "(?:deve|devem|deverá|deverão|precisa|precisam|têm que|tem que|tem de|têm de)(?! (?:ter|haver|ser o cache|aparece))\\b(?: \\S+){1,12}|não (?:se )?(?:pode|podem|deve|devem|aceito|aceitamos|quero|queremos|mexa|mexe|use|usa|adicione|adiciona|faça|faz|apague|apaga|altere|altera|mude|muda|commite|commita|coloque|coloca|toque|toca|escreva|escreve|instale|instala|quebre|quebra|chuta|chute|invente|invente|suba|sobe|remova|inclua|crie|dê|é (?:permitid|aceit)\\w*)(?! (?:saber|ser))",
    "nada de |nada mais|nenhum(?:a)? (?!ideia|problema)\\S+|só (?:correç\\w*|aceit\\w*|bug\\w*|pode\\w*|use|leitura|suport\\w*)|exceto|menos o|menos a|com exceção|salvo|fora do escopo|somente leitura|fica como está|ficam? (?:em|como)|não mexa|mas (?:escrever|gravar|alterar|apagar) não|mais do que isso não|não passa\\b|não o quê",
    opening(
      PT_OPEN,
      "evite|evita|prefira|prefere|dê preferência|certifique-se|garanta|garante|lembre-se|lembr(?:ando|a) que|mantenha|mantém|deixe [^?]{1,40} (?:como|intact)|limite|respeite|acostume-se|tome cuidado",
      "máximo|no máximo|só |nada de|nenhum|sem ",
      "(?:responda|responde|escreva|escreve|fale|fala)(?:-me| comigo| pra mim)?(?: sempre| só)? (?:em (?:português|inglês)|com (?:frases|poucas)|sem|de forma|curto)",
      "pergunt[ea](?:-me|r)?(?: sempre| primeiro)? (?:antes|em vez|ao invés)|me (?:pergunte|avise|consulte) (?:antes|sempre)",
      "(?:use|usa|utilize) [^?]{1,80}(?:no lugar d|em vez d|ao invés|e não |no projeto inteiro|em todo|sempre|só|para tod)",
      "(?:se|quando|sempre que|toda vez que|cada vez que|antes de|depois de|ao (?:mudar|adicionar|terminar|alterar)|enquanto|assim que|na dúvida|em caso de)\\b[^?]{3,100}[,:]?\\s?(?:me )?(?:pergunt|pare|para |avis|adicion|rode|roda|inclu|atualiz|diga|crie|cria|document|escrev|execut|chame|consult|verifi|faça|use|não )\\p{L}*",
      "(?:os |as |todos os |todas as )?(?:nomes? de variáve(?:l|is)|nome de variavel|variáveis|comentários?|mensagens de commit|commits?)\\b[^?]{0,40}(?:em (?:inglês|ingles|português)|explica)",
    ),
    "(?:cada|tod[oa]s? (?:[oa]s? )?|os|as|qualquer|o|a|mudanças|alterações|arquivos)\\b[^?]{1,80}(?:devem?|precisam?|têm? (?:que|de)|no máximo|até \\d+|são (?:guardad|armazenad|salv)\\w*|vão (?:em|para)|requerem?|exigem?|precisam? (?:de|da) (?:aprovação|ok)|é estável|não pode\\w*|explicam?|passam? por|sem exceção|aprovad[oa]s? por|tabu)",
    "prefiro|preferia|preferiria|quero que (?:sempre|tod\\p{L}*|cada|nunca|[oa]s)|não quero|não gosto|seria bom (?:que|se) você [^?]{1,60}(?:sempre|antes de|cada)|seria legal [^?]{1,60}(?:sempre|antes|cada)|só peço que|faço questão",
    "pode(?:s)?\\b[^?]{1,60}(?:, mas|mas (?:não|nunca)|menos|exceto)|sem (?:falar|perguntar|consultar|minha|meu|avisar|autorização|me)|em vez de (?:adivinhar|supor|chutar)|até nos testes|inclusive nos|ainda está n[oa] [^?]{1,40}então|freeze|contam? como|são tratad[oa]s como|que não (?:passe|ultrapasse)|tratamos \\p{L}+ como|seria bom \\p{L}+r [^?]{1,60}(?:cada|sempre)|continuar funcionando|continua[r]? compatível",
  ),
  report: word(
    "antes (?:havia|tinha|existia)|nunca (?:se )?\\p{L}+(?:ou|eu|iu|ava|avam|ia|iam|aram|eram)|antigamente|faz anos|há anos|na época|devíamos ter|deveríamos ter|teria|teríamos|se a gente estivesse|se (?:estivéssemos|tivéssemos)|nunca entendi|deve ter sido|só (?:tinha|retornou|restavam|havia)|já (?:fiz|fizemos|era|foi)|eu contei|aparece \\d+ vezes|a documentação(?: \\S+){0,3} (?:diz|pede|indica)|na empresa d|acho que|não faço ideia|que estranho|morreu|passou na|sempre passa|agora entendi|ficou rodando|rodou",
  ),
  request: word(
    opening(
      PT_OPEN,
      "(?:adiciona|adicione|acrescenta|acrescente|arruma|arrume|corrige|corrija|conserta|conserte|renomeia|renomeie|muda|mude|troca|troque|altera|altere|escreve|escreva|redija|cria|crie|gera|gere|faz|faça|roda|rode|executa|execute|remove|remova|apaga|apague|tira|tire|ordena|ordene|compara|compare|explica|explique|revisa|revise|olha|olhe|mostra|mostre|procura|procure|encontra|encontre|acha|analisa|analise|examina|examine|investiga|investigue|migra|migre|move|mova|converte|converta|substitui|substitua|refatora|refatore|limpa|limpe|mede|meça|testa|teste|documenta|documente|instala|instale|configura|configure|depura|depure|reproduz|reproduza|diz|diga|me diga|dá|dê|lista|liste|resume|resuma|propõe|proponha|prepara|prepare|termina|termine|continua|continue|implementa|implemente|passa|passe|porta|porte|separa|separe|divide|divida|junta|junte|desfaz|desfaça|restaura|restaure|abre|abra|fecha|feche|calcula|calcule|descobre|descubra|traduz|traduza|tenta|tente|ajuda|ajude|melhora|melhore|otimiza|otimize|ativa|ative|desativa|desative|integra|integre|atualiza|atualize|verifica|verifique|confere|confira|coloca|coloque|bota|sobe|suba|publica|publique|transforma|transforme|identifica|identifique|esboça|esboce|descreva|recomenda|recomende|mescla|usa|use|veja|vê|bora|vamos)(?:-(?:me|o|a|os|as|lo|la))?(?![\\p{L}])",
      "me (?:explica|explique|mostra|mostre|ajuda|ajude|dá|dê|diz|diga|passa|faz|manda|escreve)",
    ),
    "(?:pode|poderia|podes|podia|consegue|conseguiria|quer|você (?:pode|poderia|consegue))(?! (?:ler|refatorar))|preciso|precisamos|precisava|quero|(?<!que eu )queria|gostaria|eu gostaria|por favor|dá (?:pra|para)|bora|vamos|seria (?:bom|legal|ótimo)|tem como|falta \\p{L}+r|temos que|uma mão|me ajuda|passa um",
  ),
};

// ---- Russian

const RU_OPEN =
  "и|а|но|пожалуйста|плиз|потом|затем|теперь|сначала|ок|да|также|ещё|еще|давай|привет|дальше|только";

const RU: Cues = {
  decision:
    /(?:решил\p{L}*|решено|выбра\p{L}+|вместо|остановил\p{L}+ на|возьмём|берём|отказ\p{L}+ от|оставляем|оставим)/iu,
  language: /[а-яё]/gu,
  rule: word(
    "никогда(?! не (?:понимал|знал|видел|слышал|исчезает|случил))|больше никогда|всегда(?! (?:проходит|падает|работал|был|так|падал))|впредь|с этого момента|отныне|с сегодняшнего|в будущем|в дальнейшем|по умолчанию|без исключений|ни в коем случае|ни при каких|ни за что|категорически|запрещ\\p{L}*|запрет\\p{L}*|нельзя|недопустим\\p{L}*|обязательно|обязан\\p{L}*|исключительно|строго|максимум|не более|не больше|не дольше|не длиннее|не менее|не допускается|заморо\\p{L}*|фриз|табу|неприкоснове\\p{L}*|неизменн\\p{L}*|нигде (?:больше|кроме)|и точка",
    "(?:должн[аоы]?|должен)(?! (?:был|встречается))(?: \\S+){1,12}|(?:нужно|надо|следует|необходимо) (?:всегда|каждый|перед|после|согласовывать|сначала|избегать|\\S+ (?:всегда|каждый))",
    `${opening(RU_OPEN, "не (?!знаю|понимаю|помню|работает|вижу|могу|хватает|уверен|волнуй|только|важно|так|был|хочу знать|очень|нужн\\p{L}* ли)\\p{L}+(?:й|йте|и|ите|ь|ть|ться|ем|им|айся|йся)(?![\\p{L}])")}`,
    "не (?:трогать|трогай|использовать|используй|менять|меняй|пушить|пушь|коммить|коммитить|добавлять|добавляй|удалять|удаляй|ломать|ломай|форматируем|принимаем|принимаю|поддерживаем|пропущу|пишем|используем|хочу (?:больше )?(?:видеть|чтобы)|хотелось бы|нужн[аоы]?,? (?:вообще|совсем|нигде)|нужен\\b|нужны\\b|должн\\p{L}+|додумывай|гадай|гадать)",
    "(?:используй|бери|пиши|меняй|трогай|запускай)(?:те)? (?:\\S+ )?только|(?:используй|пиши|бери)(?:те)? [^?]{1,60}(?:вместо|во вс(?:ём|ем|ех)|везде|всегда)|никаких|никакого|никакой(?! идеи)|только (?:через|в |на |по|для|багфикс\\p{L}*|чтение|csv|если|после|на английском)|тока через|кроме|за исключением|исключая|а не (?:что|додумывай|гадай|\\p{L}+)|вместо (?:того, чтобы|догадок|`)|предпочит\\p{L}+|лучше (?:\\S+ ){1,4}чем",
    opening(
      RU_OPEN,
      "следи(?:те)?|избегай(?:те)?|старайся|убедись|убеждайся|помни(?:те)?|учти(?:те)?|имей в виду|соблюдай|придерживайся|заведи привычку|спрашивай|уточняй|согласовывай|предпочитай|держи(?:сь)?",
      "(?:отвечай|пиши|говори|объясняй|комментируй)(?:те)?(?: мне| всегда| только)?",
      "(?:при (?:любом|каждом|каждой|изменении|добавлении)|если|когда|как только|каждый раз|всякий раз|перед (?:тем|каждым|любым)|прежде чем|после каждо\\p{L}+|до тех пор)[^?]{3,100}[,—–-]\\s?(?:то )?(?:остановись|стоп|напиши|спрашивай|спроси|уточняй|уточни|добавляй|добавь|запускай|обновляй|пиши|проверяй|говори|скажи|предупре|сообщ|не |создавай|делай|прогоняй)\\p{L}*",
      "при (?:любом|каждом|любых|каждой)",
      "максимум|никаких|только |все(?:гда)? ",
    ),
    "(?:все|каждый|каждая|каждое|любые|любое|любой|изменения|комментарии|коммиты|сообщения|имена|публичный|публичные|папку|файлы|тесты?)(?: [^?]{1,80})? (?:должн\\p{L}+|на английском|в utc|через|только|не |объясня\\p{L}+|согласов\\p{L}+|храни\\p{L}+|требу\\p{L}+|обязан\\p{L}*|максимум|стабил\\p{L}+|до \\d+)",
    "(?:мож(?:но|ешь)|читать)[^?]{1,60}(?:, (?:но|кроме)|писать нельзя|но не|кроме)|без (?:моего|спроса|согласования|разрешения|предупреждения|моей|вопросов)|согласов\\p{L}+ с|одобр\\p{L}+|сначала (?:спроси|спрашивай|согласуй)|было бы хорошо, если бы ты (?:всегда|каждый|перед)|хорошо бы ты всегда|прежде чем (?:\\S+ ){1,4}(?:спрашивай|спроси)|спрашивай, прежде|считаем ошибк\\p{L}+|считаются|на проде (?:до сих пор|ещё|все ещё|всё ещё)|хочу, чтобы (?:все|всегда|каждый|ты всегда|не )|я (?:предпочитаю|настаиваю)",
  ),
  report: word(
    "раньше (?:у нас )?(?:было|был|была|действовал|запрещал)\\p{L}*|давно (?:отменили|никто|забыли)|будь у нас|если бы (?:мы|у нас) (?:были|был|взяли)|бы никогда|никогда бы|надо было|следовало|поезд ушёл|никогда(?! не \\p{L}+(?:й|йте|(?<!л)и|ите|ьте?)(?!\\p{L}))(?: \\S+){0,4} \\p{L}+л(?:а|о|и|ся|ась|ось|ись)?|никогда не понимал\\p{L}*|наверное|должно быть|понятия не имею|отдавал\\p{L}*|оставалось|умер\\p{L}*|прошла|встречается|посчитал\\p{L}*|у (?:брата|сестры|друга|жены|мужа)|документации? (?:\\S+ ){0,3}(?:сказано|написано|говорится)|в их документации|теперь понятно|по-моему|уже влил|странно|всегда проходит|уже (?:сделал|исправил|смерджил)\\p{L}*",
  ),
  request: word(
    opening(
      RU_OPEN,
      "(?:добав|исправ|почин|поправ|переимен|назов|напиш|созда|сдела|запуст|прогон|удал|убер|отсортир|сравн|объясн|провер|посмотр|глян|взглян|покаж|найд|выясн|поищ|проанализир|исслед|разбер|перенес|перевед|преобраз|замен|отрефактор|почист|очист|измер|протестир|задокументир|установ|настро|отлад|воспроизвед|скаж|дай|перечисл|резюмир|предлож|подготов|законч|продолж|реализ|раздел|разбе|объедин|отмен|откат|восстанов|откро|закро|посчита|попроб|помог|улучш|оптимизир|включ|выключ|интегрир|обнов|постав|выкат|собер|состав|наброс|опиш|порекоменд|подключ|расскаж|сгенерир|вынес|верн|скле|профилир|разверн|укаж|сократ|измен|помен|распиш|использу|оформ|нарис|закоммит|запуш|залей|сформир|подсчита|подним|портир|мигрир)\\p{L}{0,4}(?![\\p{L}])",
      "(?:перевести|добавить|исправить|починить|удалить|убрать|переименовать|обновить|сравнить|написать|сделать|проверить|перенести|создать)(?![\\p{L}])",
    ),
    "(?:можешь|могли бы|можете|мог бы|сможешь|не мог бы|поможешь|сделаешь|объяснишь|покажешь|глянешь|посмотришь|давай|давайте|хочу|хотелось бы(?! больше)|(?<!то,? что )нужн[аоы]?|нужен|надо(?! было)|пожалуйста|пжл|плиз|прошу|хорошо бы|неплохо бы|было бы (?:здорово|неплохо)|помоги|может,? (?:уберём|сделаем|стоит)|требуется|собери)",
  ),
};

// ---- Chinese and Japanese: written without blanks, so cues stand anywhere

const ZH: Cues = {
  decision: /决定|选择了|选用|采用|改用|而不是|就用|选\s?[A-Da-d1-4]|放弃|不采用|所以(?:我们)?(?:用|选)/u,
  language: /\p{Script=Han}/gu,
  rule: /不要(?!紧|是)|别(?!的|人|说|名|处|致|是|担心|客气)|必须(?!”|」|"|的)|绝不|绝对不|永远(?!不消失)|永不(?!消失)|禁止|务必|总是要|不能(?!复现|用了吗|理解)|不得|不许|不可以|不准|请勿|勿|一律|统一|从现在(?:起|开始)|从今(?:以后|往后|天起)|以后(?!再说吧)|今后|往后|始终|任何情况|无论(?:如何|什么)|每次|每当|每(?:个|加|改|写|新增|条|一)[^。？]{0,30}(?:都|要|记得|不超过|必须|最多|得)|凡是|所有[^。？]{0,30}(?:都|一律|必须|要|得|走|用|只)|都(?:要|得|必须|走|用|应|放|写|存)|只(?:能|用|接受|支持|允许|许|读|改|收|在|准|可以|做|修)|仅(?:限|支持|允许|用)|优先|尽量|不再(?!报错)|冻结|不在范围|不(?:超过|多于|大于|接受|允许|支持|收|行(?!了)|动|碰)|最多|至多|上限|以内|除了[^。？]{1,40}(?:以外|之外|都|不)|除外|例外|先(?:问|跟我|让|得|经|征)|得先|(?:没|未经?|没有)我?(?:的)?(?:同意|批准|允许|许可)|同意(?:别|不)|而不是|要问|不要猜|别猜|记得|注意(?!到)|保持|应(?:该)?(?:始终|放在|写|保持|说明|解释|使用)|不太想(?:再)?(?:看到|见)|不想(?:再)?(?:看到|见)|用(?:中文|英文|英语|公制)(?:回|写|答|来)|(?:回答|回复)[^。？]{0,8}(?:简短|简洁|用|不要)|养成|习惯|停手|就停|停下来|不合并|不予|算作?(?:错误|失败)|视为|视作|当作错误|用不了|也得|当(?:作|成|做)?错误|(?:变量|函数|类|文件|分支|方法)名?[^。]{0,6}用(?:英文|中文)|放在?[^。？]{1,20}(?:下面|里|目录)[^。？]{0,8}(?:别处|其他|不)/u,
  report:
    /以前[^。]{0,20}(?:有|规矩|规定|说)|早就|要是当初|当初(?:应该|用)|本来(?:应该|可以)|不知道为什么|奇怪|总是能过|我数过|出现了?\s?\d+\s?次|(?:文档|规范|手册)(?:里|上|中)?(?:说|写着|写的)|朋友|同事(?:说|公司)|难怪|感觉|应该是|一定是[^。]{0,10}(?:缓存|问题)|已经|合了|挂了|怪不得|原来|从来没(?:搞|弄)?(?:懂|明白)|一直没(?:懂|明白)/u,
  request:
    /帮(?:我|忙|个忙|看)|请(?!勿|问)|劳驾|麻烦(?!了)|能(?:不能|否)?[^。]{0,12}(?:一下|吗|么)|可以[^。]{0,30}(?:吗|吧)|(?<!我)想(?:请你|让你)|(?:^|[，,])我想(?:要|请)|我要|需要|给(?:我|个)|(?:修|改|写|看|查|跑|加|删|做|更新|统计|对比|比较|解释|说明|实现|优化|整理|检查|排查|测试|分析|生成|总结|列|画|转|调|补|重构|重命名|迁移|部署|合并|清理|试|找|弄|换|拆|搞)(?:一下|一遍|一个|一份|一张|个|成|出|掉|到|下)|^(?:接下来|下一步|先|然后|再|现在)?(?:把|将|修复|修一下|更新|添加|增加|删除|移除|重命名|改名|实现|编写|写|创建|生成|检查|排查|分析|对比|比较|解释|说明|运行|跑|测试|部署|合并|提交|列出|总结|整理|优化|重构|迁移|升级|安装|配置|画|查|找|看看|试试|在[^。]{1,20}(?:跑|加|添|改|写))|(?:^|[，,])(?:跑|把|写|改|做|查|看看|告诉我|给个|看下)|来弄|弄一下|怎么样？$|让[^。]{1,20}(?:重新|能)|呗|改改|再改|行吗|好吗|吧[？?。]?$/u,
};

const JA: Cues = {
  decision:
    /にします|に決め|採用し|を選び|を選ん|ではなく|の代わりに|で行きましょう|でいきます|をやめて|することにし/u,
  language: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
  rule: /絶対(?!ならなかった|に違い)|必ず|決して|常に|今後|これから(?:は|も|ずっと)|以後|以降は|いつも[^。]{0,20}(?:して|ください|こと)|毎回|都度|いかなる|どんな場合|しないで|ないでください|ないで(?:$|[。、！]|もらえ|ほしい|くださ|いただ|ね|よ)|ないこと|てはいけ|ではいけ|てはなら|ではなら|てはダメ|ちゃダメ|はダメ|はだめ|NG|ｎｇ|ng(?:で|です|。|$)|禁止|厳禁|不可|のみ|だけ(?:に|で|を|は|使|許|受|対)|に限(?:る|定|り)|以内|以下に|まで(?:に(?:して|収)|とする|です)|上限|最大|対象外|対象に含め|除外|除いて|以外|範囲外|凍結|フリーズ|触らない|触れない|変更しない|(?:の|た)?ほうがいい|方針|ルール(?:です|として|は)|(?:する|した|追加|変更|触る|コミットする)(?:とき|際|場合|前|後)(?:は|には|に)?[^。？]{0,40}(?:こと|ください|する(?:。|$)|お願い|用意|実行|追加|確認)|(?:する|す|した)前に(?:は)?[^。？]{0,20}(?:毎回|必ず|一声|確認|聞い|声|相談|聞く)|したら[^。？]{0,30}(?:都度|必ず|止め|やめ|連絡|更新|も)|たら、?[^。？]{0,20}(?:止め|やめ|連絡|報告|相談|聞い)|ずに[^。？]{0,20}(?:聞|確認|質問)|推測(?:せず|しない)|勝手に|許可なく|承認(?:が|を|なし|なく)|事前に|了承|相談なし|一声|優先|ではなく|じゃなく|代わりに|よりも?[^。]{0,20}(?:優先|好|使)|(?:べき|なければならない|ねばならない|なければいけない|必須|必要があります|必要です)(?!だった|だと|」|とある)|こと(?:。|$)|返答は|回答は|返事は|日本語で|英語で|箇条書き|短め|簡潔に|もう見たくない|見たくない|はもう要ら|いりません(?:。|$)|不要です|使えません|使わない|入れない|置かない|みなす|扱い(?:です|とする|に)|エラーとして|統一|徹底|習慣|心がけ|オンリー|限定|維持|そのまま(?:に|で)/u,
  report:
    /昔は|以前は|かつて|もう誰も|だったら|なかったのに|すべきだった|べきだった|違いない|いまだに|未だに|分からない|わからない|数えました|回も出て|とあるけど|と書いて(?:あ|い)|(?:仕様書|ドキュメント)に(?:は)?「|しか返して|空きが|死にました|マージしました|理由は不明|もう遅い|と思う(?:。|$)|ですね(?:。|$)|通りました|友人の会社|友達の会社|の会社では|いつも(?:通る|通って|成功)/u,
  request:
    /(?:て|で)(?:ください|下さい|くれ(?:る|ます|ません|ない)|もらえ(?:る|ます|ません|ない)|もらって|いただけ|いただき|ほしい|欲しい|頂け|おいて|みて|よ$)|お願い|おねがい|(?:たい|ほしい|欲しい)(?:です|んです|。|$)|(?:ましょう|しよう|よう)(?:か)?(?:。|$|か[?？]?$)|(?:書|直し|調べ|追加し|追記し|修正し|変更し|削除し|消し|作っ|見|教え|確認し|実行し|説明し|比較し|まとめ|更新し|移行し|変え|走らせ|探し|試し|外し|揃え|並べ替え|分け|整理し|実装し|テストし|出し|入れ|書い|起こし|から直し|戻し|動かし|回し|測っ|計測し|調査し|特定し|リネームし)て(?:$|[。！!ね])|頼む|よろしく|(?:追加|修正|変更|削除|更新|調査|確認|説明|実装|作成|移行)(?:を?(?:して|お願い|頼)|$)|してくれ/u,
};

const IT: Cues = {
  decision: /(?:ho deciso|abbiamo deciso|scelt\p{L}|invece di|piuttosto che|andiamo con|teniamo)/iu,
  language:
    /(?<![\p{L}])(?:il|lo|gli|che|di|non|è|per|con|una|sono|del|della|nel|nella|questo|tutti|tutte|come|anche|sempre|mai|puoi|dei|delle)(?![\p{L}])/gu,
  rule: word(
    "non \\p{L}+ mai|mai (?!stato|capito|visto)|sempre (?!passa|stato|fallisce)|d['’]ora in (?:poi|avanti)|in futuro|vietat[oia]|proibit[oia]|soltanto|esclusivamente|senza eccezioni|(?:deve|devono|dovrà)(?! essere stato) \\S+|evita|preferisci|non (?:usare|toccare|aggiungere|modificare|committare|fare|scrivere|si può|voglio|accetto)|in nessun caso|prima di [^?]{3,60}(?:chiedi|esegui)|ogni volta che|rispondi (?:sempre )?in|al massimo|massimo \\d+|tranne|eccetto|senza (?:chiedere|il mio)|invece di",
  ),
  report: word(
    "una volta (?:c['’]era|avevamo)|avremmo dovuto|sarebbe|non ho mai|deve essere stat\\p{L}|credo che|ho contato|nessuna idea|ho già",
  ),
  request: word(
    opening(
      "e|ma|poi|ora|per favore",
      "(?:aggiungi|correggi|rinomina|scrivi|crea|genera|fai|esegui|rimuovi|elimina|togli|ordina|confronta|spiega|controlla|guarda|mostra|cerca|trova|analizza|migra|sposta|converti|sostituisci|aggiorna|verifica|implementa|dimmi|dammi|riassumi|proponi|sistema|ripara|lancia|prova|aiuta)(?:mi|lo|la|li|le)?(?![\\p{L}])",
    ),
    "puoi|potresti|vorrei|voglio|ho bisogno|mi serve|per favore|dovremmo|facciamo",
  ),
};

const KO: Cues = {
  decision: /하기로 (?:했|결정)|대신|선택했|로 하겠습니다/u,
  language: /\p{Script=Hangul}/gu,
  rule: /절대|반드시|항상(?! 통과| 실패)|앞으로|하지 ?마|지 ?마세요|지 ?말|금지|만 사용|안 ?됩니다|안 돼|않도록|때마다|이내|초과하지|제외|먼저 (?:물어|확인|승인)|대신|해야 (?:한다|합니다|해)|하지 않는다|한국어로|영어로/u,
  report: /예전에는|이미|아마|했어야|몰랐|이상하|모르겠/u,
  request: /주세요|해 ?줘|줄래|줄 수|부탁|바랍니다|하자|합시다|싶어|싶습니다|필요(?:해|합니다)/u,
};

const LATIN: readonly Cues[] = [EN, DE, FR, ES, PT, IT];

/** The cues that apply to a text: of the language whose script or words it has, of several where they tie. */
export function cuesFor(text: string): readonly Cues[] {
  const read = text.slice(0, 600).toLowerCase();
  const letters = read.match(/\p{L}/gu)?.length ?? 0;
  const share = (cues: Cues): number => (read.match(cues.language)?.length ?? 0) / Math.max(1, letters);
  if (share(KO) > 0.2) return [KO];
  if (share(JA) > 0.08) return [JA];
  if (share(ZH) > 0.15) return [ZH];
  if (share(RU) > 0.25) return [RU];
  const counts = LATIN.map((cues) => read.match(cues.language)?.length ?? 0);
  const most = Math.max(...counts);
  // A short sentence may have no word that tells: what is near the best guess is read as well.
  const least = most <= 2 ? most - 1 : most;
  return LATIN.filter((_, at) => (counts[at] ?? 0) >= least);
}
