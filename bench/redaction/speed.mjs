// How fast the redaction is on ordinary messages, and on texts made to slow it down.

const ROUNDS = 5;
const MEGABYTE = 1_000_000;

/** MB of process time by size of message; the text is code and prose without secrets. */
export function speedOf(redactText, { mentioning, others }) {
  const text = [...others, ...mentioning].join("\n").slice(0, 2 * MEGABYTE);
  return {
    small: megabytesPerSecond(redactText, text, 2000),
    large: megabytesPerSecond(redactText, text, 200_000),
  };
}

function megabytesPerSecond(redactText, text, size) {
  const messages = Array.from({ length: Math.floor(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    for (const message of messages) redactText(message);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, user + system);
  }
  return (messages.length * size) / best;
}

const PIECES = [
  ...[
    "a",
    " ",
    "\\",
    '"',
    "0",
    "-",
    "_",
    "=",
    ":",
    ".",
    "/",
    "@",
    "<",
    "\n",
    "\t",
    "a1",
    "a ",
    "a.",
    "a-",
    "a_",
    "a/",
    "a:",
  ],
  ...[
    "eyJ",
    "eyJ.",
    "eyJaaaaaaaaa.",
    "-eyJaaaaaaaa",
    "sk-",
    "sk-a1",
    "ghp_",
    "AKIA",
    "xoxb-",
    "SG.",
    "hvs.",
    "dp.st.",
    "AAAA",
    "A3-",
  ],
  ...[
    "token",
    "token=",
    'token="',
    "token: a1b2c3d4e5f6g7",
    "password is ",
    "password ",
    "--token ",
    "api_key=a1b2c3d4e5f6g7h8i9 ",
  ],
  ...[
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n",
    "-----END PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG\n-----END PRIVATE KEY-----",
  ],
  ...[
    "://",
    "://a:",
    "a://b:c@",
    "https://hooks.slack.com/services/",
    "curl -u a:",
    "mysql -p",
    "Cookie: a=b\n",
    "Bearer ",
    "kind: Secret\ndata:\n  a: b\n",
  ],
  ...["{", "[", '{"a":', '["', '{"token":"', "<password>", "+1 234 ", "4111 1111 ", "DE89 3704 "],
];

/** Texts of 1 MB that repeat a piece, [piece, text]. */
export function hostileTexts() {
  return PIECES.map((piece) => [piece, piece.repeat(Math.ceil(MEGABYTE / piece.length)).slice(0, MEGABYTE)]);
}
