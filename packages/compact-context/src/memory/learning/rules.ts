import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { FORBIDS, LASTING, rule, word } from "./language.ts";

// Which sentences are rules that are to hold.

/** A wish that is to hold: `always …`, `never …`, `stop …`, `when you show me dates, …`, `in Python code, use …`. */
export function isRule(text: string): boolean {
  if (/[:：]$/.test(text)) return false;
  if (HABIT.test(text)) return !OF_THE_TASK.test(text);
  if (LASTING.test(text)) return isImperative(text);
  return !OF_THE_TASK.test(text) && rulesIn(text).length > 0;
}

/** It binds the work at hand, or is no rule. */
const OF_THE_TASK: RegExp = rule(
  word(
    "^(?:it|he|she|they)|^you (?:must|have to|need to|should)|this|these|those|that (?=function|method|file|class|test|line|page|bug|error)|it(?=[.!]?$|,| and )|them|here|yet|again|first|(?:don['’]?t|do not) (?:forget|worry|bother|know|think|understand)|rest of (?:the|this) (?:session|chat|day)|(?:un)?til|while i|when you(?:['’]re| are) (?:done|finished|ready)|there should be",
    "diese[rsnm]?|noch nicht|(?:wir|ich) (?:müssen|muss|will|möchte|wollen)|cette|je veux|est[aeo]s?|todavía|(?:quiero|quero|gostaria) que|ess[ae]s?|isso|isto|эт\\p{L}+|пока|хочу",
  ),
  "这|この|その|それ|今回",
);

/** What is done again and again is done so, or with this: `Commit messages should be …`, `Use … for function names`. */
const PRACTICE =
  "(?:commit messages?|commits|branch(?: name|e)s|pull requests|prs|release notes|change ?log entries|docs|docstrings|(?:code )?comments|code reviews|(?:\\p{L}+ ){0,2}names|unit tests|end-to-end tests|integration tests|migrations|timestamps|dates|times|numbers|prices|amounts|units|quotes|error messages|e-?mails|letters|messages|answers|replies|recipes|summaries|headlines|keywords|links|tables|lists|paragraphs|sentences|posts|code(?: samples| examples| snippets)?|examples|(?:\\p{L}+ )?labels)";
/** What the agent does again and again. */
const DOES =
  "(?:use|write|put|keep|make|name|format|indent|spell|leave|give|show|list|answer|reply|respond|address|sign|start|begin|end|close|avoid|prefer|quote|round|sort|mark|label|call|stick)";
const HABIT: RegExp = rule(
  `^(?:all |every |the |our )?${PRACTICE} (?:here |in \\S+ \\S+ )?(?:should|must|have to|need to|ought to|shall) (?:(?!work|pass|now)\\p{L})`,
  `^use .{1,60} for (?:all |every )?(?:(?:\\p{L}|[+#])+ ){0,2}?${PRACTICE}[.]?$`,
  "^(?:please )?use .{2,50} for (?:indentation|formatting|naming|logging|testing|styling|translations?|navigation) in \\S",
  `^(?:please )?${DOES}.{3,120} (?:in|for|across|throughout) (?:this|our|the (?:whole|entire)|all(?: the| of the)?) (?:project|code ?base|repo(?:sitory)?|docs|documentation|files)[.]?$`,
  "^(?:please )?use .{2,40} (?:with|for|around) me(?![\\p{L}])",
  "^(?:bitte )?(?:duze|sieze) (?:mich|uns)(?![\\p{L}])",
  "^(?:please )?(?:answer|reply(?: to)?|respond to|address|talk to|write to) me (?:in|with|as|by)(?![\\p{L}])",
  // What is always done in one way.
  `^(?:please )?${DOES} (?:me )?(?:all |the |your |my |any )?${PRACTICE} (?:to (?:the )?\\p{L}+ |from (?:the )?\\p{L}+ )?(?:in|as|with|without|like|by|after)(?![\\p{L}])`,
  `^(?:\\p{L}+ )?${PRACTICE},? (?:always |only |please )(?:in|with|without|as)(?![\\p{L}])`,
  "^(?:please )?(?:answer|address|reply to|respond to|write to|sign (?:letters|mails?|e-?mails|notes) to) (?:the |our |my )?\\p{L}+s (?:in|with|as|by)(?![\\p{L}])",
  // Where it is done so: something of a kind, no single thing.
  `^(?:in|for|with|on) (?:(?:all|any|every|our|my) .{2,40}?|(?!(?:the|this|that|these|an?|your|case|addition|general|short|fact|example|instance)(?![\\p{L}])).{2,40}?|the (?:\\S+ ){0,2}\\p{L}{2,}s),? (?:please )?(?:always |never |only )?${DOES}(?![\\p{L}])`,
  `^(?:when|if|each time|any time) you (?:show|give|write|answer|reply|explain|suggest|recommend|quote|mention|format|create|send|name|list|cite|translate|draft|talk|review|commit|make|propose)(?![\\p{L}]).{2,80}?, (?:please )?(?:\\p{L}+ )?${DOES}(?![\\p{L}])`,
  // A complaint, and a wish about the answers.
  "^(?:please )?(?:stop|quit) \\p{L}+ing (?:\\S+ ){0,6}?(?:your|me|every|each|everything|emojis?|answers?|replies|so (?:much|many|often))(?![\\p{L}])",
  "^i (?:hate|can['’]t stand|dislike|don['’]t like|do not like|love|like|prefer) (?:it )?when you ",
  "^i(?:['’]d| would) (?:rather|prefer|like|love)(?: to have| to get)? (?:you(?:r| to)?|(?:\\p{L}+ ){0,2}(?:answers|replies|explanations|summaries))(?![\\p{L}])",
  `^(?:please,? )?no (?:more )?(?:\\S+ ){1,3}(?:in|at|from) (?:(?:the|your|my|our|any|\\p{L}+) )?${PRACTICE}`,
  "^(?!.*(?:この|今回|その)).{2,20}は.{1,30}(?:で|に)(?:書いて|答えて|返信して|出して|まとめて|統一して)(?:ください|ほしい)",
);

/** Facts may say "always" too; a wish begins with its verb, or forbids. */
function isImperative(text: string): boolean {
  return (
    rulesIn(text).length > 0 ||
    FORBIDS.test(text.slice(0, 40)) ||
    LASTING.test(text.slice(0, 12)) ||
    /[\u3040-\u9fff]/u.test(text)
  );
}
