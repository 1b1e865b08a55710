// How fast redactors are on ordinary messages, and ours on texts made to slow it down.
import { createCurve } from "../curve.mjs";
import { inTurns, processorTime, processorTimeOf, spread } from "../measure.mjs";

const MEGABYTE = 1_000_000;
/** Processor time that each redactor has in a round. */
const SHARE_MS = 300;

/** MB in a second of processor time by length of a message; the text is code and prose without secrets. */
export async function speedCurve(redactors, { mentioning, others }, { sizes, rounds, share = SHARE_MS }) {
  const lines = [...others, ...mentioning].join("\n");
  const text = lines.repeat(Math.ceil((3 * sizes.at(-1)) / lines.length));
  const { put, curve } = createCurve({ by: "characters of a message", unit: "MB/s", more: true, sizes });
  const contestants = redactors.map(([name, redactText]) => ({ name, redactText }));
  for (const [index, size] of sizes.entries()) {
    const most = Math.floor(text.length / size);
    // The first round warms up.
    const samples = await inTurns(contestants, rounds + 1, async ({ redactText }, round) => {
      let spent = 0;
      let done = 0;
      while (spent < share) {
        const from = ((round * 101 + done) % most) * size;
        spent += (await processorTimeOf(() => redactText(text.slice(from, from + size)))).ms;
        done += 1;
      }
      return (done * size) / 1000 / spent;
    });
    for (const { name } of contestants) put(name, index, spread(samples.get(name).slice(1)));
  }
  return curve();
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

/** The text of 1 MB that takes longest, of all that repeat a piece. */
export function slowestHostile(redactText, length = MEGABYTE) {
  let slowest = { ms: 0 };
  for (const piece of PIECES) {
    const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
    const { ms } = processorTime(() => redactText(text));
    if (ms > slowest.ms) slowest = { piece, ms };
  }
  return { ...slowest, count: PIECES.length };
}
