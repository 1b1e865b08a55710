import { parseArgs } from "node:util";
import { closest } from "compact-context/internal/config/schema";
import { CompactError } from "compact-context/internal/errors";
import { FLAGS, type FlagName, type FlagSpec, type Flags } from "./flags.ts";

export interface Arguments {
  readonly positionals: readonly string[];
  readonly flags: Flags;
}

/** Reads the words after a command; throws `InvalidUsage` for flags that it does not take or that lack a value. */
export function parseArguments(words: readonly string[], names: readonly FlagName[]): Arguments {
  const taken: readonly FlagName[] = [...names, "help"];
  const { tokens } = parseArgs({
    args: [...words],
    strict: false,
    tokens: true,
    options: Object.fromEntries(taken.map((name) => [name, optionOf(FLAGS[name])])),
  });
  const positionals: string[] = [];
  const flags = new Map<FlagName, string | true>();
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const [name, value] = checked(token, taken);
    if (flags.has(name) && flags.get(name) !== value) throw twice(token.rawName);
    flags.set(name, value);
  }
  return { positionals, flags: Object.fromEntries(flags) as Flags };
}

function optionOf(spec: FlagSpec): { type: "string" | "boolean"; short?: string } {
  const type = spec.value === undefined ? "boolean" : "string";
  return spec.short === undefined ? { type } : { type, short: spec.short };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  /** Whether the value stands in the same word, as in `--name=value`. */
  readonly inlineValue: boolean | undefined;
}

function checked(token: OptionToken, taken: readonly FlagName[]): [FlagName, string | true] {
  const name = taken.find((one) => one === token.name);
  if (name === undefined) throw unknownFlag(token.rawName, taken);
  const spec: FlagSpec = FLAGS[name];
  if (spec.value === undefined) {
    if (token.value === undefined) return [name, true];
    throw new CompactError("InvalidUsage", `${token.rawName} takes no value`, {
      hint: `Write ${token.rawName} alone.`,
    });
  }
  const { value = "" } = token;
  if (value.startsWith("-") && token.inlineValue !== true) throw flagForValue(token.rawName, name, value);
  if (value !== "") return [name, value];
  throw new CompactError("InvalidUsage", `${token.rawName} needs a value`, {
    hint: `Write ${token.rawName} ${spec.value}: ${spec.help}.`,
  });
}

/** Whoever writes `-o --json` forgot the file: nobody means one of that name. */
function flagForValue(given: string, name: FlagName, value: string): CompactError {
  return new CompactError("InvalidUsage", `${given} needs a value, and ${value} begins with a dash`, {
    hint: `Write ${given} ${FLAGS[name].value ?? "VALUE"}; where the value does begin with a dash, --${name}=${value}.`,
  });
}

function unknownFlag(given: string, taken: readonly FlagName[]): CompactError {
  const elsewhere = Object.hasOwn(FLAGS, given.replace(/^--/, ""));
  const near = closest(given.replace(/^-+/, ""), taken);
  const hint = near === undefined ? "" : `Did you mean --${near}? `;
  const problem = elsewhere ? "is no flag of this command" : "is no flag";
  return new CompactError("InvalidUsage", `${given} ${problem}`, {
    hint: `${hint}Taken here: ${taken.map((name) => `--${name}`).join(" ")}.`,
  });
}

function twice(flag: string): CompactError {
  return new CompactError("InvalidUsage", `${flag} is given twice with different values`, {
    hint: "Give it once.",
  });
}
