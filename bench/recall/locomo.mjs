// LoCoMo as a retrieval task: every turn is a candidate, every question a query, recall of the turns named as evidence.
import { readFileSync } from "node:fs";

export const CATEGORIES = {
  1: "multi-hop",
  2: "temporal",
  3: "open-domain",
  4: "single-hop",
  5: "adversarial",
};

/** Conversations as `{ id, candidates, questions: [{ text, category, evidence }] }`; questions without evidence are dropped. */
export function readConversations(path) {
  return JSON.parse(readFileSync(path, "utf8")).map(({ sample_id: id, conversation, qa }) => {
    const candidates = turnsOf(conversation);
    const known = new Set(candidates.map((candidate) => candidate.id));
    const questions = qa.flatMap(({ question: text, category, evidence = [] }) => {
      const found = new Set(evidenceIds(evidence).filter((one) => known.has(one)));
      return found.size === 0 ? [] : [{ text, category, evidence: [...found] }];
    });
    return { id, candidates, questions };
  });
}

function turnsOf(conversation) {
  const turns = [];
  for (let session = 1; conversation[`session_${session}`] !== undefined; session++) {
    for (const [order, turn] of conversation[`session_${session}`].entries()) {
      const caption = turn.blip_caption ? ` [shares ${turn.blip_caption}]` : "";
      turns.push({
        id: turn.dia_id,
        content: turn.text + caption,
        author: turn.speaker,
        timestamp: conversation[`session_${session}_date_time`],
        section: `session_${session}`,
        order,
      });
    }
  }
  return turns;
}

/** Some evidence is written `D8:6; D9:17` or `D:11:26`. */
function evidenceIds(evidence) {
  return [...evidence.join(" ").matchAll(/D:?(\d+):(\d+)/g)].map(
    ([, session, turn]) => `D${session}:${turn}`,
  );
}

/** The share of a question's evidence among ids. */
export function recallOf({ evidence }, ids) {
  const found = new Set(ids);
  return evidence.filter((id) => found.has(id)).length / evidence.length;
}

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
