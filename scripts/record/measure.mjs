// Hashes and figures of what a run gave back. No text of a session goes into a recording.
import { createHash } from "node:crypto";

const TAG = "<COMPACT-SUMMARY v";
/** Longest list of kept indexes that is written out; longer ones are told by their hash. */
const LONGEST_RANGES = 72;

/** The first 12 hex digits of the SHA-256 of a text, or of a value's JSON. */
export function hash(value, length = 12) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, plain) ?? "undefined");
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

/** The same whatever the order of an object's keys. */
export function hashSorted(value) {
  return hash(JSON.stringify(value, (key, item) => sorted(plain(key, item))));
}

function plain(_key, value) {
  return typeof value === "bigint" ? `${value}n` : value;
}

function sorted(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Which message is which: by object, and where a copy came back, by what it says. */
export function createIndex(list) {
  const byObject = new Map(list.map((message, index) => [message, index]));
  let byText;
  return {
    /** `copy` stands for the same message as `original` from now on. */
    same(copy, original) {
      const index = byObject.get(original);
      if (index !== undefined) byObject.set(copy, index);
    },
    byObject: (message) => byObject.get(message),
    byText(message, taken) {
      byText ??= groupBy([...list.keys()], (index) => JSON.stringify(list[index], plain));
      return byText.get(JSON.stringify(message, plain))?.find((index) => !taken.has(index));
    },
  };
}

/** Which of an output's messages are the caller's, which were edited, and which is the summary. */
export function describeList(output, index) {
  const kept = new Set();
  for (const message of output) {
    const at = index.byObject(message);
    if (at !== undefined) kept.add(at);
  }
  const edited = [];
  const summaries = [];
  let copies = 0;
  for (const message of output) {
    if (index.byObject(message) !== undefined) continue;
    if (JSON.stringify(message, plain).includes(TAG)) summaries.push(message);
    else {
      const at = index.byText(message, kept);
      if (at === undefined) edited.push(message);
      else {
        kept.add(at);
        copies += 1;
      }
    }
  }
  const places = [...kept].sort((one, other) => one - other);
  return {
    out: { n: output.length, h: hash(output) },
    kept: { n: kept.size, ix: ranges(places), ...(copies === 0 ? {} : { copies }) },
    edited: edited.length === 0 ? { n: 0 } : { n: edited.length, h: hash(edited) },
    summaries,
  };
}

function ranges(places) {
  const runs = [];
  for (const place of places) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === place - 1) last[1] = place;
    else runs.push([place, place]);
  }
  const text = runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
  return text.length <= LONGEST_RANGES ? text : `#${hash(text)}`;
}

export function describeReport(report) {
  const { range, layers, archive } = report;
  return {
    tok: { b: report.tokensBefore, a: report.tokensAfter, lo: range.low, hi: range.high },
    msgs: { b: report.messagesBefore, a: report.messagesAfter },
    layers: withoutNothing({ b: layerText(layers.before), a: layerText(layers.after) }),
    did: withoutNothing({
      reason: report.reason,
      rungs: report.rungs.join(" "),
      pruned: report.prunedCount,
      cleared: report.clearedCount,
      elided: report.elidedCount,
      reasoning: report.reasoningDropped,
      ask: report.newestAsk,
    }),
    ...(report.plan === undefined ? {} : { plan: describePlan(report.plan) }),
    ...(archive === undefined ? {} : { receipt: { step: archive.step, ids: hash(archive.ids) } }),
  };
}

/** Without zeros and empty texts, which are most of a row. */
export function withoutNothing(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0 && value !== ""));
}

/** Layers with something in them, as `messages/tokens`. */
function layerText(layers) {
  return Object.entries(layers)
    .filter(([, size]) => size.messages > 0)
    .map(([name, size]) => `${name} ${size.messages}/${size.tokens}`)
    .join(", ");
}

export function describePlan(plan) {
  const { entries, keep, ...rest } = plan;
  const { keepRecentTurns, keepToolIoPairs, keepRecentMessages, rolesNeverPrune } = keep;
  const counts = { keepRecentTurns, keepToolIoPairs, keepRecentMessages, rolesNeverPrune };
  const count = (action) => entries.filter((entry) => entry.action === action).length;
  return {
    n: entries.length,
    acts: ["keep", "clear", "elide", "summarize"].map(count).join("/"),
    actions: hash(entries.map(({ index, layer, action }) => [index, layer, action])),
    edits: hashSorted(entries.map(({ edit }) => edit ?? null)),
    costs: hash(entries.map(({ tokens, tokensAfter }) => [tokens, tokensAfter])),
    reasons: hash(entries.map(({ reason }) => reason)),
    ids: hash(entries.map(({ id }) => id)),
    figures: hashSorted({ ...rest, counts }),
    b: plan.tokensBefore,
    a: plan.tokensAfter,
    room: plan.summaryTokens,
    relaxed: plan.relaxed,
  };
}

export function describeSummary(result, summaries) {
  const { report, summary } = result;
  return withoutNothing({
    n: summaries.length,
    text: summary === undefined ? undefined : hash(summary),
    message: summaries.length === 0 ? undefined : hash(summaries),
    v: report.summaryVersion,
    tok: report.summaryTokens,
    by: report.summarizer,
    failures: report.failures.length,
    attempts: report.attempts.length,
    coverage: report.coverage,
    check: report.check === undefined ? undefined : hashSorted(report.check),
  });
}

/** Code in clear, words as a hash: they may name what is in the session. */
export function describeError(error) {
  return {
    code: error?.code ?? error?.name ?? "unknown",
    place: error?.place === undefined ? undefined : hash(String(error.place), 6),
    message: hash(String(error?.message)),
    hint: hash(String(error?.hint)),
  };
}

/** Hears events; `scrub` takes out what differs from run to run. */
export function createListener(scrub) {
  const events = [];
  return {
    exporter: { name: "recorder", export: (event) => void events.push(event) },
    describe() {
      const names = events.map(({ name }) => name.replace("compact.", ""));
      const codes = events
        .filter(({ name }) => name === "compact.warning" || name === "compact.error")
        .map(({ properties }) => String(properties.code ?? properties.error_type ?? "?"));
      return {
        events: {
          n: events.length,
          by: tally(names),
          order: hash(names),
          properties: hash(scrub(JSON.stringify(events.map(({ properties }) => sorted(properties))))),
          payloads: hash(scrub(JSON.stringify(events.map(({ payload }) => payload ?? null)))),
        },
        warnings: { codes: tally(codes.map((code) => (/^[\w.-]{1,40}$/.test(code) ? code : hash(code)))) },
      };
    },
  };
}

/** How often each name is there, in order of the names. */
export function tally(names) {
  const counts = groupBy(names, (name) => name);
  return [...counts]
    .map(([name, all]) => `${name}:${all.length}`)
    .sort()
    .join(" ");
}

/** Names of the stored values without the session's folder and with numbers as `#`: how many there are, and a hash of names and contents. */
export function describeValues(values, scrub) {
  const kinds = groupBy(values, ({ key }) => key.replace(/^[^/]+\//, "").replaceAll(/\d+/g, "#"));
  const contents = [...kinds].map(([kind, all]) => [
    kind,
    `${all.length}:${hash(all.map(({ key, value }) => [key, hash(scrub(value))]))}`,
  ]);
  return {
    keys: { n: values.length, h: hash(values.map(({ key }) => key)) },
    stored: Object.fromEntries(contents),
  };
}

/** `Map.groupBy`, which Node 20 does not have. */
export function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}
