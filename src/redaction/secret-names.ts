/** What stands in place of a secret. */
export const REDACTED = "<REDACTED>";

/** Source of a pattern for the words that a secret's name ends with, in any spelling of camel, snake or kebab case. */
export const SECRET_NAME: string = [
  "(?:api|access|private|secret|encryption|signing|auth|account|master|shared)[_-]?key",
  "passw(?:or)?d",
  "passphrase",
  "(?<=_|\\bpg)pass",
  "pwd",
  "secret",
  "token",
  "credential",
  "authorization",
].join("|");

const WHOLE_NAME = new RegExp(`(?:${SECRET_NAME})(?:[_-]?\\d{1,2})?$`, "i");

/** True for a field name such as `dbPassword`, `X-Api-Key` or `GITHUB_TOKEN`; false for `max_tokens`. */
export function isSecretName(name: string): boolean {
  return name.length <= 200 && WHOLE_NAME.test(name);
}

/** True for names whose value a person may have chosen: short, plain words, with spaces. */
export function isPasswordName(name: string): boolean {
  return /passw|passphrase|pass$|pwd/i.test(name);
}
