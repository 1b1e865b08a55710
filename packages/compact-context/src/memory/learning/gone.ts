// What a text says held before: phrases that name what is given up, gone or replaced.

/** Verbs before what is left behind, and words behind it. */
const LEAVES =
  "(?:cancell?ed|dumped|vetoed|gave up|given up(?: on)?|gone off|unsubscribed from|closed)|ripped out|(?<=^|(?:^|[\\s,])(?:i|we) )left(?! for| so| and| at)|not going back to|stopped(?: using)?|dropped(?! (?:\\S+ ){0,4}?(?:to|from|by)(?![\\p{L}]))|ditched|replaced(?! by| with)|retiring|retired|abandoned|gave up on|(?:got|getting) rid of|swapped(?: out)?|killed|phased out|sold(?! on| out)|scrapped|axed|archived|walked away from|pulled the plug on|(?:moved|moving|switched|migrated|got|are|['’]re) off(?: of)?|quit|(?:ai|a|avons|ont) (?:abandonné|arrêté|quitté|vendu|laissé tomber)|(?:dejé|dejamos|abandonamos|vendí|vendimos)(?: de (?:usar|trabajar en))?|(?:salí|salimos) de|(?:saí|saímos) d[aeo]s?|(?:parei|paramos) (?:com|de usar)|largamos|vendi|(?:бросил|продал|закрыл)\\p{L}*|(?:ушёл|ушла|ушли) из";
const LEFT =
  "dead|gone(?! home| to| out| on)|history|retired|deprecated|discontinued|renamed|replaced|shut down|swapped out|dropped|phased out|decommissioned|sunset|off the table|no more|out";
const GIVEN_UP = new RegExp(
  `(?<![\\p{L}])(?:${LEAVES}) (?:the |our |my |le |la |les |l['’]|el |los |o |a |os |as )?([^,;]+?)(?=[.,;]|$| (?:with|for|pour|para|por|yesterday|already|a (?:week|month|year) ago|in favou?r of|last|over|in|on|for|so|yesterday|this|today|and|entirely|completely)(?![\\p{L}]))`,
  "giu",
);
/** Somebody or something is gone for good. */
const LOST =
  /(?:^|[,;:.!] |\s(?:and|but|because|since) )(?:so |the |our |my |old )*([^,;:.!]{2,30}?) (?:died|broke down|(?:was|got) (?:stolen|scrapped|sold)|(?:has |have )?(?:closed|shut) down|folded|quit|resigned|retired|left(?! the | my | our | a )|moved (?:out|away)|passed away|went (?:bankrupt|under|out of business)|got fired|is on (?:sabbatical|parental leave|maternity leave)|expired|se (?:jubiló|fue)|gibt es nicht mehr|est parti\p{L}?(?= à la retraite)|hat (?:aufgehört|gekündigt)|ist (?:komplett )?raus)(?=[\s,;.!]|$)|(?:^|[，。、])([^，。、]{1,10}?)(?:さん)?(?:が(?:異動|退職|辞め)|卖了|坏了|离职了)/giu;
/** Phrases that name what held before: not X, instead of X, no longer X, from X to Y. */
const GONE: readonly RegExp[] = [
  /(?:^|[,;]\s*|\s)(?:and )?not ([^,.;(]+?)(?=[.,;!(]|$| any ?more| but | like )/giu,
  /(?:no longer|(?:don['’]t|do not|doesn['’]t|isn['’]t)) ([^,;]+?)(?= any ?(?:more|longer)|[.,;]|$| with )/giu,
  GIVEN_UP,
  /(?<!(?:thinking|consider|explor|evaluat|want|would|like|wish|hop|plan|might|may|whether|tr[iy]|tempted|should|could)[^.,;]{0,30})(?:mov|switch|migrat|chang|pivot|transition)(?:e|ed|ing)?(?: \w+){0,4} from ([^,;]+?) to /giu,
  new RegExp(
    `(?:^|[,;:] |\\s(?:and|but|so|since) )(?:the |our |so )*([^,;:]{2,40}?)(?: (?:is|are|has|have|was|were|got|get)|['’]s)(?: (?:been|being|finally|all|now))* (?:${LEFT})(?![\\p{L}])`,
    "giu",
  ),
  /(?:^|\s)(\p{Lu}[\p{L}'’-]+)(?:['’]s last day| is no longer| was too (?!\p{L}+ to ))/gu,
  /(?:^|[,;] )(\p{Lu}[\p{L}'’-]+) (?:left|quit|resigned|retired|moved on)(?= (?:so|and|us|the|last|this|in)|[,;.]|$)/gu,
  LOST,
  /(?:hat|habe|haben) (?:die|den|das|mit (?:der|dem)) (\p{L}+) (?:aufgegeben|abgeschafft|gekündigt|aufgehört|verkauft)/giu,
  /(?:isn['’]t|is not|['’]s not) (\p{Lu}[\p{L}'’-]+) (?:who|that)(?![\p{L}])/gu,
  /^(?:(?:o|a|der|die|el|la|le) )?(\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?) (?:saiu|se fue|dejó|est parti\p{L}?|a quitté|ist (?:weg|gegangen|raus)|hat gekündigt|уволил(?:ся|ась)|уш(?:ёл|ла))(?![\p{L}])/giu,
  /(?<![\p{L}])(?:instead of|rather than|in place of|statt|anstelle von|nicht(?: mehr)?(?: auf| in)?|au lieu de|à la place de|(?<=,\s?)(?:et |y |e )?(?:pas|non|no|não)|en (?:lugar|vez) del?|ya no|(?:em vez|no lugar) d[eoa]s?|não (?:é|está|são)|вместо) ([^,;.(]+)/giu,
  /(?:von|(?:passés?|passée|changé|migré|cambiamos|pasamos|migramos|mudamos|trocamos) de|(?:перешли|перенесли) со?) (.+?) (?:auf|zu|à|vers|a|para|por|на) /giu,
  /(?:^|\s)(?:не ([^,;.]+?), а |от (\S+) отказались)/giu,
  /不(?:再)?(?:是|用|使用|在)\s?([^，,。]+)|从\s?(.+?)\s?(?:换|改|迁移|切换)(?:到|成)|代替\s?([\p{L}\p{N} ]+?)(?=做|[，,。]|$)/gu,
  /(.+?)の代わりに|([\p{L}\p{N}.]+)\s?から\s?[\p{L}\p{N}.]+\s?に(?:切り替え|変更|移行)/gu,
];

/** The phrases that name what held before. */
export function goneIn(text: string): string[] {
  return phrasesOf(text, GONE);
}

/** Those that name what is gone for good, or was given up. */
export function lostIn(text: string): string[] {
  return phrasesOf(text, [LOST, GIVEN_UP]);
}

function phrasesOf(text: string, patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, ...said]) => said.join(" ")));
}
