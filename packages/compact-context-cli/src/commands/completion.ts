import { type Command, FLAGS, type FlagName, type FlagSpec, misuse, type Run } from "../flags.ts";

/** The completions after a command: its subcommands with their summaries, and its flags. */
interface Node {
  /** Full name without `compact`; empty for the root. */
  readonly path: string;
  readonly names: readonly (readonly [name: string, summary: string])[];
  readonly flags: readonly FlagName[];
}

const SHELLS: Readonly<Record<string, (nodes: readonly Node[]) => string>> = { bash, zsh, fish };

/** Prints a completion script for the given shell. */
export function completionOf(commands: Command): Run {
  return async ({ words, ports }) => {
    const [shell = ""] = words;
    const scriptOf = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (scriptOf === undefined) {
      const hint = `Use ${Object.keys(SHELLS).join(", ")}: compact completion bash.`;
      throw misuse(`there is no completion for ${shell}`, hint);
    }
    ports.stdout.write(scriptOf(nodesOf(commands, "")));
    return 0;
  };
}

/** The flags of a default subcommand also belong to its parent. */
function nodesOf(command: Command, path: string): Node[] {
  const actions = command.actions ?? [];
  const fallback = actions.find(({ isDefault }) => isDefault === true);
  const listed = path === "" ? actions.filter((action) => action !== fallback) : actions;
  return [
    {
      path,
      names: listed.map(({ name, summary }) => [name, summary]),
      flags: [...(command.flags ?? []), ...(fallback?.flags ?? []), "help"],
    },
    ...listed.flatMap((action) => nodesOf(action, `${path} ${action.name}`.trim())),
  ];
}

/** The completions of a node as one word list. */
function wordList({ names, flags }: Node): string {
  return [...names.map(([name]) => name), ...flags.map((flag) => `--${flag}`)].join(" ");
}

/** Case patterns for the typed words, the longest paths first. */
function cases(nodes: readonly Node[]): string {
  return nodes
    .toSorted((a, b) => b.path.length - a.path.length)
    .map(
      (node) =>
        `    ${node.path === "" ? "*" : `"${node.path}"|"${node.path} "*`}) offered="${wordList(node)}" ;;`,
    )
    .join("\n");
}

const WORDS = `  local offered words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) words="\${words:+$words }$word" ;; esac
  done`;

function bash(nodes: readonly Node[]): string {
  return `# bash completion of compact
_compact() {
${WORDS}
  case "$words" in
${cases(nodes)}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}") $(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _compact compact
`;
}

function zsh(nodes: readonly Node[]): string {
  return `#compdef compact
# zsh completion of compact
_compact() {
  local offered typed
  typed="\${(j: :)\${(@)words[2,CURRENT-1]:#-*}}"
  case "$typed" in
${cases(nodes)}
  esac
  compadd -- \${=offered}
  _files
}
compdef _compact compact
`;
}

function fish(nodes: readonly Node[]): string {
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = nodes.flatMap(({ path, names, flags }) => {
    const seen = path
      .split(" ")
      .filter(Boolean)
      .map((name) => `__fish_seen_subcommand_from ${name}`);
    const others =
      names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names.map(([name]) => name).join(" ")}`];
    const condition = quote([...seen, ...others].join("; and ") || "true");
    return [
      ...names.map(
        ([name, summary]) => `complete -c compact -n ${condition} -a ${name} -d ${quote(summary)}`,
      ),
      ...flags.map(
        (flag) => `complete -c compact -n ${condition} ${fishFlag(flag)} -d ${quote(FLAGS[flag].help)}`,
      ),
    ];
  });
  return `# fish completion of compact\n${lines.join("\n")}\n`;
}

function fishFlag(name: FlagName): string {
  const spec: FlagSpec = FLAGS[name];
  const short = spec.short === undefined ? "" : ` -s ${spec.short}`;
  return `-l ${name}${short}${spec.value === undefined ? "" : " -r"}`;
}
