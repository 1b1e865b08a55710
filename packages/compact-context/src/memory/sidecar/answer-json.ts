import { readLenientJson } from "./lenient-json.ts";

/** The JSON in a model's answer. */
export interface AnswerJson {
  readonly value: unknown;
  /** The value as strict JSON. */
  readonly text: string;
  /** The answer was not strict JSON by itself. */
  readonly repaired: boolean;
  /** The answer ended before the value did; what was cut off in the middle is left out. */
  readonly truncated: boolean;
}

/** What the value should be; a list around a single object, or an object around a single list, is then taken off. */
export type JsonShape = "object" | "list";

const THOUGHT = /<(think|thinking|reasoning)>[\s\S]*?<\/\1>/gi;
const FENCED = /(?:```|~~~)[^\n`]*\n([\s\S]*?)(?:\n[ \t]*(?:```|~~~)|$)/g;
const MOST_OPENINGS = 12;
/** How many times longer a value of the wrong kind must be to be taken. */
const WRONG_KIND = 50;
const LONGEST = 400_000;

/**
 * Finds the JSON in an answer: the whole of it, what stands in a fence, an object within prose, and last a reading that
 * forgives what models do wrong. Undefined where there is none.
 */
export function answerJson(answer: string, shape?: JsonShape): AnswerJson | undefined {
  const plain = answer
    .slice(0, LONGEST)
    .replace(/^\uFEFF/, "")
    .replace(THOUGHT, "")
    .trim();
  const whole = strict(plain);
  if (whole !== undefined) return shaped(whole.value, { shape, repaired: false, truncated: false });
  for (const text of [...fenced(plain), plain]) {
    const found = strict(text) ?? escaped(text) ?? inProse(text, shape);
    if (found !== undefined)
      return shaped(found.value, { shape, repaired: true, truncated: found.truncated });
  }
  return undefined;
}

interface Found {
  readonly value: unknown;
  readonly truncated: boolean;
}

function strict(text: string): Found | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // JSON as a text in JSON.
    if (typeof value === "string") return /[{[]/.test(value) ? (strict(value) ?? inProse(value)) : undefined;
    return typeof value === "object" && value !== null ? { value, truncated: false } : undefined;
  } catch {
    return undefined;
  }
}

function fenced(text: string): string[] {
  return [...text.matchAll(FENCED)]
    .map(([, inner]) => (inner ?? "").trim())
    .filter((inner) => /^[{["]/.test(inner));
}

/** Of all values that begin somewhere in the text the longest of the right kind: prose has brackets too. */
function inProse(text: string, shape: JsonShape = "object"): Found | undefined {
  let best: (Found & { readonly weight: number }) | undefined;
  let at = text.search(/[{[]/);
  for (let tries = 0; at >= 0 && tries < MOST_OPENINGS; tries += 1) {
    const read = readLenientJson(text, at);
    const length = read === undefined ? 0 : read.end - at;
    const fits = Array.isArray(read?.value) === (shape === "list");
    const weight = fits ? length * WRONG_KIND : length;
    if (read !== undefined && !isEmpty(read.value) && weight > (best?.weight ?? 0))
      best = { ...read, weight };
    const next = text.slice(at + Math.max(1, length)).search(/[{[]/);
    at = next < 0 ? -1 : at + Math.max(1, length) + next;
  }
  return best;
}

/** `{\"a\": 1}`: the inside of a text without its quotes. */
function escaped(text: string): Found | undefined {
  return /[{[,]\s*\\"/.test(text) ? strict(`"${text.replace(/\n/g, "\\n")}"`) : undefined;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function shaped(
  value: unknown,
  { shape, ...how }: { shape: JsonShape | undefined; repaired: boolean; truncated: boolean },
): AnswerJson {
  const inner = unwrapped(value, shape);
  return { value: inner, text: JSON.stringify(inner), ...how, repaired: how.repaired || inner !== value };
}

function unwrapped(value: unknown, shape: JsonShape | undefined): unknown {
  if (shape === "object" && Array.isArray(value) && value.length === 1) return value[0];
  if (shape === "list" && !Array.isArray(value)) {
    const lists = Object.values(value ?? {}).filter((inner) => Array.isArray(inner));
    if (lists.length === 1) return lists[0];
  }
  return value;
}
