import {
  argumentsText,
  type MediaPart,
  type Message,
  type Part,
  type Role,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { mediaWords } from "./native.ts";

/** What a result or a person says. */
export type Content = TextPart | MediaPart;

/**
 * The common denominator of providers for newly built lists: someone speaks, the assistant speaks and calls
 * (role `assistant`), or results arrive (role `tool`). Results directly follow the step that called for them.
 * Reasoning is bound to its provider and is omitted.
 */
export interface Step {
  readonly role: Role;
  readonly content: readonly Content[];
  readonly calls: readonly ToolCallPart[];
  readonly results: readonly ToolResultPart[];
  readonly message: Message;
}

/** The steps of a run of messages. A provider-executed call without a result becomes assistant text. */
export function toSteps(run: readonly Message[]): Step[] {
  return gatherResults(joinAssistants(run.flatMap(splitMessage)));
}

/** Splits a message at boundaries between results and other parts. */
function splitMessage(message: Message): Step[] {
  const groups: Part[][] = [];
  let inResults: boolean | undefined;
  for (const part of message.parts) {
    if (part.type === "reasoning") continue;
    const isResult = part.type === "toolResult";
    if (isResult !== inResults) groups.push([]);
    inResults = isResult;
    groups.at(-1)?.push(part);
  }
  if (message.parts.length === 0) groups.push([]);
  return groups.map((group) => toStep(message, group));
}

function toStep(message: Message, parts: readonly Part[]): Step {
  const content = parts.filter((part) => part.type === "text" || part.type === "media");
  const calls = parts.filter((part) => part.type === "toolCall");
  const results = parts.filter((part) => part.type === "toolResult");
  // A tool message without a result can only be a user message.
  const speaker = message.role === "tool" ? "user" : message.role;
  const role = results.length > 0 ? "tool" : calls.length > 0 ? "assistant" : speaker;
  return { role, content, calls, results, message };
}

/** A summary stays a separate message so that it can be found and replaced. */
function joinAssistants(steps: readonly Step[]): Step[] {
  const isJoinable = (step: Step | undefined): step is Step =>
    step?.role === "assistant" && step.message.meta?.summaryVersion === undefined;
  const joined: Step[] = [];
  for (const step of steps) {
    const last = joined.at(-1);
    if (isJoinable(step) && isJoinable(last)) {
      const content = [...last.content, ...step.content];
      joined[joined.length - 1] = { ...last, content, calls: [...last.calls, ...step.calls] };
    } else joined.push(step);
  }
  return joined;
}

function gatherResults(steps: readonly Step[]): Step[] {
  const unplaced = new Set(steps.flatMap((step) => step.results));
  const byId = new Map<string, ToolResultPart[]>();
  for (const result of unplaced) byId.set(result.id, [...(byId.get(result.id) ?? []), result]);
  const gathered: Step[] = [];
  const place = (step: Step, results: readonly ToolResultPart[]): void => {
    const fresh = results.filter((result) => unplaced.delete(result));
    const last = gathered.at(-1);
    if (last?.role === "tool")
      gathered[gathered.length - 1] = { ...last, results: [...last.results, ...fresh] };
    else if (fresh.length > 0) gathered.push(toStep(step.message, fresh));
  };
  for (const step of steps) {
    if (step.role === "tool") place(step, step.results);
    else {
      const answers = step.calls.map((call) => byId.get(call.id)?.find((result) => unplaced.has(result)));
      gathered.push(withoutUnanswered(step, answers));
      place(
        step,
        answers.filter((answer) => answer !== undefined),
      );
    }
  }
  return gathered;
}

function withoutUnanswered(step: Step, answers: readonly unknown[]): Step {
  const isUnanswered = (call: ToolCallPart, index: number): boolean =>
    call.providerExecuted === true && answers[index] === undefined;
  const words = step.calls.filter(isUnanswered).map((call): TextPart => {
    return { type: "text", text: `[${call.name} ${argumentsText(call)}]` };
  });
  if (words.length === 0) return step;
  const calls = step.calls.filter((call, index) => !isUnanswered(call, index));
  return { ...step, content: [...step.content, ...words], calls };
}

/** A result's content as a list of parts. */
export function piecesOf(content: ToolResultPart["content"]): readonly Content[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The text of a step that calls nothing and says nothing else. */
export function onlyText({ content, calls }: Pick<Step, "content"> & Partial<Step>): string | undefined {
  const [only, ...others] = content;
  return only?.type === "text" && others.length === 0 && !calls?.length ? only.text : undefined;
}

/** A content in words, for formats that take only texts here. */
export function spoken(part: Content): string {
  return part.type === "text" ? part.text : mediaWords(part);
}
