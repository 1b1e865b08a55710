import {
  argumentsText,
  type MediaPart,
  type Message,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";

/**
 * The common denominator of providers for newly built lists: someone speaks, the assistant speaks and calls,
 * or results arrive. Results directly follow the step that called for them. Reasoning is bound to its
 * provider and is omitted.
 */
export type Step =
  | {
      readonly type: "input";
      readonly role: "system" | "developer" | "user";
      readonly content: readonly (TextPart | MediaPart)[];
      readonly message: Message;
    }
  | {
      readonly type: "assistant";
      readonly content: readonly (TextPart | MediaPart)[];
      readonly calls: readonly ToolCallPart[];
      readonly message: Message;
    }
  | { readonly type: "results"; readonly results: readonly ToolResultPart[]; readonly message: Message };

/** The steps of a run of messages. A provider-executed call without a result becomes assistant text. */
export function toSteps(run: readonly Message[]): Step[] {
  return gatherResults(joinAssistants(run.flatMap(splitMessage)));
}

type Piece = Message["parts"][number];
type Content = TextPart | MediaPart;

/** Splits a message at boundaries between results and other parts. */
function splitMessage(message: Message): Step[] {
  const groups: Piece[][] = [];
  let inResults: boolean | undefined;
  for (const part of message.parts) {
    if (part.type === "reasoning") continue;
    const isResult = part.type === "toolResult";
    if (isResult !== inResults) groups.push([]);
    inResults = isResult;
    groups.at(-1)?.push(part);
  }
  const thinks = message.parts.some((part) => part.type === "reasoning");
  if (groups.length === 0 && !thinks) groups.push([]);
  return groups.map((group) => toStep(message, group));
}

function toStep(message: Message, parts: readonly Piece[]): Step {
  const results = parts.filter((part): part is ToolResultPart => part.type === "toolResult");
  if (results.length > 0) return { type: "results", results, message };
  const content = parts.filter((part): part is Content => part.type === "text" || part.type === "media");
  const calls = parts.filter((part): part is ToolCallPart => part.type === "toolCall");
  if (message.role === "assistant" || calls.length > 0) return { type: "assistant", content, calls, message };
  // A tool message without a result can only be a user message.
  return { type: "input", role: message.role === "tool" ? "user" : message.role, content, message };
}

function joinAssistants(steps: readonly Step[]): Step[] {
  const joined: Step[] = [];
  for (const step of steps) {
    const last = joined.at(-1);
    if (step.type === "assistant" && last?.type === "assistant" && mayJoin(last.message, step.message)) {
      joined[joined.length - 1] = {
        ...last,
        content: [...last.content, ...step.content],
        calls: [...last.calls, ...step.calls],
      };
    } else {
      joined.push(step);
    }
  }
  return joined;
}

/** A summary stays a separate message so that it can be found and replaced. */
function mayJoin(one: Message, other: Message): boolean {
  return one.meta?.summaryVersion === undefined && other.meta?.summaryVersion === undefined;
}

function gatherResults(steps: readonly Step[]): Step[] {
  const waiting = resultsById(steps);
  const gathered: Step[] = [];
  const placed = new Set<ToolResultPart>();
  const place = (results: readonly ToolResultPart[], message: Message): void => {
    const fresh = results.filter((result) => !placed.has(result));
    for (const result of fresh) placed.add(result);
    if (fresh.length > 0) pushResults(gathered, { type: "results", results: fresh, message });
  };
  for (const step of steps) {
    if (step.type === "results") place(step.results, step.message);
    else if (step.type === "input") gathered.push(step);
    else {
      const answers = step.calls.map((call) => waiting.get(call.id)?.find((result) => !placed.has(result)));
      gathered.push(withoutUnanswered(step, answers));
      place(
        answers.filter((answer) => answer !== undefined),
        step.message,
      );
    }
  }
  return gathered;
}

function pushResults(steps: Step[], step: Step & { type: "results" }): void {
  const last = steps.at(-1);
  if (last?.type === "results")
    steps[steps.length - 1] = { ...last, results: [...last.results, ...step.results] };
  else steps.push(step);
}

function resultsById(steps: readonly Step[]): Map<string, ToolResultPart[]> {
  const results = new Map<string, ToolResultPart[]>();
  for (const step of steps) {
    if (step.type !== "results") continue;
    for (const result of step.results) {
      const same = results.get(result.id);
      if (same === undefined) results.set(result.id, [result]);
      else same.push(result);
    }
  }
  return results;
}

function withoutUnanswered(step: Step & { type: "assistant" }, answers: readonly unknown[]): Step {
  const served = (call: ToolCallPart, index: number): boolean =>
    call.providerExecuted === true && answers[index] === undefined;
  if (!step.calls.some(served)) return step;
  const words = step.calls.filter(served).map((call): TextPart => {
    return { type: "text", text: `[${call.name} ${argumentsText(call)}]` };
  });
  return {
    ...step,
    content: [...step.content, ...words],
    calls: step.calls.filter((call, index) => !served(call, index)),
  };
}

/** A result's content as a list of parts. */
export function piecesOf(content: ToolResultPart["content"]): readonly Content[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
