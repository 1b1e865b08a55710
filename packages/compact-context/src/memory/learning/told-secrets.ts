import { REDACTED } from "../../redaction/finding.ts";

const SECRET_WORD =
  "(?:pass(?:word|code|phrase|wd)|pwd?|(?:safe|lock) combination|combination (?=(?:to|of|for) (?:the|my|our) (?:safe|lock|door))|pin(?: code| number)?|cvv|cvc|(?:wi-?fi|wlan|api|access|secret|private|recovery|license) ?-?key|(?:alarm|door|access|security|unlock|lock|safe|gate) code|secret(?: word| answer)?|credentials?|token|passwort|kennwort|geheimzahl|wlan-schlüssel|türcode|mot de passe|code (?:pin|secret|d['’]accès)|clé (?:wi-?fi|secrète)|contraseña|clave|código secreto|senha|código de acesso|пароль|пин(?:-код)?|код доступа)";
/** A word for a secret, a few words of what it is for, and what it is. */
const TOLD = new RegExp(
  `((?<![\\p{L}])[\\p{L}-]{0,20}${SECRET_WORD}(?:[\\p{L}]{0,2})(?![\\p{L}])(?:\\s+(?!rotation|policy|manager|reset|field|form|length|expiry|column|hint|is|are|=|ist|est|es|é|lautet)[\\p{L}\\p{N}'’-]+){0,5}?\\s*(?:\\s(?:is|are|was|ist|lautet|est|es|é|foi)(?:\\s+(?:now|jetzt))?\\s|['’]s\\s|[:：=]|\\s[—–-]\\s))\\s*(?!(?:rotat|stored|kept|never|not|in|on|at|too|wrong|required|optional|expired|missing|policy|manager|hash)[\\p{L}]*(?![\\p{L}]))([^\\n]+?)(?=[.!?。]?\\s*$|[.!?。]\\s|[,;]\\s)`,
  "giu",
);
/** The same where no verb stands between: `пароль от базы zima2024`, `my PIN 4821`. */
const BARE = new RegExp(
  `((?<![\\p{L}])${SECRET_WORD}(?![\\p{L}])(?:\\s+[\\p{L}]+){0,3}?\\s)((?=\\S*\\d)[\\p{L}\\p{N}!@#$%^&*_.-]{4,})`,
  "giu",
);
const UNSPACED =
  /((?:密码|口令|密钥|暗証番号|パスワード|パスコード|合言葉)(?:是|为|は|：|:|\s){1,3})([^\s。，、,]+?)(?=です|だ。|。|，|、|,|\s|$)/gu;
/** `Log in with admin / hunter2`. */
const LOGIN =
  /((?:log ?in|sign ?in)\s(?:with|as|using)\s\S+\s?(?:\/|and|with)\s?)(?!the |your |my )(\S*\d\S*)/giu;
const CARD = /(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d|\.\d)/g;

/** A text without the secrets that it tells in words, and without numbers of payment cards. */
export function withoutToldSecrets(text: string): string {
  return text
    .replace(TOLD, `$1 ${REDACTED}`)
    .replace(LOGIN, `$1${REDACTED}`)
    .replace(UNSPACED, `$1${REDACTED}`)
    .replace(BARE, (whole, lead: string, value: string) =>
      value === REDACTED ? whole : `${lead}${REDACTED}`,
    )
    .replace(CARD, (digits) => (isCard(digits) ? REDACTED : digits));
}

/** Luhn's check, as ISO/IEC 7812-1 has it. */
function isCard(text: string): boolean {
  const digits = [...text].flatMap((character) => (/\d/.test(character) ? [Number(character)] : []));
  if (new Set(digits).size === 1) return false;
  const sum = digits.toReversed().reduce((all, digit, index) => {
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    return all + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
