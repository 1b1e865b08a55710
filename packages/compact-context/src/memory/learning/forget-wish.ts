import type { Message } from "../../core/message.ts";
import { readSaid } from "../../summarizers/extractive/typed.ts";
import { ABOUT, FORGET, FORGET_BEHIND, THAT } from "./language.ts";
import { shareIn, topicTerms } from "./meaning.ts";
import { forgetRequests, ownStatements, sentencesOf } from "./own-words.ts";

/** What a user asks to have forgotten, in words. */
export interface ForgetWish {
  /** Id of the message that asks. */
  readonly from: string;
  /** The words that name it; of "that" the statement that was just made. */
  readonly topic: string;
  /** Several things may be meant: everything, or all about somebody. */
  readonly all: boolean;
}

/** The wishes of a conversation, in order. */
export function forgetWishes(messages: readonly Message[]): ForgetWish[] {
  const spoken: string[] = [];
  return messages.flatMap((message) => {
    const { typed } = readSaid(message);
    if (typed === "") return [];
    const asked = forgetRequests(typed);
    const wishes = asked.flatMap((sentence): ForgetWish[] => {
      const topic = topicOf(sentence);
      if (!THAT.test(topic)) return [{ from: message.id, topic, all: ALL.test(sentence) }];
      const said = [...ownStatements(typed), ""].at(-2) ?? "";
      const meant = said === "" ? (spoken.at(-1) ?? "") : said;
      return meant === "" ? [] : [{ from: message.id, topic: meant, all: false }];
    });
    spoken.push(...sentencesOf(typed).filter((sentence) => !asked.includes(sentence)));
    return wishes.filter(({ topic }) => topicTerms(topic).size > 0);
  });
}

const ALL =
  /(?<![\p{L}])(?:everything|anything|all|alles|tout|todo|tudo|всё|все|what (?:i|you))(?![\p{L}])|所有|全部/iu;
const PLACE =
  /(?:,?\s*(?:from|out of|aus|de|da|из)\s+(?:your|the|deinem|ta|tu|tua|sua|своей)?\s*(?:memory|notes|records|gedächtnis|mémoire|memoria|memória|памяти))|从?记忆(?:中|里)?/iu;

function topicOf(sentence: string): string {
  const lead = FORGET.exec(sentence)?.[0];
  const rest =
    lead === undefined ? sentence.replace(new RegExp(FORGET_BEHIND, "giu"), "") : sentence.slice(lead.length);
  const named = rest.replace(PLACE, "").trim();
  return THAT.test(named) ? named : named.replace(ABOUT, "").trim();
}

/** True for a text that the topic of a wish means. */
export function isMeant(topic: string, text: string): boolean {
  const [wanted, told] = [topicTerms(topic), topicTerms(text)];
  return shareIn(wanted, told) >= 0.8 || (told.size > 1 && shareIn(told, wanted) >= 0.8);
}
