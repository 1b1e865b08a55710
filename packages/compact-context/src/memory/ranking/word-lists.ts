const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * English words that carry no topic, among them those that only shape a question ("what kind of", "how many times").
 * Whole words before stemming, without apostrophes.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  words(`
  a about above after again against all also although always am an and any anyone anything are aren around as at away
  be because been before being below besides between both but by can cannot cant could couldn d did didn do does doesn
  doing don done down during each either else etc ever every few for from further get gets getting give given go goes
  going gonna got gotten had hadn has hasn have haven having he hello her here hers herself hey hi him himself his how
  however i if im in into is isn it its itself just kind kinds let lets like ll lot lots m made make makes making many
  may maybe me mean might mine more most much must mustn my myself need neither no nor not now of off oh ok okay on
  once only onto or other others our ours ourselves out over own people per please quite rather re really s said same
  say says shall shan she should shouldn since so some somebody someone something sort sorts still such sure t tell
  than thank thanks that the their theirs them themselves then there these they thing things this those though through
  thus to too toward towards type types under until up upon us use used using ve very via was wasn way we well were
  weren what whatever when where whether which while who whom whose why will with within without won would wouldn yeah
  yes yet you your yours yourself yourselves
  describe explain happen happened happens long mention mentioned often one ones particular regarding specific
  time times would wonder
`),
);

/** Words of courtesy and assent: in a message they are no sign that a memory is wanted. */
export const COURTESY_WORDS: readonly string[] = words(`
  ahead alright amazing awesome bye continue cool excellent fine glad good goodbye great look looks looking nice perfect
  please proceed sorry sounds welcome wonderful wow
`);

const pairs = (text: string): readonly [string, string][] =>
  words(text).flatMap((entry) => {
    const [base = "", ...forms] = entry.split(/[:,]/);
    return forms.map((form): [string, string] => [form, base]);
  });

/** Irregular English forms and short words of kinship, by form: what a stemmer cannot know. */
export const IRREGULAR_FORMS: ReadonlyMap<string, string> = new Map(
  pairs(`
  become:became begin:began,begun bite:bit,bitten blow:blew,blown break:broke,broken bring:brought build:built
  buy:bought catch:caught choose:chose,chosen come:came cost:costs cut:cutting deal:dealt draw:drew,drawn
  drink:drank,drunk drive:drove,driven eat:ate,eaten fall:fell,fallen feed:fed feel:felt fight:fought find:found
  fly:flew,flown forget:forgot,forgotten forgive:forgave,forgiven freeze:froze,frozen grow:grew,grown hang:hung
  hear:heard hide:hid,hidden hold:held keep:kept know:knew,known lead:led learn:learnt leave:left lend:lent lose:lost
  meet:met pay:paid ride:rode,ridden ring:rang,rung rise:rose,risen run:ran see:saw,seen seek:sought sell:sold
  send:sent shake:shook,shaken shine:shone shoot:shot sing:sang,sung sink:sank,sunk sit:sat sleep:slept
  speak:spoke,spoken spend:spent stand:stood steal:stole,stolen stick:stuck strike:struck swim:swam,swum
  take:took,taken teach:taught tear:tore,torn think:thought throw:threw,thrown understand:understood wake:woke,woken
  wear:wore,worn win:won write:wrote,written
  child:children,kid,kids man:men woman:women foot:feet tooth:teeth mouse:mice life:lives wife:wives knife:knives
  leaf:leaves person:persons mother:mom,mum,mommy,mama,moms father:dad,daddy,papa,dads
  grandmother:grandma,granny,nana grandfather:grandpa,granddad brother:bro sister:sis
  photo:photograph,photographs,pic,pics,picture,pictures television:tv bicycle:bike,bikes movie:film,films
  good:better,best bad:worse,worst
`),
);

/** Months and weekdays of English, for reading dates. */
export const MONTHS: readonly string[] = words(
  "january february march april may june july august september october november december",
);
