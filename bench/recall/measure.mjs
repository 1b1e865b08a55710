// The figures of one system on the conversations, and of ours with other weights.
import { packMemories } from "../../packages/compact-context/dist/memory/pack.js";
import { RANKING_WEIGHTS } from "../../packages/compact-context/dist/memory/ranking/recall-index.js";
import { processorTime, quantile } from "../measure.mjs";
import { mean, recallOf } from "./locomo.mjs";

const ROOM = 3_500;
const DEPTHS = [3, 5, 10, 20, 50];

/** Texts that follow one another while there is room, as they are; one that does not fit is passed over. */
function bareIds(ids, texts) {
  let left = ROOM;
  return ids.filter((id) => {
    const length = texts.get(id).length + 1;
    if (length > left) return false;
    left -= length;
    return true;
  });
}

/** What the packing of recalled memories takes in, source and date of every item included. */
function packedIds(ids, byId) {
  const items = ids.map((id) => ({
    id,
    source: "channel-log",
    title: "",
    path: "log.jsonl",
    content: `${byId.get(id).author}: ${byId.get(id).content}`,
    timestamp: new Date(Date.parse(byId.get(id).timestamp.replace(/^.* on /, ""))).toISOString(),
  }));
  return packMemories(items, { maxInjected: 100, maxChars: ROOM }).items.map(({ item }) => item.id);
}

/** One row for each question: what was found of its evidence. */
export function measure(system, conversations, options) {
  return conversations.map(({ id, candidates, questions }) => {
    const { ms: build, value: index } = processorTime(() => system.create(candidates, options));
    const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
    const texts = new Map(candidates.map(({ id: turn, content, author }) => [turn, `${author}: ${content}`]));
    const rows = questions.map((question) => {
      const { ms: time, value: ids } = processorTime(() => index.search(question.text, 60));
      return {
        category: question.category,
        time,
        at: Object.fromEntries(DEPTHS.map((depth) => [depth, recallOf(question, ids.slice(0, depth))])),
        all: recallOf(question, ids.slice(0, 10)) === 1 ? 1 : 0,
        bare: recallOf(question, bareIds(ids, texts)),
        packed: recallOf(question, packedIds(ids, byId)),
      };
    });
    index.close();
    return { id, build, rows };
  });
}

const percent = (values) => 100 * mean(values);
const main = (rows) => rows.filter(({ category }) => category < 5);

/** The figures of a system over all its questions, in percent and ms; categories 1 to 4 where nothing else is said. */
export function figures(measured) {
  const rows = measured.flatMap((one) => one.rows);
  const counted = main(rows);
  return {
    at: Object.fromEntries(DEPTHS.map((depth) => [depth, percent(counted.map(({ at }) => at[depth]))])),
    categories: [1, 2, 3, 4, 5].map((wanted) =>
      percent(rows.filter(({ category }) => category === wanted).map(({ at }) => at[10])),
    ),
    everything: percent(rows.map(({ at }) => at[10])),
    all: percent(counted.map(({ all }) => all)),
    bare: percent(counted.map(({ bare }) => bare)),
    packed: percent(counted.map(({ packed }) => packed)),
    questions: counted.length,
    conversations: measured.map((one) => [one.id, percent(main(one.rows).map(({ at }) => at[10]))]),
    p50: quantile(
      rows.map(({ time }) => time),
      0.5,
    ),
    p95: quantile(
      rows.map(({ time }) => time),
      0.95,
    ),
    build: mean(measured.map(({ build }) => build)),
  };
}

/** Weights one step from those in use, each changed alone. */
function neighbours() {
  const steps = Object.entries(RANKING_WEIGHTS).flatMap(([name, value]) => {
    const whole = Number.isInteger(value) && value > 1;
    return [0.6, 0.8, 1.25, 1.6].map((factor) => {
      const aroundOne = value >= 0.8 && value <= 1.4 && name !== "title" && name !== "date";
      const changed = aroundOne ? 1 + (value - 1) * (factor < 1 ? factor : factor * 1.2) : value * factor;
      return { [name]: whole ? Math.round(changed) : changed };
    });
  });
  return [{}, ...steps];
}

/**
 * What choosing weights on these conversations is worth: for each conversation the neighbouring weights that are best
 * on the four others, measured on it.
 */
export function leaveOneOut(ours, conversations) {
  const variants = neighbours().map((weights) => ({
    weights,
    rows: measure(ours, conversations, { weights }).map((one) => main(one.rows).map(({ at }) => at[10])),
  }));
  return conversations.map(({ id }, left) => {
    const onOthers = ({ rows }) => percent(rows.filter((_, place) => place !== left).flat());
    const best = variants.reduce((one, other) => (onOthers(other) > onOthers(one) ? other : one));
    return {
      id,
      chosen: best.weights,
      held: percent(best.rows[left]),
      inUse: percent(variants[0].rows[left]),
      count: best.rows[left].length,
    };
  });
}

/** What each reason adds: ours without it. */
export const WITHOUT = {
  "neighbours (previous, next, window)": {
    previous: 0,
    next: 0,
    secondPrevious: 0,
    secondNext: 0,
    window: 0,
  },
  sections: { section: 0 },
  authors: { namedAuthor: 1, otherAuthor: 1 },
  "questions and answers": { question: 1, answer: 0 },
  "dates named by the query": { date: 0 },
  "when → a time": { temporal: 1 },
  length: { length: 0 },
};
