import { o200kBase } from "../../tokens/encodings/o200k-base.ts";
import { type Arguments, FAILED, numberIn, readArguments, textIn, wordsOfError } from "./arguments.ts";
import { EXPAND_TOOL, SEARCH_TOOL } from "./names.ts";
import { expandedText, hitsText, notFoundText, stepText } from "./quote.ts";
import { RECALL_TOKENS, type Recall } from "./recall.ts";

/** A JSON schema of an object, as every provider takes it. */
export interface ParametersSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** A tool for a model, of no SDK; `asOpenAiChatTools` and its like make those of one. */
export interface RecallTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: ParametersSchema;
  /** Takes the arguments as a value or as JSON text. What goes wrong is told in the text: this never rejects. */
  execute(args: unknown): Promise<string>;
}

/** What a manager gives. */
export interface RecallSource {
  recall(sessionId: string): Recall;
}

export interface RecallToolsOptions {
  /** Most tokens of one answer; 2,000 when left out, at least 200. */
  readonly maxTokens?: number;
  /** o200k_base when left out. */
  countText?(text: string): number;
}

export const LEAST_TOKENS = 200;
export const MOST_HITS = 20;
export const HITS = 8;

/** Two tools with which a model reads what left its prompt: `compact_search` finds messages, `compact_expand` reads one. */
export function recallTools(
  source: RecallSource,
  sessionId: string,
  options: RecallToolsOptions = {},
): readonly RecallTool[] {
  const limits = {
    maxTokens: Math.max(LEAST_TOKENS, options.maxTokens ?? RECALL_TOKENS),
    countText: options.countText ?? o200kBase.count,
  };
  const recall = source.recall(sessionId);
  return [searchTool(recall, limits), expandTool(recall, limits)];
}

/** What an answer may have. */
export interface Limits {
  readonly maxTokens: number;
  countText(text: string): number;
}

function searchTool(recall: Recall, limits: Limits): RecallTool {
  return {
    name: SEARCH_TOOL,
    description:
      "Searches the messages of this conversation that were removed or shortened to save room: everything said, every tool call and its full output. Gives ids and excerpts; read a whole message with compact_expand.",
    parameters: schema(
      {
        query: {
          type: "string",
          description:
            'Words, names, paths or identifiers to find; "words in double quotes" must stand there exactly.',
        },
        limit: { type: "integer", description: `Most results, 1 to ${MOST_HITS}; ${HITS} when left out.` },
      },
      ["query"],
    ),
    execute: (args) =>
      safely(args, async (given) => {
        const query = textIn(given, "query");
        const limit = Math.min(MOST_HITS, numberIn(given, "limit", { least: 1, otherwise: HITS }));
        return hitsText(await recall.search(query, { limit }), {
          query,
          among: "this conversation",
          ...limits,
        });
      }),
  };
}

function expandTool(recall: Recall, limits: Limits): RecallTool {
  return {
    name: EXPAND_TOOL,
    description:
      'Reads a removed or shortened message of this conversation whole. The id is the one in "archive id …" of a shortened tool output, or from compact_search; "step N", as a summary names it, lists the messages of that archive step.',
    parameters: schema(
      {
        id: { type: "string", description: 'An archive id of ten characters, or "step N".' },
        offset: {
          type: "integer",
          description: "Where to go on reading, as the answer before said; 0 when left out.",
        },
      },
      ["id"],
    ),
    execute: (args) =>
      safely(args, async (given) => {
        const id = cleanId(textIn(given, "id"));
        const offset = numberIn(given, "offset", { least: 0, otherwise: 0 });
        const step = stepOf(id);
        if (step !== undefined) {
          const restored = await recall.restore(step, { asSent: true });
          return stepText(restored, { offset, ...limits });
        }
        const expanded = await recall.expand(id, { maxTokens: limits.maxTokens, offset });
        return expanded === undefined
          ? notFoundText(id, "this conversation")
          : expandedText(expanded, limits);
      }),
  };
}

/** The step that `step N`, or the range `steps N-M`, names. */
export function stepOf(id: string): number | undefined {
  const step = /^steps? (?:\d{1,6}-)?(\d{1,6})$/.exec(id)?.[1];
  return step === undefined ? undefined : Number(step);
}

/** Models hand over the words around an id as well. */
export function cleanId(id: string): string {
  return id
    .trim()
    .replace(/^\[?(?:archive )?id[: ]+/i, "")
    .replace(/^archive (?=steps? )/i, "")
    .replace(/[\].]+$/, "");
}

/** A closed object. */
export function schema(
  properties: ParametersSchema["properties"],
  required: readonly string[],
): ParametersSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** Runs a tool on its arguments; what goes wrong becomes its answer. */
export async function safely(args: unknown, work: (given: Arguments) => Promise<string>): Promise<string> {
  try {
    return await work(readArguments(args));
  } catch (error) {
    return `${FAILED}${wordsOfError(error)}`;
  }
}

/** Whether an answer of a tool tells of a failure. */
export function isFailure(answer: string): boolean {
  return answer.startsWith(FAILED);
}

/** Runs the tool of that name, for hosts that hand out calls themselves; undefined for a tool that is none of these. */
export async function runRecallTool(
  tools: readonly RecallTool[],
  name: string,
  args: unknown,
): Promise<string | undefined> {
  return tools.find((tool) => tool.name === name)?.execute(args);
}
