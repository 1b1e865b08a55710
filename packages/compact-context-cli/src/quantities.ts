import { CompactError } from "compact-context/internal/errors";

const AMOUNT = /^(\d+(?:\.\d+)?)\s*(k|m)?$/i;
const PERCENT = /^(\d+(?:\.\d+)?)\s*%$/;

/** `20000`, `20k`, `1.5M`, `20,000` or `20_000` as tokens; throws `InvalidUsage` naming the flag. */
export function parseTokens(text: string, flag: string): number {
  const match = AMOUNT.exec(text.replace(/(?<=\d)[,_](?=\d{3})/g, "").trim());
  const factor = { k: 1000, m: 1_000_000 }[match?.[2]?.toLowerCase() ?? ""] ?? 1;
  const tokens = Math.round(Number(match?.[1] ?? Number.NaN) * factor);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new CompactError("InvalidUsage", `${flag} ${text}: not a number of tokens above zero`, {
    place: flag,
    hint: `Write it as ${flag} 20000, ${flag} 20k or ${flag} 1.5M.`,
  });
}

/** Tokens as `parseTokens` reads them, or a share such as `25%` of `whole`. */
export function parseTokensOrShare(text: string, flag: string, whole: number): number {
  const percent = PERCENT.exec(text.trim());
  if (percent === null) return parseTokens(text, flag);
  const share = Number(percent[1]);
  if (share > 0 && share <= 100) return Math.max(1, Math.floor((whole * share) / 100));
  throw new CompactError("InvalidUsage", `${flag} ${text}: not a share between 0% and 100%`, {
    place: flag,
    hint: `Write it as ${flag} 25%, the share of the tokens before.`,
  });
}
