import type { MemoryCandidate } from "./candidates.ts";
import { list } from "./learning/terms.ts";
import { spanIn, type TimeSpan } from "./ranking/dates.ts";

/** Words of questions that only ask what happened. */
const ASKING = list(`
  what whats which where when did do does done have has had we i you us our the a was were is are been on in at to of up so far off and
  happen happened work worked working discuss discussed achieve achieved talk talked about leave left stop stopped finish finished
  session sessions time day remind tell show give me can could please recap summary summarize summarise review overview again
  get got things everything doing
  was wo haben hatten habe wir ich gemacht getan geschah passiert ist war waren am dem den an stehen geblieben erinnere mich daran sag mir bitte noch mal nochmal
  qu est ce que quoi t avons nous fait on a où en étions passé s il ce rappelle rappelez moi dis qué hicimos pasó hemos hecho dónde quedamos estábamos recuérdame dime lo
  le el em o que fizemos aconteceu nós onde estávamos paramos lembra lembre diga что мы делали сделали было произошло где остановились в напомни скажи мне пожалуйста`);
/** The same in Chinese and Japanese, which have no spaces between words. */
const UNSPACED_ASKING =
  /我们|咱们|提醒我|告诉我|请|一下|在|做了?|干了?|讨论了?|聊了?|什么|哪些|事情?|发生了?|有|都|教えて(?:ください)?|私たち|は|何|に|を|が|の|話|し|まし|た|あり|起き|か/gu;
const LAST =
  /(?<![\p{L}])(?:last (?:time|session)|letztes mal|la dernière fois|la última vez|da última vez|в прошлый раз)(?![\p{L}])|上次|前回/iu;

/**
 * The memory's lines for a question about a day or the state of the work: empty if the history has nothing of
 * that day, undefined for other questions.
 */
export function linesOfDay(
  query: string,
  candidates: readonly MemoryCandidate[],
  now: number,
): readonly MemoryCandidate[] | undefined {
  const history = candidates.filter(({ source }) => source === "channel-history");
  const rest = query.replace(LAST, " ");
  if (rest !== query)
    return asksOnly(rest) ? history.filter(({ title }) => title === history.at(-1)?.title) : undefined;
  const asked = spanIn(query, now);
  if (asked !== undefined) return asksOnly(asked.rest) ? history.filter(isWithin(asked.span)) : undefined;
  const state = ["current-state", "next-steps"];
  return STANDING.test(query) && asksOnly(query)
    ? candidates.filter(
        ({ source, sectionKind }) => source === "channel-session" && state.includes(sectionKind),
      )
    : undefined;
}

const STANDING =
  /^(?:so,? )?where (?:were|are|did) we(?! \p{L}+ing)|^wo (?:waren|sind) wir|^où en étions|^dónde (?:estábamos|quedamos)|^onde (?:estávamos|paramos)|^где мы/iu;

function asksOnly(words: string): boolean {
  const asked = words.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const isUnspaced = /[\u3040-\u9fff]/u.test(words);
  return asked.every((word) => ASKING.has(word) || (isUnspaced && word.replace(UNSPACED_ASKING, "") === ""));
}

function isWithin({ start, end }: TimeSpan): (candidate: MemoryCandidate) => boolean {
  return ({ timestamp }) => {
    const time = Date.parse(timestamp ?? "");
    return time >= start && time <= end;
  };
}
