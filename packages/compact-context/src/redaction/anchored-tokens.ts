import type { Finding } from "./finding.ts";

interface AnchoredToken {
  readonly issuer: string;
  /** Bounded throughout; the whole match is the token. */
  readonly pattern: RegExp;
  /** Text without which there is none. */
  readonly anchor: string;
}

/** Tokens that show by something in their middle or at their end. */
const ANCHORED_TOKENS: readonly AnchoredToken[] = [
  {
    issuer: "HashiCorp Terraform",
    anchor: ".atlasv1.",
    pattern: /\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{55,75}/g,
  },
  { issuer: "Azure", anchor: "Q~", pattern: /(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~-])/g },
  { issuer: "Azure DevOps", anchor: "AZDO", pattern: /\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b/g },
  { issuer: "Azure Storage", anchor: "+ASt", pattern: /[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{5,8}={0,2}/g },
  { issuer: "Azure", anchor: "JQQJ99", pattern: /\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}\b/g },
  { issuer: "MaxMind", anchor: "_mmk", pattern: /\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b/g },
  { issuer: "Mailchimp", anchor: "-us", pattern: /\b[0-9a-f]{32}-us\d{1,2}\b/g },
  { issuer: "Telegram", anchor: ":A", pattern: /\b\d{8,10}:A[\w-]{33,35}(?![\w-])/g },
  { issuer: "Discord", anchor: ".", pattern: /\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])/g },
  { issuer: "Facebook", anchor: "|", pattern: /\b\d{15,16}\|[\w-]{27,40}\b/g },
  { issuer: "Twitter", anchor: "-", pattern: /\b\d{15,19}-[A-Za-z0-9]{40}\b/g },
  { issuer: "Mailgun", anchor: "-", pattern: /\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b/g },
  { issuer: "OpenAI", anchor: "T3BlbkFJ", pattern: /\b[\w-]{20,80}T3BlbkFJ[\w-]{20,80}/g },
  {
    issuer: "Sidekiq",
    anchor: "contribsys",
    pattern: /\b[0-9a-f]{8}:[0-9a-f]{8}(?=@(?:gems|enterprise)\.contribsys)/g,
  },
  {
    issuer: "Sidekiq",
    anchor: "CONTRIBSYS__COM",
    pattern: /(?<=CONTRIBSYS__COM["'\s=:]{1,5})[0-9a-f]{8}:[0-9a-f]{8}\b/g,
  },
];

/** Tokens whose mark is not at their beginning. */
export function* findAnchoredTokens(text: string): Generator<Finding> {
  for (const { issuer, anchor, pattern } of ANCHORED_TOKENS) {
    if (!text.includes(anchor)) continue;
    for (const match of text.matchAll(pattern)) {
      yield { start: match.index, end: match.index + match[0].length, kind: `token:${issuer}` };
    }
  }
}
