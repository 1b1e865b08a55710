import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { FORBIDS, LASTING, rule } from "./language.ts";

// Which sentences are rules that are to hold.

/** A wish that is to hold: `always …`, `never …`, `from now on …`. */
export function isRule(text: string): boolean {
  if (/[:：]$/.test(text)) return false;
  if (HABIT.test(text)) return true;
  return LASTING.test(text) ? isImperative(text) : false;
}

/** What is done again and again is done so, or with this: `Commit messages should be …`, `Use … for function names`. */
const PRACTICE =
  "(?:commit messages?|commits|branch(?: name)?s|pull requests|prs|release notes|change ?log entries|docs|docstrings|(?:code )?comments|code reviews|(?:\\p{L}+ ){0,2}names|unit tests|end-to-end tests|integration tests|migrations|timestamps|dates|prices|amounts|error messages|e-?mails|answers|replies)";
const HABIT: RegExp = rule(
  `^(?:all |every |the |our )?${PRACTICE} (?:should|must|have to|need to|ought to|shall) (?:(?!work|pass|now)\\p{L})`,
  `^use .{1,60} for (?:all |every )?(?:(?:\\p{L}|[+#])+ ){0,2}?${PRACTICE}[.]?$`,
  "^(?:please )?(?:use|keep|write|avoid|prefer|put|name|format|indent|spell|leave|answer|reply).{3,120} in (?:this|our|the (?:whole|entire)|all(?: the| of the)?) (?:project|code ?base|repo(?:sitory)?|docs|documentation|files)[.]?$",
  "^(?:please )?(?:answer|reply(?: to)?|respond to|address|talk to|write to) me (?:in|with|as|by)(?![\\p{L}])",
);

/** Facts may say "always" too; a wish begins with its verb, or forbids. */
function isImperative(text: string): boolean {
  return (
    rulesIn(text).length > 0 ||
    FORBIDS.test(text.slice(0, 40)) ||
    LASTING.test(text.slice(0, 24)) ||
    /[\u3040-\u9fff]/u.test(text)
  );
}
