// What the program reads in one session beside the labels of that session, section by section.
//
// A tally has the outputs of the program, each right, wrong or neither (`right` undefined), and the groups of labels that
// state the same thing, each found or not.
import { contains, groupLabels, matches, plainText, readText } from "./match.mjs";
import { hashOf, linesOf, textAt } from "./sessions.mjs";

/** So many of the typed lines of a message have to be read as typed. */
const MOST_LINES = 0.8;

/** A session with its labels, and what the program reads in it. */
export function openSession(library, file, messages, rows) {
  const typed = typedLines(messages, rows);
  const labels = rows.map((row) => openLabel(file, messages, typed, row));
  return { file, messages, labels, typed, reading: library.readConversation(messages), library };
}

function openLabel(file, messages, typed, row) {
  const text = textAt(messages, row);
  const place = `${file} ${row.message}.${row.part}.${row.line ?? ""}`;
  if (text === undefined) throw new Error(`No line at ${place}`);
  if (row.hash !== hashOf(text)) throw new Error(`Another line at ${place}`);
  const { role, parts } = messages[row.message];
  const isTyped =
    typed.get(row.message)?.some(({ part, line }) => part === row.part && line === row.line) === true;
  return { ...row, read: readText(text), role, type: parts[row.part].type, isTyped };
}

/** The lines that a person typed, by message. */
function typedLines(messages, rows) {
  const typed = new Map();
  for (const { section, message, part, typed: kind, typedFrom = 0, typedTo = Infinity } of rows) {
    if (section !== "request" || kind === "none") continue;
    const lines = linesOf(messages[message].parts[part]).map((text, line) => ({
      part,
      line,
      text: withoutTags(text),
    }));
    const own = lines.filter(({ line, text }) => line >= typedFrom && line <= typedTo && text !== "");
    if (own.length > 0) typed.set(message, [...(typed.get(message) ?? []), ...own]);
  }
  return typed;
}

function withoutTags(text) {
  return plainText(text.replace(/<\/?[a-zA-Z][\w-]{0,60}(?:\s[^>\n]{0,200})?>/g, " "));
}

/** All sections of a session: a tally by name. */
export function scoreSections(session) {
  return {
    request: scoreRequests(session),
    answer: scoreAnswers(session),
    ...scoreRules(session),
    ...scoreDecisions(session),
    ...scoreErrors(session),
    task: scoreTasks(session),
  };
}

// ---- requests

function scoreRequests({ typed, reading, messages }) {
  const said = new Map();
  for (const { message, text } of reading.requests) {
    const lines = text.split("\n").map(withoutTags).filter(Boolean);
    said.set(message, [...(said.get(message) ?? []), ...lines]);
  }
  const outputs = [...said].flatMap(([message, lines]) =>
    lines.map((text) => ({
      text: `${message}: ${text}`,
      right: (typed.get(message) ?? []).some((line) => sameLine(text, line.text)),
    })),
  );
  const groups = [...typed].map(([message, lines]) => {
    const found = lines.filter(({ text }) => (said.get(message) ?? []).some((line) => sameLine(line, text)));
    const missing = lines.filter((line) => !found.includes(line)).map(({ text }) => text);
    return {
      text: `${message} of ${messages.length}: ${found.length} of ${lines.length} lines; not: ${missing.join(" / ")}`,
      labels: 1,
      found: found.length >= lines.length * MOST_LINES,
    };
  });
  return { outputs, groups };
}

/** The program's line beside a labelled one. A command is written with its name, which may stand elsewhere. */
function sameLine(line, labelled) {
  if (contains({ plain: line }, { plain: labelled })) return true;
  const [, name, rest] = /^(\/\S+)(?:\s+(.+))?$/.exec(line) ?? [];
  return name !== undefined && (labelled.includes(name) || (rest !== undefined && labelled.includes(rest)));
}

// ---- answers

function scoreAnswers({ labels, reading, messages }) {
  const labelled = labels.filter(({ section }) => section === "answer");
  const answers = answersOf(reading, messages);
  const outputs = answers.map((answer) => ({
    text: `${answer.message}: ${answer.kind}: ${answer.text} (${answer.about})`,
    right: labelled.some((label) => label.message === answer.message && label.part === answer.part),
  }));
  const words = reading.requests.map(({ message, text }) => ({ message, read: readText(text) }));
  const groups = labelled.map((label) => ({
    text: labelText(label),
    labels: 1,
    found:
      answers.some((answer) => tellsAnswer(answer, label)) || words.some((said) => tellsWords(said, label)),
  }));
  return { outputs, groups };
}

/** Answers at the place of the result that holds them. */
function answersOf(reading, messages) {
  const entries = reading.episodes.flatMap((episode) => episode.entries);
  return entries.flatMap((entry, index) => {
    if (entry.kind !== "answer") return [];
    const call = entries[index - 1]?.step?.call;
    return [{ ...entry.answer, ...resultOf(messages, entry.message, call) }];
  });
}

function resultOf(messages, from, call) {
  for (let message = from; message < messages.length; message += 1) {
    const part = messages[message].parts.findIndex(
      ({ type, id }) => type === "toolResult" && id === call?.id,
    );
    if (part >= 0) return { message, part };
  }
  // What was typed at a prompt stands in a text.
  const isTyped = call === undefined || messages[from].parts[0]?.type === "text";
  return { message: from, part: isTyped ? 0 : -1 };
}

function tellsAnswer(answer, label) {
  if (answer.message !== label.message || answer.part !== label.part) return false;
  // The first line is the host's own where nobody gave a reason.
  if (answer.text === "") return answer.kind === label.kind && label.line === 0;
  return tells(readText(answer.text), label.read);
}

function tellsWords({ message, read }, label) {
  return message === label.message && tells(read, label.read);
}

/** At the same place also short words tell. */
function tells(read, labelled) {
  return matches(read, labelled) || (read.plain !== "" && labelled.plain.endsWith(read.plain));
}

// ---- rules, decisions, tasks

function scoreRules({ labels, reading }) {
  const rules = labels.filter(({ section }) => section === "rule");
  const own = rules.filter(({ isTyped, holds }) => isTyped && holds !== false);
  const withdrawn = rules.filter(({ isTyped, holds }) => isTyped && holds === false);
  const untyped = rules.filter(({ isTyped }) => !isTyped);
  const answers = labels.filter(({ section }) => section === "answer");
  const isAnswer = (rule) =>
    answers.some(({ message, part }) => message === rule.message && part === rule.part);
  const read = readOutputs(reading.rules);
  return {
    rule: tally(read, own, { neutral: [...withdrawn, ...untyped], no: noLabels(labels, "rule") }),
    "rule (answers)": apart(read, own, untyped.filter(isAnswer)),
    "rule (instructions)": apart(
      read,
      own,
      untyped.filter((rule) => !isAnswer(rule)),
    ),
  };
}

function scoreDecisions({ labels, reading }) {
  const decisions = labels.filter(({ section }) => section === "decision");
  const isSaid = ({ type, role }) => type === "text" && (role === "user" || role === "assistant");
  const said = decisions.filter(isSaid);
  const others = decisions.filter((label) => !isSaid(label));
  const read = readOutputs(reading.decisions);
  return {
    decision: tally(read, said, { neutral: others, no: noLabels(labels, "decision") }),
    "decision (reasoning, tools)": apart(read, said, others),
  };
}

function scoreTasks({ labels, reading, library }) {
  const open = library.openTasks(reading.plan).map(({ text }) => ({ text, kind: "plan" }));
  const next = reading.nextSteps.map((text) => ({ text, kind: "next" }));
  const questions = reading.questions.map((text) => ({ text, kind: "question" }));
  const labelled = labels.filter(({ section }) => section === "task");
  return tally(readOutputs([...open, ...next, ...questions]), labelled, { no: noLabels(labels, "task") });
}

// ---- errors

function scoreErrors({ labels, reading, messages }) {
  const errors = labels.filter(({ section }) => section === "error");
  const open = errors.filter((label) => label.open);
  const no = noLabels(labels, "error");
  const read = readOutputs(reading.openErrors);
  const failed = failedSteps(reading, messages);
  const told = readOutputs(failed.flatMap(({ step }) => step.outcome.errors.map((text) => ({ text }))));
  return {
    "error: is open": tally(read, open, { no }),
    "error: names a failure": { outputs: tally(read, errors, { no }).outputs, groups: [] },
    "error: of failed steps": tally(told, errors, { no }),
    "error: in failed results": scoreResults(failed, errors),
  };
}

function failedSteps(reading, messages) {
  return reading.steps
    .filter(({ outcome }) => outcome.state === "failed")
    .map((step) => ({ step, ...resultOf(messages, step.message, step.call) }));
}

/** Whether the step is one of those with a labelled failure, whatever line of its result is told. */
function scoreResults(failed, errors) {
  const sameResult = (one) => (other) => one.message === other.message && one.part === other.part;
  const outputs = failed.map((one) => ({
    text: `${one.message}: ${one.step.outcome.detail} | ${one.step.outcome.errors.join(" / ")}`,
    right: errors.some(sameResult(one)),
  }));
  const groups = errors
    .filter(({ type }) => type === "toolResult")
    .map((label) => ({ text: labelText(label), labels: 1, found: failed.some(sameResult(label)) }));
  return { outputs, groups };
}

// ---- tallies

/** Outputs in the form in which they are compared; of those that say the same, one. */
function readOutputs(outputs) {
  const read = new Map();
  for (const { text, kind = "" } of outputs) {
    const one = { ...readText(text), kind };
    if (one.plain !== "" && !read.has(one.plain)) read.set(one.plain, one);
  }
  return [...read.values()];
}

function noLabels(labels, like) {
  return labels.filter((label) => label.section === "no" && label.like === like);
}

function tally(outputs, labels, { neutral = [], no = [] } = {}) {
  const matching = (list, output) => list.some(({ read }) => matches(read, output));
  return {
    outputs: outputs.map((output) => {
      const right = matching(labels, output) ? true : matching(neutral, output) ? undefined : false;
      const marks = [output.kind, right === false && matching(no, output) ? "labelled no" : ""].filter(
        Boolean,
      );
      return { text: `${output.text}${marks.length > 0 ? ` [${marks.join(", ")}]` : ""}`, right };
    }),
    groups: groupsOf(labels, outputs),
  };
}

/** Labels that are no part of the goal: of the outputs, those that match them only. */
function apart(outputs, goal, labels) {
  const all = tally(outputs, labels, {});
  const others = tally(outputs, goal, {});
  return {
    outputs: all.outputs.filter(({ right }, index) => right && others.outputs[index].right === false),
    groups: all.groups,
  };
}

function groupsOf(labels, outputs) {
  return groupLabels(labels).map((group) => ({
    text: labelText(group[0]),
    labels: group.length,
    found: group.some(({ read }) => outputs.some((output) => matches(read, output))),
  }));
}

function labelText({ message, part, role, type, read }) {
  return `${message}.${part} ${role} ${type}: ${read.text.trim()}`;
}
