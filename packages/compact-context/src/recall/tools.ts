import { requireFunction, requireList, requireOptions } from "../errors.ts";
import { o200kBase } from "../tokens/encodings/o200k-base.ts";
import { type Arguments, FAILED, numberIn, readArguments, textIn, wordsOfError } from "./arguments.ts";
import { EXPAND_TOOL, SEARCH_TOOL } from "./names.ts";
import { expandedText, hitsText, type Limits, notFoundText, stepText } from "./quote.ts";
import { RECALL_TOKENS, type Recall } from "./recall.ts";

const SOURCE_HINT = "Pass the manager, whose recall the tools use.";

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

const LEAST_TOKENS = 200;
const MOST_HITS = 20;
const HITS = 8;

/** Arguments that tools of one conversation and of a whole archive have in common, as schemas and as they are read. */
export const ARGUMENTS: Readonly<
  Record<"query" | "limit" | "id" | "offset", ParametersSchema["properties"][string]>
> = {
  query: {
    type: "string",
    description:
      'Words, names, paths or identifiers to find; "words in double quotes" must stand there exactly.',
  },
  limit: { type: "integer", description: `Most results, 1 to ${MOST_HITS}; ${HITS} when left out.` },
  id: { type: "string", description: 'An archive id of ten characters, or "step N".' },
  offset: {
    type: "integer",
    description: "Where to go on reading, as the answer before said; 0 when left out.",
  },
};

/** What was asked of a search. */
export function searchIn(given: Arguments): { readonly query: string; readonly limit: number } {
  const query = textIn(given, "query");
  return { query, limit: Math.min(MOST_HITS, numberIn(given, "limit", { least: 1, otherwise: HITS })) };
}

/** What was asked to be read: a step where `step N`, or the range `steps N-M`, was named. */
export function placeIn(given: Arguments): {
  readonly id: string;
  readonly step: number | undefined;
  readonly offset: number;
} {
  const id = cleanId(textIn(given, "id"));
  const step = /^steps? (?:\d{1,6}-)?(\d{1,6})$/.exec(id)?.[1];
  const offset = numberIn(given, "offset", { least: 0, otherwise: 0 });
  return { id, step: step === undefined ? undefined : Number(step), offset };
}

/** What the answers of tools may have. */
export function limitsOf({ maxTokens = RECALL_TOKENS, countText }: RecallToolsOptions): Limits {
  return { maxTokens: Math.max(LEAST_TOKENS, maxTokens), countText: countText ?? o200kBase.count };
}

/** Two tools with which a model reads what left its prompt: `compact_search` finds messages, `compact_expand` reads one. */
export function recallTools(
  source: RecallSource,
  sessionId: string,
  options: RecallToolsOptions = {},
): readonly RecallTool[] {
  requireOptions(source, "source", SOURCE_HINT);
  requireFunction(source.recall, "source.recall", SOURCE_HINT);
  requireOptions(options);
  const limits = limitsOf(options);
  const recall = source.recall(sessionId);
  return [searchTool(recall, limits), expandTool(recall, limits)];
}

function searchTool(recall: Recall, limits: Limits): RecallTool {
  return {
    name: SEARCH_TOOL,
    description:
      "Searches the messages of this conversation that were removed or shortened to save room: everything said, every tool call and its full output. Gives ids and excerpts; read a whole message with compact_expand.",
    parameters: schema({ query: ARGUMENTS.query, limit: ARGUMENTS.limit }, ["query"]),
    execute: (args) =>
      safely(args, async (given) => {
        const { query, limit } = searchIn(given);
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
    parameters: schema({ id: ARGUMENTS.id, offset: ARGUMENTS.offset }, ["id"]),
    execute: (args) =>
      safely(args, async (given) => {
        const { id, step, offset } = placeIn(given);
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

/** Models hand over the words around an id as well. */
function cleanId(id: string): string {
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
  requireTools(tools);
  return tools.find((tool) => tool.name === name)?.execute(args);
}

/** Throws `InvalidArgument` for what is no list of tools. */
export function requireTools(tools: readonly RecallTool[]): void {
  const hint = "Pass what recallTools gave back.";
  requireList(tools, "tools", hint);
  for (const [index, tool] of tools.entries()) {
    requireOptions(tool, `tools[${index}]`, hint);
    requireFunction(tool.execute, `tools[${index}].execute`, hint);
  }
}
