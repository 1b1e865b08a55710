import type { FileEffect } from "./file-effect.ts";

const WORD = /"[^"\n]*"|'[^'\n]*'|>{1,2}|[|;&\n]+|[^\s"'|;&<>]+|<+/g;
const LONGEST = 20_000;
const READERS: ReadonlySet<string> = new Set(["cat", "head", "tail", "less", "bat", "open", "nl", "view"]);
const NAME = /^[\w@.+~/-]*[\w~]$/;

/** Files that a shell command plainly reads or writes: redirections, `tee`, `sed -i`, `cat`, `rm`, `mv`, `touch`. */
export function shellEffects(command: string): FileEffect[] {
  const effects: FileEffect[] = [];
  const script = withoutHereDocuments(command.slice(0, LONGEST));
  let words: string[] = [];
  for (const [token] of script.matchAll(WORD)) {
    if (/^[|;&\n]/.test(token)) {
      simpleCommand(words, effects);
      words = [];
    } else words.push(token.replace(/^["']|["']$/g, ""));
  }
  simpleCommand(words, effects);
  return effects;
}

/** A command without a leading `cd … &&`, output plumbing and blanks: two runs of the same program read the same. */
export function commandKey(command: string): string {
  const line = command
    .slice(0, 2000)
    .replace(/^\s*cd\s+\S+\s*(?:&&|;)/, "")
    .replace(/\s+/g, " ");
  const pipe = line.search(/ ?\| ?(?:tail|head|grep|tee|cat|sed)\b/);
  const bare = pipe < 0 ? line : line.slice(0, pipe);
  return bare.replace(/ ?2>(?:&1|\/dev\/null)/g, "").trim();
}

function withoutHereDocuments(script: string): string {
  const lines: string[] = [];
  let end: string | undefined;
  for (const line of script.split("\n")) {
    if (end !== undefined) {
      if (line.trim() === end) end = undefined;
      continue;
    }
    lines.push(line);
    end = /<<-?\s{0,3}["']?(\w+)["']?/.exec(line)?.[1];
  }
  return lines.join("\n");
}

function simpleCommand(words: readonly string[], effects: FileEffect[]): void {
  const redirected = new Set<number>();
  words.forEach((word, index) => {
    if (word !== ">" && word !== ">>") return;
    const target = words[index + 1] ?? "";
    redirected.add(index).add(index + 1);
    if (isFile(target)) effects.push({ path: target, effect: word === ">" ? "created" : "edited" });
  });
  const plain = words.filter((_, index) => !redirected.has(index));
  const effect = effectOf(plain);
  if (effect === undefined) return;
  const names = plain.slice(1).filter((word) => !word.startsWith("-") && isFile(word));
  const last = plain[0] === "sed" || plain[0] === "mv" ? names.slice(-1) : names;
  for (const path of last) effects.push({ path, effect });
}

function effectOf(words: readonly string[]): FileEffect["effect"] | undefined {
  const program = words[0] ?? "";
  if (READERS.has(program)) return "read";
  if (program === "sed") return words.some((word) => word.startsWith("-i")) ? "edited" : "read";
  if (program === "tee" || program === "touch" || program === "create") return "created";
  if (program === "mv") return "edited";
  return program === "rm" ? "deleted" : undefined;
}

function isFile(word: string): boolean {
  if (word.length > 300 || word.startsWith("/dev/") || !NAME.test(word) || !/[A-Za-z]/.test(word))
    return false;
  return word.includes("/") || /\.[A-Za-z]\w{0,9}$/.test(word);
}
