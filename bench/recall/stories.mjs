// Channels of coding work of our own making, with questions about them. Every second channel is kept back: it is told and
// asked in other wordings than those that were looked at.

const PROJECTS =
  "ledger atlas courier lantern orchard beacon harbor quarry sextant willow ferry mosaic granite compass thimble anchor".split(
    " ",
  );
const PARTS =
  "billing search importer scheduler gateway notifier exporter thumbnailer ratings sync invoices sessions audit uploads webhooks reports".split(
    " ",
  );
const PEOPLE =
  "Ines Tomasz Farah Bodil Kenji Ludmila Oscar Priya Quentin Rosa Sven Thandi Ugo Vera Wanda Yusuf".split(
    " ",
  );
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
const STORES = ["Postgres", "MySQL", "SQLite", "MongoDB", "DynamoDB"];
const QUEUES = ["Redis streams", "RabbitMQ", "Kafka", "NATS", "SQS"];
const REGIONS = ["Frankfurt", "Oregon", "Singapore", "Dublin", "Mumbai"];
const BUGS = [
  ["double charge", "src/charge.ts", "a retry without an idempotency key", "idempotency key"],
  ["memory leak", "src/cache.ts", "a map that was never cleared", "never cleared"],
  ["time zone bug", "src/calendar.ts", "dates parsed as local time", "local time"],
  ["slow login", "src/auth/session.ts", "a missing index on the token column", "missing index"],
  ["broken paging", "src/list/page.ts", "an offset that counted deleted rows", "deleted rows"],
  ["lost upload", "src/files/put.ts", "a stream that was closed too early", "closed too early"],
  ["crash on start", "src/boot.ts", "a config read before it was loaded", "before it was loaded"],
  ["wrong totals", "src/sum.ts", "floats where cents were needed", "cents"],
];
const STEPS = [
  "write a test for empty input",
  "document the new flag",
  "remove the old endpoint",
  "measure the cold start",
];
const STYLES = ["small commits", "early returns", "plain SQL", "named exports"];
const FAILURES = [
  ["TypeError: cannot read properties of undefined (reading 'rows')", "rows"],
  ["Error: connect ECONNREFUSED 127.0.0.1:5432", "ECONNREFUSED"],
  ["AssertionError: expected 3 to equal 4", "expected 3 to equal 4"],
  ["Error: ENOENT: no such file or directory, open 'fixtures/big.csv'", "big.csv"],
];

const at = (list, n) => list[n % list.length];

/** The channel of a number: sessions of turns in order, and questions with what an answer must hold and may not begin with. */
export function storyOf(n) {
  const kept = n % 2 === 1;
  // Wordings 0 and 1 are looked at, 2 and 3 belong to the channels that are kept back.
  const one = (...wordings) => wordings[(kept ? 2 : 0) + (Math.floor(n / 2) % 2)];
  const k = Math.floor(n / 2);
  const [part, other] = [at(PARTS, n), at(PARTS, n + 5)];
  const [who, whoElse] = [at(PEOPLE, n), at(PEOPLE, n + 3)];
  const [day, newDay] = [at(DAYS, n), at(DAYS, n + 2)];
  const [store, newStore] = [at(STORES, k), at(STORES, k + 1)];
  const [bug, file, cause, causeWords] = at(BUGS, k + (kept ? 3 : 0));
  const [failure, failureWords] = at(FAILURES, k);
  const [port, newPort] = [8100 + 7 * n, 9200 + 3 * n];
  const [queue, region, step, style] = [at(QUEUES, n), at(REGIONS, k + 1), at(STEPS, k), at(STYLES, n)];
  const due = `${3 + n} October`;
  const said = (user, reply = "Understood.") => ({ user, reply });
  return {
    id: `${at(PROJECTS, n)}${kept ? " (kept back)" : ""}`,
    kept,
    sessions: [
      [
        said(
          one(
            `We deploy on ${day}s.`,
            `Our deploys go out on ${day}s.`,
            `We release on ${day}s.`,
            `Our release day is ${day}.`,
          ),
        ),
        said(
          one(
            `${who} owns the ${part} module.`,
            `Remember that ${who} is responsible for the ${part} module.`,
            `${who} maintains the ${part} module.`,
            `Note that ${who} is in charge of the ${part} module.`,
          ),
        ),
        said(
          one(
            `Our staging API listens on port ${port}.`,
            `Remember: the staging API runs on port ${port}.`,
            `Our staging server is on port ${port}.`,
            `Please remember that staging uses port ${port}.`,
          ),
        ),
        said("Please add a header to the page.", "The header is there."),
      ],
      [
        {
          user: one(
            `Fix the ${bug}.`,
            `Please look into the ${bug} and fix it.`,
            `The ${bug} is back, repair it.`,
            `Can you get rid of the ${bug}?`,
          ),
          calls: [
            ["read_file", { path: file }, "export function run() {}"],
            ["edit_file", { path: file, old_string: "run", new_string: "runOnce" }, "edited"],
            ["bash", { command: "npm test" }, `${failure}\n1 failed`, true],
            ["bash", { command: "npm test" }, "24 passed"],
          ],
          reply: `The ${bug} is fixed. It was caused by ${cause}.`,
        },
        said(
          one(
            `Never touch the ${other} tables without a backup.`,
            `From now on always make a backup before you change the ${other} tables.`,
            `Always take a backup before a migration of ${other}.`,
            `Never migrate ${other} without a backup.`,
          ),
        ),
        said(
          one(
            `Let's use ${queue} for the job queue, because it survives restarts.`,
            `We decided to use ${queue} for the job queue, since it survives restarts.`,
            `We've chosen ${queue} for background jobs, because it survives restarts.`,
            `Let's go with ${queue} for background jobs: it survives restarts.`,
          ),
        ),
      ],
      [
        said(
          one(
            `We use ${store} for the ${part} data.`,
            `Remember that the ${part} data is in ${store}.`,
            `We store the ${part} data in ${store}.`,
            `Our ${part} data lives in ${store}.`,
          ),
        ),
        said(
          one(
            `Our production cluster is in ${region}.`,
            `Remember that production runs in ${region}.`,
            `Our production servers are in ${region}.`,
            `Keep in mind that production is hosted in ${region}.`,
          ),
        ),
        said(
          one(
            `I prefer ${style}.`,
            `Remember that I prefer ${style}.`,
            `I like ${style} best.`,
            `Keep in mind that I prefer ${style}.`,
          ),
        ),
        said("Rename the helper in src/util.ts.", "It is renamed."),
      ],
      [
        said(
          one(
            `We no longer deploy on ${day}s, we deploy on ${newDay}s now.`,
            `Our deploys moved from ${day}s to ${newDay}s.`,
            `We release on ${newDay}s now, not on ${day}s.`,
            `Correction: our release day is ${newDay}, not ${day}.`,
          ),
        ),
        said(
          one(
            `The staging API listens on port ${newPort} now, not ${port}.`,
            `Correction: the staging API runs on port ${newPort}, not ${port}.`,
            `Our staging server moved from port ${port} to port ${newPort}.`,
            `Staging no longer uses port ${port}, it uses port ${newPort}.`,
          ),
        ),
        said(
          one(
            `We switched from ${store} to ${newStore} for the ${part} data.`,
            `The ${part} data is no longer in ${store}, it is in ${newStore}.`,
            `We moved the ${part} data from ${store} to ${newStore}.`,
            `Our ${part} data lives in ${newStore} now, not in ${store}.`,
          ),
        ),
      ],
      [
        said(
          one(
            `Remember that the audit of ${other} is due on ${due}.`,
            `Note that the ${other} audit must be done by ${due}.`,
            `Keep in mind that the ${other} audit is on ${due}.`,
            `Remember: ${due} is the day of the ${other} audit.`,
          ),
        ),
        said(
          one(
            `${whoElse} is on holiday, ${who} merges.`,
            "Format the changelog.",
            `Tidy up the README of ${part}.`,
            "Bump the version.",
          ),
          "Done.",
        ),
        {
          user: one(
            `Add a retry to the ${other} client.`,
            `The ${other} client needs a retry.`,
            `Make the ${other} client try again on failure.`,
            `Let the ${other} client retry.`,
          ),
          calls: [
            ["edit_file", { path: `src/${other}/client.ts`, old_string: "a", new_string: "b" }, "edited"],
            ["bash", { command: "npm run lint" }, "ok"],
          ],
          reply: `The ${other} client retries three times.\n\nNext steps:\n- ${step}`,
        },
      ],
    ],
    questions: [
      [
        "changed",
        one(
          "On which day do we deploy?",
          "When do deploys go out?",
          "Which day is release day?",
          "On what day do we release?",
        ),
        newDay,
        day,
      ],
      [
        "fact",
        one(
          `Who owns ${part}?`,
          `Who is responsible for the ${part} module?`,
          `Who maintains ${part}?`,
          `Who should I ask about the ${part} module?`,
        ),
        who,
      ],
      [
        "changed",
        one(
          "Which port does the staging API listen on?",
          "What is the port of staging?",
          "Where do I reach the staging server?",
          "What port is staging on?",
        ),
        String(newPort),
        String(port),
      ],
      [
        "work",
        one(
          `Which file had the ${bug}?`,
          `Where was the ${bug} fixed?`,
          `Which file did we change for the ${bug}?`,
          `What did we edit because of the ${bug}?`,
        ),
        file.split("/").at(-1),
      ],
      [
        "work",
        one(
          `What caused the ${bug}?`,
          `Why did the ${bug} happen?`,
          `What was the reason for the ${bug}?`,
          `What was behind the ${bug}?`,
        ),
        causeWords,
      ],
      [
        "rule",
        one(
          `May I change the ${other} tables right away?`,
          `What must I do before I change ${other} tables?`,
          `Can I migrate ${other} now?`,
          `What comes before a ${other} migration?`,
        ),
        "backup",
      ],
      [
        "decision",
        one(
          "What do we use for the job queue?",
          "Which job queue did we choose?",
          "What runs our background jobs?",
          "What did we pick for background jobs?",
        ),
        queue,
      ],
      [
        "decision",
        one(
          `Why ${queue}?`,
          `Why did we decide for ${queue}?`,
          `What speaks for ${queue}?`,
          `For what reason do we have ${queue}?`,
        ),
        "survives restarts",
      ],
      [
        "changed",
        one(
          `Which database holds the ${part} data?`,
          `Where is the ${part} data?`,
          `What do we store ${part} data in?`,
          `Where does the ${part} data live?`,
        ),
        newStore,
        store,
      ],
      [
        "fact",
        one(
          "Where is our production cluster?",
          "In which region does production run?",
          "Where are the production servers?",
          "Where is production hosted?",
        ),
        region,
      ],
      [
        "fact",
        one(
          "Which coding style do I prefer?",
          "What do I prefer when you write code?",
          "What do I like best?",
          "How do I prefer my code?",
        ),
        style,
      ],
      [
        "fact",
        one(
          `When is the audit of ${other} due?`,
          `By when must the ${other} audit be done?`,
          `When is the ${other} audit?`,
          `On which day is the audit of ${other}?`,
        ),
        due,
      ],
      [
        "work",
        one(
          `What did we do to the ${other} client?`,
          `Does the ${other} client retry?`,
          `How often does the ${other} client try again?`,
          `What changed in the ${other} client?`,
        ),
        "retries three times",
      ],
      [
        "next",
        one(
          "What are the next steps?",
          `What is left to do for the ${other} client?`,
          "What comes next?",
          "What is still to do?",
        ),
        step,
      ],
      [
        "work",
        one(
          "What did npm test fail with?",
          "Which error did the tests give?",
          "What went wrong when npm test ran?",
          "How did npm test fail?",
        ),
        failureWords,
      ],
    ],
  };
}

export const CHANNELS = PROJECTS.length;
