import { escapeSummaryTags } from "../../core/message.ts";
import { flatMapInSteps, runAtOnce, type Steps } from "../../errors.ts";
import {
  type Earlier,
  episodeLines,
  HEADINGS,
  INTRODUCTION,
  NO_ROOM,
  REPEATED,
  ROOT,
  readEarlier,
  SHORT_INTRODUCTION,
  storyHead,
  WISH,
} from "./format.ts";
import { aboutNote, ageWeight, foreignPieces, itemsOf, toldPieces } from "./items.ts";
import type { Entry, Reading, Speech } from "./reading.ts";
import { buildSections, type ComposeOptions, requestLines, type Scene } from "./sections.ts";
import { createSaid, createSelection, type Item } from "./select.ts";
import type { Step } from "./steps.ts";
import { clipEnd, clipToTokens, groupBy, oneLine, sentences, termsOf } from "./text.ts";

/** `brief` stays short regardless of the budget. */
const BRIEF_TOKENS = 600;
/** In less room, only the request is included. */
const TINY = 40;
/** In less room, speakers are not named. */
const LEAST_TAG = 12;
const SHORT = 1000;
/** Maximum share of the budget for all sections before the story. */
const FRONT_SHARE = 0.7;
/** How often room left over by labels is refilled. */
const FILL_ROUNDS = 8;
/** Characters of a request that name its episode; its sentences are told to their end. */
const HEADLINE = 90;

/** The text of a summary, at most `maxTokens` tokens; empty without room or content. */
export function* composeSummary(reading: Reading, given: ComposeOptions): Steps<string> {
  const most = given.strategy === "brief" ? Math.min(BRIEF_TOKENS, given.maxTokens) : given.maxTokens;
  if (most < 1) return "";
  const scene = openScene(reading, { ...given, maxTokens: most });
  const whole = most < TINY ? "" : yield* writeSummary(scene);
  return whole === "" ? tinySummary(scene, most) : whole;
}

/** What a summary is made of: the reading, what the summary so far tells, and what is asked of both. */
export function openScene(reading: Reading, options: ComposeOptions): Scene {
  const before = readEarlier(options.previous ?? "");
  const current = currentRequest(reading, before);
  const earlier = current.asking < 0 ? withCurrent(before) : withRequestTold(before);
  // Expands paths that an earlier round shortened.
  const root = before.root === "" ? commonRoot(reading.steps) : before.root;
  return {
    reading,
    earlier,
    options,
    root,
    shorten: (text) => (root === "" ? text : text.replaceAll(root, "")),
    ...current,
    titles: [...earlier.episodes, ...reading.episodes.map(({ request }) => titleOf(request, current))],
    notes: "",
  };
}

function titleOf(speech: Speech | undefined, { asking, request }: CurrentRequest): Scene["titles"][number] {
  if (speech === undefined) return UNTITLED;
  if (speech.stays === "whole") return { title: "staying", asked: speech.text };
  if (request !== "" && speech.message === asking) return { title: "current", asked: "" };
  return { title: "user", asked: speech.stays === "cut" ? speech.text : "" };
}

/** The last episode belongs to the current request, even if nothing was done for it yet. */
function withCurrent(earlier: Earlier): Earlier {
  if (earlier.request === "" || earlier.episodes.at(-1)?.title === "current") return earlier;
  return { ...earlier, episodes: [...earlier.episodes, { title: "current", asked: "", pieces: [] }] };
}

/** A superseded request is shown in its episode. */
function withRequestTold(earlier: Earlier): Earlier {
  if (earlier.request === "") return earlier;
  const asked = earlier.request
    .split("\n")
    .map((text, order) => ({ kind: "request" as const, text, order, source: -1 }));
  const { episodes } = withCurrent(earlier);
  const told = { title: "user", asked: "", pieces: [...asked, ...(episodes.at(-1)?.pieces ?? [])] } as const;
  return { ...earlier, episodes: [...episodes.slice(0, -1), told] };
}

type CurrentRequest = Pick<Scene, "request" | "answered" | "asking">;

/** The latest user message if it does not stay next to the summary, and whether it was answered. */
function currentRequest({ episodes, answered, messages }: Reading, earlier: Earlier): CurrentRequest {
  const newest = episodes.findLast(({ request }) => request !== undefined);
  const said = messages.length > 0 ? answered : earlier.answered;
  if (newest?.request === undefined) return { request: earlier.request, answered: said, asking: -1 };
  const { text, stays, message } = newest.request;
  const request = stays === "no" ? `${text}${aboutNote(newest.about)}${lastReply(newest.entries)}` : "";
  return { request, answered: said, asking: message };
}

/** The latest reply to a question after a request: it decides how the work continues. */
function lastReply(entries: readonly Entry[]): string {
  const reply = entries.findLast((entry) => entry.kind === "user");
  if (reply === undefined || reply.speech.stays !== "no") return "";
  return `\n${oneLine(reply.speech.text)}${aboutNote(reply.about)}`;
}

function tinySummary({ request, reading, earlier, options }: Scene, most: number): string {
  const spoken = reading.episodes.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.speech.text] : [])),
  );
  const said = oneLine(request || earlier.foreign || (spoken.at(-1) ?? ""));
  const tag = request !== "" && most >= LEAST_TAG ? "[user] " : "";
  return said === "" ? "" : clipToTokens(escapeSummaryTags(`${tag}${said}`), most, options.countText);
}

function* writeSummary(scene: Scene): Steps<string> {
  const { reading, earlier, options, root } = scene;
  const { maxTokens, countText } = options;
  const beside = oneLine(reading.beside.join("\n"));
  const all = yield* itemsOf(reading, earlier.episodes.length, scene.shorten);
  const own = yield* flatMapInSteps(all, (item) => (beside.includes(oneLine(item.text)) ? [] : [item]));
  const items = wishedItems(withFirst([...earlierItems(earlier), ...own]), options.instruction);
  const said = yield* createSaid(items);
  for (const text of textsBeside(reading)) said.add(text);
  yield;
  const head = headLines(options);
  const front = buildSections(scene, said, Math.floor(maxTokens * FRONT_SHARE));
  const requestLinesNow = front.find(({ key }) => key === "request")?.lines ?? [];
  const requestRoom = countText(requestLinesNow.join("\n"));
  yield;
  const selection = yield* createSelection(items, yield* headlinesOf(scene, items), said, countText);
  yield;
  const write = (): string[] => {
    const { taken } = selection;
    const story = storyLines(scene, taken);
    // Further lines of the current request may have been taken.
    const further = new Set(taken.filter((item) => isCurrent(scene, item)).map(({ order }) => order));
    const sectionsNow = front.flatMap(({ key, lines }) =>
      key === "request" && further.size > 0 ? requestLines(scene, requestRoom, further) : lines,
    );
    const told = [...sectionsNow, ...story];
    const rooted = root !== "" && told.some((line) => RELATIVE.test(line));
    return told.length === 0 ? head : [...head, ...(rooted ? [`${ROOT}${root}`] : []), ...told];
  };
  let lines = write();
  for (let round = 0; round < FILL_ROUNDS; round += 1) {
    if (!(yield* selection.fill(maxTokens - countText(lines.join("\n"))))) break;
    yield;
    lines = write();
  }
  return finish(scene, head, write, selection.taken, items.length > 0 ? NO_ROOM : REPEATED);
}

/**
 * Removes items from the end until the whole fits, then words; `silence` is used if nothing is left. A later round counts on
 * the number of requests that are not told: it stands also where nothing else of the story has room.
 */
function finish(
  scene: Scene,
  head: readonly string[],
  write: () => readonly string[],
  taken: Item[],
  silence: string,
): string {
  const { reading, options } = scene;
  const { maxTokens, countText } = options;
  const joined = (lines: readonly string[]): string => lines.map(escapeSummaryTags).join("\n");
  const fits = (text: string): boolean => countText(text) <= maxTokens;
  let lines = write();
  while (taken.length > 0 && !fits(joined(lines))) {
    taken.length -= Math.max(1, Math.ceil(taken.length * 0.02));
    lines = write();
  }
  const text = joined(lines);
  const count = storyHead(untoldRequests(scene, taken));
  const counted = joined([...lines, ...count]);
  const uncounted = head.length > 0 && count.length > 1 && !lines.includes(count[0] ?? "");
  if (uncounted && fits(counted)) return counted;
  if (lines.length > head.length || !fits(text))
    return fits(text) ? text : clipToTokens(text, maxTokens, countText);
  const silent = joined([...head, silence]);
  return reading.repeats && fits(silent) ? silent : "";
}

/** The start of each episode's story: the first words of its request, or of the one that it goes on with. */
function* headlinesOf(scene: Scene, items: readonly Item[]): Steps<Map<number, Item>> {
  const begins = items.filter(
    (item) => item.kind === "request" && item.order === 0 && !isCurrent(scene, item),
  );
  const headlines = new Map(
    yield* flatMapInSteps(begins, (item): [number, Item][] => [
      [item.episode, { ...item, text: beginningOf(item.text) }],
    ]),
  );
  const own = scene.earlier.episodes.length;
  const last = headlines.get(own - 1);
  if (last !== undefined && goesOn(scene, own)) headlines.set(own, last);
  return headlines;
}

function beginningOf(text: string): string {
  let end = 0;
  for (const sentence of sentences(text)) {
    if (end >= HEADLINE) break;
    end = text.indexOf(sentence, end) + sentence.length;
  }
  const first = clipEnd(text.slice(0, end), 2 * HEADLINE);
  return end < text.trimEnd().length && !first.endsWith(" …") ? `${first} …` : first;
}

/** True for a line of the current request. */
function isCurrent({ titles, earlier }: Scene, { kind, episode }: Item): boolean {
  const isOwn = kind === "request" && episode >= earlier.episodes.length;
  return isOwn && titles[episode]?.title === "current";
}

function headLines({ maxTokens, instruction, countText }: ComposeOptions): string[] {
  if (maxTokens < 120) return [];
  const introduction = maxTokens < SHORT ? SHORT_INTRODUCTION : INTRODUCTION;
  const wish = clipToTokens(oneLine(instruction ?? ""), Math.floor(maxTokens * 0.1), countText);
  return wish === "" ? [introduction] : [introduction, `${WISH}${wish}`];
}

// ---- the story

/** Earlier rounds fade: their most valuable pieces stay longest. */
const EARLIER_AGE = 0.6;
/** The position of another writer's summary in the story. */
const FOREIGN = -1;

/** Pieces of the story so far, and of what another writer told. */
export function earlierItems(earlier: Earlier): Item[] {
  const told = earlier.episodes.flatMap(({ pieces }, episode) => {
    const age = EARLIER_AGE * ageWeight((episode + 1) / earlier.episodes.length);
    return toldPieces(pieces).map((piece, order) => ({
      ...piece,
      episode,
      order,
      weight: age * piece.weight,
    }));
  });
  return [
    ...foreignPieces(earlier.foreign).map((piece, order) => ({
      ...piece,
      episode: FOREIGN,
      order,
      source: -1,
    })),
    ...told,
  ];
}

const UNTITLED = { title: "none", asked: "" } as const;

const FIRST = 3;

/** The first request says what the session is for: it is left out last. */
function withFirst(items: readonly Item[]): readonly Item[] {
  const first = items.find(({ kind, order }) => kind === "request" && order === 0);
  return items.map((item) => (item === first ? { ...item, weight: FIRST * item.weight } : item));
}

export function storyLines(scene: Scene, taken: readonly Item[]): string[] {
  const episodes = groupBy(taken, ({ episode }) => episode);
  const inOrder = (told: readonly Item[]): Item[] =>
    [...told].sort((left, right) => left.order - right.order);
  const foreign = inOrder(episodes.get(FOREIGN) ?? []).map(({ text }) => `> ${text}`);
  const lines = [...episodes]
    .filter(([episode]) => episode !== FOREIGN)
    .sort(([left], [right]) => left - right)
    .flatMap(([episode, told]) => {
      const again = goesOn(scene, episode);
      const { title, asked } = scene.titles[again ? episode - 1 : episode] ?? UNTITLED;
      const rest =
        title === "current" ? told.filter(({ kind }) => kind !== "request") : withoutHeadline(told);
      if (rest.length === 0) return [];
      // Of a request that was cut, beginning and end stay in the list.
      const stays = title === "user" && asked !== "" && !rest.some(({ kind }) => kind === "request");
      const shown = stays ? "staying" : title;
      const written = episodeLines(shown, inOrder(rest), shown === "staying" ? asked : "");
      return again && episodes.has(episode - 1) ? written.slice(1) : written;
    });
  return [
    ...(foreign.length === 0 ? [] : [`## ${HEADINGS.foreign}`, ...foreign]),
    ...(lines.length === 0 ? [] : [...storyHead(untoldRequests(scene, taken)), ...lines]),
  ];
}

/** How many requests are not told, those of earlier rounds included. */
function untoldRequests({ titles, earlier }: Scene, taken: readonly Item[]): number {
  const told = new Set(taken.flatMap(({ kind, episode }) => (kind === "request" ? [episode] : [])));
  // An episode that came without its request was counted by an earlier round.
  const asks = (episode: number): boolean =>
    earlier.episodes[episode]?.pieces.some(({ kind }) => kind === "request") ?? true;
  const untold = titles.filter(
    ({ title, asked }, episode) => title === "user" && asked === "" && !told.has(episode) && asks(episode),
  );
  return earlier.untold + untold.length;
}

/** True for what comes before the first request of a later round: it goes on with the last episode of the round before. */
export function goesOn({ reading, earlier }: Scene, episode: number): boolean {
  const own = reading.episodes[episode - earlier.episodes.length];
  return own !== undefined && own.request === undefined && earlier.episodes.length > 0;
}

/** A headline is dropped if the whole line that it starts is shown. */
function withoutHeadline(told: readonly Item[]): Item[] {
  const first = told.filter(({ kind, order }) => kind === "request" && order === 0);
  const longest = first.toSorted((one, other) => other.text.length - one.text.length)[0];
  return told.filter((item) => !first.includes(item) || item === longest);
}

const WISHED = 8;

/** Raises the value of what a person asked the summary to focus on, by the rare terms of that wish. */
function wishedItems(items: readonly Item[], instruction: string | undefined): readonly Item[] {
  const wished = termsOf(instruction ?? "");
  if (wished.size === 0) return items;
  const { rarity } = runAtOnce(createSaid(items));
  return items.map((item) => {
    let shared = 0;
    for (const term of termsOf(item.text).keys()) shared += (wished.get(term) ?? 0) * rarity(term);
    return shared === 0 ? item : { ...item, weight: item.weight * (1 + WISHED * shared) };
  });
}

function* textsBeside({ episodes }: Reading): Generator<string> {
  for (const { request, entries } of episodes) {
    if (request?.stays === "whole") yield request.text;
    for (const entry of entries) {
      if (entry.kind === "step" && entry.step.stays) yield entry.step.action.words;
      else if ("speech" in entry && entry.speech.stays === "whole") yield entry.speech.text;
    }
  }
}

// ---- paths

/** Share of the absolute paths that a root has below it, and parts that it has at least. */
const SHARED = 0.8;
const MIN_DEPTH = 3;
/** A path that may be a shortened one. */
const RELATIVE = /(?<![\w/.~-])[\w@.-]+(?:\/[\w@.-]+|\.[a-z]{1,5}\b)/i;

/** The folder shared by most absolute paths of the steps, with a trailing slash; empty if there is none. */
function commonRoot(steps: readonly Step[]): string {
  const paths = steps.flatMap(({ action }) => action.files.map(({ path }) => path));
  const absolute = paths.filter((path) => path.startsWith("/") && !/[\r\n]/.test(path));
  const counts = new Map<string, number>();
  for (const path of absolute) {
    for (let at = path.indexOf("/", 1); at > 0; at = path.indexOf("/", at + 1)) {
      const folder = path.slice(0, at + 1);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
  }
  const shared = [...counts].filter(([folder, count]) => {
    return count > 1 && count >= absolute.length * SHARED && folder.split("/").length > MIN_DEPTH;
  });
  return shared.reduce((longest, [folder]) => (folder.length > longest.length ? folder : longest), "");
}
