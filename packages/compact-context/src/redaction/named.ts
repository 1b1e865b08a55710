import {
  type Finding,
  HINT,
  isBareSecret,
  isGiven,
  isHintingName,
  isMixed,
  isQuotedSecret,
  looksGenerated,
  SECRET_NAME,
  type Span,
  type ValueContext,
} from "./finding.ts";

// Every repetition is bounded, so that one match costs a constant however hostile the text.
const JOINT = `(?:\\\\{0,7}["'\`])?\\]?\\*{0,2}([ \\t]{0,8})(=>|:=|\\?=|={1,3}|:(?![:/]))\\*{0,2}([ \\t]{0,8})`;
const NAMES = new RegExp(SECRET_NAME, "gi");
const SIGNED = new RegExp(`(?:[_-]?\\d{1,2})?${JOINT}`, "y");
const FLAG = new RegExp(
  `(?<!-)--(?=[a-z])[a-z0-9-]{0,40}?(${SECRET_NAME})(["']?,?[ \\t]{1,8})(?=[^\\s=:-])`,
  "gi",
);
const HINTED = new RegExp(`(?:${HINT})[\\w.-]{0,40}${JOINT}`, "gi");
/** A type between name and value, as in `token: string = "…"`, `var token string = "…"`, `Dim Token As String = "…"`. */
const TYPE =
  "(?::[ \\t]{0,4}[&*'\\w(\\[][\\w<>\\[\\]&|?.'* ]{0,60}?|[ \\t]{1,4}(?:As[ \\t])?(?:\\[\\])?\\w{3,20})";
const DECLARED = new RegExp(
  `(?:\\[\\d{0,4}\\])?[?!]?${TYPE}?[ \\t]{0,4}(?:[.+]|\\|\\||\\?\\?|:)?=[ \\t]{0,4}(?:(?:Some|new \\w{1,40})\\()?(?=[fbruNL@$]?\\\\{0,3}["'\`])`,
  "iy",
);
/** A name in quotes with a value behind a comma, a call with the value, or the two side by side: `setPassword("…")`. */
const GIVEN = /(?:\\{0,3}["'`][ \t]{0,4},[ \t]{0,4}|[({]|[ \t]{1,4})(?=[fbruNL@$]?\\{0,3}["'`])/y;
const ENCODED_SIGN = /(?:%22)?(?:%3D|%3A)(?:%20|\+)?(?:%22)?/iy;
/** Up to an encoded end of line, `&`, `,`, `"`, `;` or brace. */
const ENCODED_VALUE = /(?:[\w.~!*'()+-]|%(?!2[26C]|3B|7D|0A)[0-9A-F]{2}){1,1024}/iy;
const NAME_BEFORE = /[\w.-]{0,60}$/;
const OPENING = /[fbruNL@$]?(\\{0,7}["'`])/y;
const SCHEME = /(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,8}/iy;
const BARE = /[^\s"'`,;<>&|\\]{1,512}/y;
const GENERATED = /[A-Za-z0-9_.+/=~-]{12,512}/y;
const LONGEST_QUOTED = 4096;
const JUDGED = 500;
const KIND = "named-value";

/** The values given to secret names: `name=value`, `name: value`, JSON at any depth of escaping, `--name value`. */
export function* findKeyValues(text: string): Generator<Finding> {
  yield* valuesOf(text, NAMES, besideName);
  if (text.includes("--")) yield* valuesOf(text, FLAG, (_, match) => secretAfter(text, atFlag(match)));
  yield* valuesOf(text, HINTED, generatedAfter);
}

/** A name, what joins it to a value, and where the value begins. */
interface Named {
  readonly name: string;
  readonly start: number;
  readonly before: string;
  readonly sign: string;
  readonly after: string;
  readonly valueAt: number;
}

function atFlag({ 0: whole, 1: name = "", index }: RegExpExecArray): Named {
  return { name, start: index, before: "", sign: "", after: "", valueAt: index + whole.length };
}

/** Behind a name stands a sign, a type and a sign, or the value itself in quotes. */
function besideName(text: string, { 0: name, index: start }: RegExpExecArray): Span | undefined {
  const end = start + name.length;
  SIGNED.lastIndex = end;
  const signed = SIGNED.exec(text);
  if (signed !== null) {
    const [whole, before = "", sign = "", after = ""] = signed;
    const span = secretAfter(text, { name, start, before, sign, after, valueAt: end + whole.length });
    if (span !== undefined || sign !== ":") return span;
  }
  const declared = matchAt(DECLARED, text, end);
  if (declared !== undefined) {
    return secretAfter(text, {
      name,
      start,
      before: " ",
      sign: "=",
      after: " ",
      valueAt: end + declared.length,
    });
  }
  const given = matchAt(GIVEN, text, end);
  return given === undefined ? inAddress(text, end) : givenAfter(text, name, end + given.length);
}

/** `password%3Dx%26…`: name and value with their signs encoded as in addresses and forms. */
function inAddress(text: string, end: number): Span | undefined {
  if (text.charAt(end) !== "%") return undefined;
  const sign = matchAt(ENCODED_SIGN, text, end);
  if (sign === undefined) return undefined;
  const start = end + sign.length;
  const value = matchAt(ENCODED_VALUE, text, start) ?? "";
  return value.length > 2 && isFilledIn(value) ? { start, end: start + value.length } : undefined;
}

/** A quoted value that no sign gives to its name: it must look like a secret itself. */
function givenAfter(text: string, name: string, valueAt: number): Span | undefined {
  const opening = matchAt(OPENING, text, valueAt) ?? "";
  const inner = valueAt + opening.length;
  const end = closingQuote(text, inner, opening.replace(/^[fbruNL@$]/, ""));
  if (end === undefined) return undefined;
  const start = inner + (matchAt(SCHEME, text, inner)?.length ?? 0);
  return isGiven(text.slice(start, end), name) ? { start, end } : undefined;
}

type Judge = (text: string, match: RegExpExecArray) => Span | undefined;

function* valuesOf(text: string, pattern: RegExp, judge: Judge): Generator<Finding> {
  // Most texts have none, and a copy of the pattern costs more than the search.
  if (text.search(pattern) < 0) return;
  const names = new RegExp(pattern);
  for (let match = names.exec(text); match !== null; match = names.exec(text)) {
    const span = judge(text, match);
    if (span === undefined) continue;
    yield { ...span, kind: KIND };
    names.lastIndex = span.end;
  }
}

/** Beside a name that only hints, the value itself must look generated. */
function generatedAfter(text: string, match: RegExpExecArray): Span | undefined {
  const [whole] = match;
  const valueAt = match.index + whole.length;
  const start = valueAt + (matchAt(OPENING, text, valueAt)?.length ?? 0);
  const value = matchAt(GENERATED, text, start)?.replace(/[.]+$/, "");
  if (value === undefined || !looksGenerated(value) || isCode(text, start + value.length)) return undefined;
  const before = NAME_BEFORE.exec(text.slice(Math.max(0, match.index - 60), match.index))?.[0] ?? "";
  if (/\b(?:cache|build|lock|object|row)[ \t]$/i.test(text.slice(Math.max(0, match.index - 8), match.index)))
    return undefined;
  const name = before + whole.replace(/["'`\]* \t=:>?\\]+$/, "");
  return isHintingName(name) ? { start, end: endOfLong(text, start, start + value.length) } : undefined;
}

/** What was judged by its first 512 characters is taken as a whole. */
function endOfLong(text: string, start: number, end: number): number {
  if (end - start < JUDGED) return end;
  let reach = end;
  for (let more = matchAt(BARE, text, reach); more !== undefined; more = matchAt(BARE, text, reach))
    reach += more.length;
  return reach;
}

/** A call or an index goes on behind a name; so does a host. */
function isCode(text: string, end: number): boolean {
  return /^[([{:]/.test(text.slice(end, end + 1));
}

function secretAfter(text: string, named: Named): Span | undefined {
  const { name, valueAt } = named;
  const opening = matchAt(OPENING, text, valueAt);
  if (opening === undefined) return bareSecret(text, named, valueAt);
  const inner = valueAt + opening.length;
  const end = closingQuote(text, inner, opening.replace(/^[fbruNL@$]/, ""));
  return end === undefined ? bareSecret(text, named, inner) : quotedSecret(text, name, { start: inner, end });
}

function quotedSecret(text: string, name: string, span: Span): Span | undefined {
  const start = span.start + (matchAt(SCHEME, text, span.start)?.length ?? 0);
  if (start >= span.end) return undefined;
  return isQuotedSecret(text.slice(start, span.end), name) ? { start, end: span.end } : undefined;
}

function bareSecret(text: string, named: Named, valueStart: number): Span | undefined {
  const scheme = matchAt(SCHEME, text, valueStart) ?? "";
  const start = valueStart + scheme.length;
  const value = (matchAt(BARE, text, start) ?? "").replace(/(?:[)\]}:*?]|(?<!\.)\.){1,8}$/, "");
  if (value === "") return undefined;
  const end = start + value.length;
  const context = contextOf(text, named, end);
  const inScheme = scheme === "" ? context : { ...context, joint: "scheme" as const };
  return isBareSecret(value, inScheme) ? { start, end: endOfLong(text, start, end) } : undefined;
}

function contextOf(text: string, { name, start, before, sign, after }: Named, end: number): ValueContext {
  const spaced = before !== "" || after !== "";
  const joint = sign === "" ? "flag" : sign === ":" ? ":" : spaced ? "= " : "=";
  const lineStart = text.slice(Math.max(0, start - 80), start);
  // Alone on its line, or behind words: "  password: x", "the password: x".
  const startsLine = /(?:^|\n)[\s-]*(?:[A-Za-z'’]+ ){0,8}[\w.-]*$/.test(lineStart);
  const endsLine = /^[ \t]{0,8}(?:#|\r?\n|$)/.test(text.slice(end, end + 10));
  return { name, joint, ownLine: startsLine && endsLine, next: text.charAt(end) };
}

/** The end of a quoted value: the same quote with as many backslashes, on the same line. */
function closingQuote(text: string, start: number, quote: string): number | undefined {
  const limit = Math.min(text.length, start + LONGEST_QUOTED);
  const mark = quote.charAt(quote.length - 1);
  const depth = quote.length - 1;
  let backslashes = 0;
  for (let index = start; index < limit; index++) {
    const char = text.charAt(index);
    if (char === "\n") return undefined;
    if (char === mark && backslashes <= depth) return index - backslashes;
    if (char === mark && depth === 0 && backslashes % 2 === 0) return index;
    backslashes = char === "\\" ? backslashes + 1 : 0;
  }
  return undefined;
}

function matchAt(pattern: RegExp, text: string, index: number): string | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0];
}

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

const MANIFEST_KIND = /^\s{0,20}kind:\s*["']?(\w+)/;
const BLOCK = /^(\s{0,20})(?:data|stringData):\s*$/;
const ENTRY = /^(\s{1,40}[\w.-]{1,128}:[ \t]{1,8}["']?)([^\s"'{}|>#<][^\s"']{3,8191})/;

/** The values of `data` and `stringData` in YAML manifests of kind Secret. */
export function* findKubernetesSecrets(text: string): Generator<Finding> {
  if (!/\bkind:[ \t]{0,4}["']?Secret\b/.test(text)) return;
  let offset = 0;
  let indent: number | undefined;
  for (const { line, isSecret } of linesOfManifests(text)) {
    if (endsBlock(line, indent)) indent = undefined;
    const entry = indent === undefined ? null : ENTRY.exec(line);
    if (entry !== null) {
      const start = offset + (entry[1]?.length ?? 0);
      yield { start, end: start + (entry[2]?.length ?? 0), kind: "kubernetes-secret" };
    }
    if (isSecret) indent ??= BLOCK.exec(line)?.[1]?.length;
    offset += line.length + 1;
  }
}

function endsBlock(line: string, indent: number | undefined): boolean {
  const depth = line.search(/\S/);
  return indent !== undefined && depth >= 0 && depth <= indent;
}

/** Every line and whether its manifest, from `---` to `---`, is a Secret. */
function linesOfManifests(text: string): { line: string; isSecret: boolean }[] {
  const lines = text.split("\n");
  const manifests: { line: string; manifest: { isSecret: boolean } }[] = [];
  let manifest = { isSecret: false };
  for (const line of lines) {
    if (/^---/.test(line)) manifest = { isSecret: false };
    if (MANIFEST_KIND.exec(line)?.[1] === "Secret") manifest.isSecret = true;
    manifests.push({ line, manifest });
  }
  return manifests.map(({ line, manifest: { isSecret } }) => ({ line, isSecret }));
}

interface Place {
  readonly kind: string;
  /** Two groups: what stays, and the secret; every repetition bounded. */
  readonly pattern: RegExp;
  /** Text without which the pattern has nothing to find. */
  readonly needs?: string;
  readonly isSecret: (value: string, before: string) => boolean;
}

const always = (): boolean => true;
const NAME = `[\\w.-]{0,40}?(?:${SECRET_NAME})`;

/** Where a secret stands because of what is around it, whatever it looks like. */
const PLACES: readonly Place[] = [
  // Addresses
  {
    kind: "url-password",
    needs: "://",
    pattern: /(:\/\/[^\s:@/?#'"<>]{0,128}:)([^\s/'"<>]{1,256})(?=@)/g,
    isSecret: isFilledIn,
  },
  { kind: "url-password", needs: "://", pattern: /(:\/\/)([A-Za-z0-9_-]{20,256})(?=@)/g, isSecret: hasDigit },
  {
    kind: "url-password",
    needs: "@tcp(",
    pattern: /(\b[\w.-]{1,64}:)([^\s@:/'"`]{3,128})(?=@tcp\()/g,
    isSecret: isFilledIn,
  },
  {
    kind: "url-password",
    needs: "jdbc:oracle",
    pattern: /(jdbc:oracle:\w{2,5}:[^/\s]{1,64}\/)([^@\s]{1,128})(?=@)/g,
    isSecret: isFilledIn,
  },
  {
    kind: "url-parameter",
    pattern:
      /([?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|auth|code|api_?key|hapikey|apikey|pass|pw|sid)=)([\w.~%+/=-]{8,2048})/gi,
    isSecret: (value) =>
      hasDigit(value) && /[a-z]/i.test(value) && (value.length >= 16 || /[a-z]\d|\d[a-z]/i.test(value)),
  },
  {
    kind: "webhook",
    needs: "https://",
    pattern:
      /(https:\/\/(?:hooks\.slack\.com\/(?:services|workflows|triggers)\/|(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{10,24}\/|[\w.-]{1,60}\.webhook\.office\.com\/webhookb2\/|hooks\.zapier\.com\/hooks\/catch\/|chat\.googleapis\.com\/v1\/spaces\/[\w-]{1,40}\/messages\?|hook\.\w{2,6}\.make\.com\/|api\.telegram\.org\/bot))([^\s"'<>`)]{16,400})/g,
    isSecret: always,
  },
  // Headers
  {
    kind: "header",
    pattern: /\b((?:bearer|basic)[ \t]{1,8})([A-Za-z0-9._~+/=-]{12,8192})/gi,
    isSecret: looksRandom,
  },
  { kind: "header", pattern: /\b(cookie["']?:[ \t]{0,8})([^\r\n'"]{1,4096})/gi, isSecret: isPair },
  // Commands
  {
    kind: "command-line",
    needs: "curl",
    pattern:
      /(\bcurl\b[^\n]{0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]{0,4}["']?[^\s:'"]{1,128}:)([^\s'"<>]{1,256})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    pattern:
      /(\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|sshpass|docker login|podman login|helm registry login|az login|mongo|mongosh|mongodump|7z[ar]?|zip|unzip|rar)\b[^\n|;&]{0,200}?\s-(?:p|P)[ =]?["']?)([^\s'"|;&<>-][^\s'"|;&<>]{2,128})/g,
    isSecret: isTyped,
  },
  {
    kind: "command-line",
    needs: "redis-cli",
    pattern: /(\bredis-cli\b[^\n|;&]{0,200}?\s-a[ =]{1,2}["']?)([^\s'"|;&<>-][^\s'"|;&<>]{2,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "ldap",
    pattern: /(\bldap\w{3,10}\b[^\n|;&]{0,300}?\s-w[ =]?["']?)([^\s'"|;&<>-][^\s'"|;&<>]{2,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "%",
    pattern:
      /(\b(?:smbclient|rpcclient|net|wmic|winexe)\b[^\n|;&]{0,200}?\s(?:-U|--user)[ =]["']?[^\s%'"]{1,64}%)([^\s'"|;&<>]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "chpasswd",
    pattern:
      /(\becho[ \t]{1,8}["']?[\w.-]{1,32}:)([^\s'"|]{3,128})(?=["']?[ \t]{0,8}\|[ \t]{0,8}(?:sudo[ \t]{1,8})?chpasswd)/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "htpasswd",
    pattern:
      /(\bhtpasswd[ \t]{1,8}-(?:\w{0,6}b\w{0,6}[ \t]{1,8}[^\s]{1,128}|(?=\w{0,6}n)\w{0,6}b\w{0,6})[ \t]{1,8}[^\s]{1,64}[ \t]{1,8}["']?)([^\s'"]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "pass:",
    pattern: /(\s-pass(?:in|out)?[ \t]{1,8}pass:)([^\s'"]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "net use",
    pattern: /(\bnet use[^\n]{0,120}?\/user:\S{1,64}[ \t]{1,8})([^\s'"/]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    pattern: new RegExp(
      `((?:^|\\n)[ \\t]{0,16}(?:\\$ )?(?:ENV|ARG|setenv|setx|set[ \\t]{1,4}-[A-Za-z]{1,4}|[\\w-]{1,20} (?:config|configure) set|git config(?: --\\w{1,10})?)[ \\t]{1,8}[\\w./:@-]{0,60}?(?:${SECRET_NAME})[ \\t]{1,8}["']?)([^\\s'"=-][^\\s'"]{2,512})`,
      "gi",
    ),
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "|",
    pattern:
      /(\b(?:echo|printf)[ \t]{1,8}(?:-n[ \t]{1,4}|['"]?%s(?:\\n)?['"]?[ \t]{1,4})?["']?)([^\s'"|$]{3,256})(?=["']?[ \t]{0,4}\|[^|\n]{0,160}(?:-stdin|sudo -S|--with-token|passphrase-fd|chpasswd))/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    pattern:
      /(\b(?:sqlplus[ \t]{1,4}[\w.-]{1,40}\/|lftp[ \t]{1,4}(?:-\w[ \t]{1,4})?[\w.-]{1,40},|requirepass[ \t]{1,4}["']?|xfreerdp\b[^\n]{0,120}?\/p:))([^\s'"]{3,128}?)(?=@[\w/.:-]{1,80}|['"\s]|$)/g,
    isSecret: isFilledIn,
  },
  // Statements of SQL
  {
    kind: "sql",
    pattern:
      /(\bIDENTIFIED[ \t]{1,4}(?:WITH[ \t]{1,4}\w{1,40}[ \t]{1,4})?BY[ \t]{1,4}["'])([^'"\n]{1,128})(?=["'])/gi,
    isSecret: isFilledIn,
  },
  { kind: "sql", pattern: /(\bPASSWORD[ \t]{1,4}N?')([^'\n]{1,128})(?=')/g, isSecret: isFilledIn },
  // Rows of tables
  {
    kind: "table",
    pattern: new RegExp(
      `((?:^|\\n|\\|)[ \\t]{0,40}[*\`]{0,3}(?:${NAME})[*\`]{0,3}(?:[ \\t]{0,40}\\|[ \\t]{0,8}|[ \\t]{2,40}|\\t)[*\`"]{0,3})([^\\s|*\`"]{6,512})(?=[*\`"]{0,3}[ \\t]{0,40}(?:\\||\\r?\\n|$))`,
      "gi",
    ),
    isSecret: (value, before) => isGiven(value, before),
  },
  // Files
  {
    kind: "credentials-file",
    needs: "login",
    pattern: /(\blogin[ \t\n]{1,4}[^\s]{1,128}[ \t\n]{1,8}password[ \t]{1,4})([^\s]{3,256})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "credentials-file",
    needs: ":",
    pattern:
      /(?<=^|\n)((?:[a-z0-9.-]{1,80}|\*):(?:\d{3,5}|\*):(?!\d{1,9}:)[\w*-]{1,64}:[\w*.-]{1,64}:)([^\s:]{3,128})(?=\r?\n|$)/g,
    isSecret: isFilledIn,
  },
  {
    kind: "credentials-file",
    needs: ":$",
    pattern: /(?<=^|\n)([a-z_][\w-]{0,31}:)(\$(?:[1256y]|2[aby]|apr1|argon2id?)\$[\w./$=,+-]{12,200})/g,
    isSecret: always,
  },
  // Markup
  {
    kind: "element",
    needs: "</",
    pattern: new RegExp(
      `((?:<[\\w:.-]{0,40}?(?:${SECRET_NAME})>|<key>[\\w.-]{0,40}?(?:${SECRET_NAME})</key>|=["'][\\w:.-]{0,60}?(?:${SECRET_NAME})["'][^<>\\n]{0,60}>)\\s{0,40}(?:<(?:value|string)>\\s{0,40})?(?:<!\\[CDATA\\[)?)([^<>\\s\\]]{3,4096})(?=\\s{0,40}(?:\\]\\]>)?\\s{0,40}</)`,
      "gi",
    ),
    isSecret: isFilledIn,
  },
  {
    kind: "named-value",
    pattern: new RegExp(
      `(\\b(?:name|key|id|variable)\\\\{0,3}["']?[ \\t]{0,4}[=:][ \\t]{0,4}\\\\{0,3}["']?(?:${NAME})\\\\{0,3}["']?[ \\t]{0,4},?\\s{0,24}\\\\{0,3}["']?value\\\\{0,3}["']?[ \\t]{0,4}[=:][ \\t]{0,4}\\\\{0,3}["']?)([^\\s"'<>\\\\,}]{3,4096})`,
      "gi",
    ),
    isSecret: isFilledIn,
  },
  // Prose
  {
    kind: "prose",
    pattern:
      /((?:\b(?:pass(?:word|wd|phrase|code)|pwd|passwor[td]|kennwort|mot de passe|contraseña|senha|wachtwoord)|парол[ья]|密码|パスワード)(?:[ \t]{1,4}(?:for|of|für|von|de|для)[ \t]{1,4}[^\n:=]{1,40}?)?[ \t]{0,4}(?:[:：→]|->|[ \t](?:was|ist|war|lautet|est|es|é))[ \t]{1,4}["'`*]{0,3})([^\s"'`<>]{4,256})/gi,
    isSecret: isSpoken,
  },
  {
    kind: "prose",
    pattern:
      /(\b(?:credentials?|logins?)[ \t]{0,2}[:=]?[ \t]{1,3}[\w.@-]{1,64}[ \t]{0,2}[/:][ \t]{0,2}["'`]?)([^\s"'`<>]{6,128})/gi,
    isSecret: isSpoken,
  },
  {
    kind: "prose",
    pattern:
      /(\b(?:token|api[ -]?key|secret|key)[ \t]{1,3}["'`]?)([\w.~+/=-]{24,512})(?=["'`]?(?:[\s,;.)]|$))/gi,
    isSecret: looksGenerated,
  },
  {
    kind: "prose",
    pattern:
      /(\bpass(?:word|wd|phrase)[ \t]{1,3}["'`]?)([^\s"'`<>(){}[\]:;,|&\\/]{8,128})(?=["'`]?(?:[\s,;]|\.?$))/gi,
    isSecret: isDistinct,
  },
  {
    kind: "prose",
    pattern:
      /(\b(?:passw(?:or)?d|passphrase|passcode|pin|api[ -]?key|access[ -]?key|(?:secret|signing|private|my)[ -]?(?:access[ -]?)?key|secret|token|credentials?)(?:[ \t]{1,8}(?:for|of|on|to)[ \t]{1,8}[^\n:=]{1,48}?)?[ \t]{1,8}(?:is|was|will be|should be|are|set to|changed to|to)(?:[ \t]{1,8}(?:now|currently|still))?:?[ \t]{1,8}["'`*]{0,3})([^\s"'`<>]{4,256})/gi,
    isSecret: isSpoken,
  },
];

/** Secrets that show by their place: URL passwords, headers, cookies, command lines, credential files, markup, prose. */
export function* findPlaces(text: string): Generator<Finding> {
  for (const place of PLACES) {
    if (place.needs !== undefined && !text.includes(place.needs)) continue;
    if (text.search(place.pattern) < 0) continue;
    for (const match of text.matchAll(place.pattern)) {
      const finding = findingOf(place, match);
      if (finding !== undefined) yield finding;
    }
  }
}

function findingOf({ kind, isSecret }: Place, match: RegExpExecArray): Finding | undefined {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:!?)\]*]+$/, "") : found;
  const start = match.index + before.length;
  if (value === "" || !isSecret(value, before)) return undefined;
  return { start, end: start + value.length, kind };
}

/** True for the value of a cookie header. */
export function isPair(value: string): boolean {
  return value.includes("=") && !value.includes("<REDACTED");
}

function isFilledIn(value: string): boolean {
  if (/^(?:\$|\{|<|%[A-Z]|\*+$|x+$|\.+$|\d{1,5}$|\[)|<REDACTED>/i.test(value)) return false;
  return !/^(?:pass|password|passwd|pwd|secret|token|your[-_].*|changeme|placeholder)$/i.test(value);
}

/** What is typed behind `-p`: a port or a path is no password. */
function isTyped(value: string): boolean {
  return isFilledIn(value) && !/^\d{1,5}(?::\d{1,5})?$|^[./~]/.test(value);
}

/** A word of a sentence is no secret: digits or signs must be in it, and letters. */
function isSpoken(value: string, before: string): boolean {
  if (!isFilledIn(value) || /[()]|^\w+\.\w+$|^https?:|^[/.~]/.test(value)) return false;
  if (!/\d/.test(value) && !/[!@#$%^&*+?~=]/.test(value.slice(0, -1)) && !isMixed(value)) return false;
  if (/^\d+$/.test(value)) return /pin|passcode/i.test(before) && value.length >= 4;
  if (/^\d/.test(value) && /^\d+[a-z]{0,8}$/i.test(value) && value.length < 8) return false;
  const named = /token|key|credential/i.test(before);
  if (named) return looksGenerated(value) || (value.length >= 10 && /[a-z]\d|\d[a-z]/i.test(value));
  return value.length >= 5 && isQuotedSecret(value, "password");
}

/** Behind a mere "password": letters and digits, and no name in code. */
function isDistinct(value: string, before: string): boolean {
  if (/^[a-z_]+\d$|[.]\w+$|^\d+[a-z-]+$|^\$|^--?\w/i.test(value) || !isMixed(value)) return false;
  return isSpoken(value, before);
}

function hasDigit(value: string): boolean {
  return /\d/.test(value);
}

function looksRandom(value: string): boolean {
  return value.length >= 32 || hasDigit(value) || /[a-z][A-Z].*[a-z][A-Z]|=$/.test(value);
}
