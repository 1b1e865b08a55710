import type { SummaryStrategy } from "../../core/ports.ts";

/** What a strategy asks the model to write. */
export interface Shape {
  /** Id and version; any change of the wording below changes the number. */
  readonly prompt: string;
  /** What stands under which heading. */
  readonly form: string;
  /** Records, and the notes that a careful writer makes of them. */
  readonly example: { readonly records: string; readonly notes: string };
}

const EXAMPLE_RECORDS = `[1 user]
Login fails for names with an umlaut. Fix it, but don't touch the database schema.
[2 assistant]
I'll look at how names are normalised.
[2 call grep]
pattern: normalise, path: src/auth
[3 result]
src/auth/names.ts:18: return raw.trim().toLowerCase();
[4 assistant]
The lookup key is never brought to NFC. I'll do that in names.ts rather than in the query, because the query is shared.
[4 call edit]
path: src/auth/names.ts
[5 result]
ok
[6 call bash]
command: npm test -- names
[7 result]
1 failed: names.test.ts "keeps the dotless i"`;

/** The shape of each strategy's notes, few-shot. Headings are the model's to translate, formats are not. */
export const SHAPES: Readonly<Record<SummaryStrategy, Shape>> = {
  task_state: {
    prompt: "task_state@1",
    form: `### Goal
What the user wants in the end and how success is told.
### State
What is done, what is being done, what was found out: with file, function, branch, environment and identifier names.
### Constraints
The user's limits and wishes, quoted word for word.
### Decisions
Each with its reason.
### Next
Outstanding actions in order, open questions, blockers.
Name the record a statement comes from at its end, as in [4].`,
    example: {
      records: EXAMPLE_RECORDS,
      notes: `### Goal
Login works for names with an umlaut [1].
### State
- \`src/auth/names.ts:18\` only trims and lower-cases; the key is never brought to NFC [3, 4].
- \`src/auth/names.ts\` was edited to do so [5].
- \`npm test -- names\`: 1 failed, names.test.ts "keeps the dotless i" [7].
### Constraints
- user: "don't touch the database schema" [1]
### Decisions
- Normalise in names.ts rather than in the query, because the query is shared [4].
### Next
- Mend the failing test about the dotless i.`,
    },
  },
  decision_log: {
    prompt: "decision_log@1",
    form: `One line for each decision, oldest first, and nothing else:
[step_id] decision :: rationale :: inputs :: outputs
step_id is the number of the record that states it; inputs and outputs are brief; a single - stands for what the records do not say.`,
    example: {
      records: EXAMPLE_RECORDS,
      notes: `[1] leave the database schema alone :: the user said so :: - :: -
[4] bring names to NFC in names.ts :: the query is shared :: src/auth/names.ts:18 :: src/auth/names.ts edited; names.test.ts "keeps the dotless i" fails`,
    },
  },
  code_delta: {
    prompt: "code_delta@1",
    form: `One bullet for each file that was changed:
- file_path: what changed (functions, APIs, side effects); why; follow-up
Then, under "### Follow-ups", what remains to be done. Files that were only read are left out.`,
    example: {
      records: EXAMPLE_RECORDS,
      notes: `- src/auth/names.ts: lookup keys are brought to NFC; why: umlauts failed at login, and the query is shared; follow-up: names.test.ts "keeps the dotless i" fails
### Follow-ups
- Mend names.test.ts.`,
    },
  },
  brief: {
    prompt: "brief@1",
    form: `A few plain sentences: what was asked, what was done, what is next. No headings, no lists.`,
    example: {
      records: EXAMPLE_RECORDS,
      notes: `The user wants logins with an umlaut to work and said "don't touch the database schema". Names are now brought to NFC in src/auth/names.ts; names.test.ts "keeps the dotless i" fails and is next.`,
    },
  },
  step_ledger: {
    prompt: "step_ledger@1",
    form: `One line for each step of the assistant, oldest first, and nothing else:
[step_id] what was done -> outcome
step_id is the number of the record.`,
    example: {
      records: EXAMPLE_RECORDS,
      notes: `[2] searched src/auth for normalise -> src/auth/names.ts:18 only trims and lower-cases
[4] edited src/auth/names.ts to bring keys to NFC -> ok
[6] npm test -- names -> 1 failed: names.test.ts "keeps the dotless i"`,
    },
  },
  requirements_ledger: {
    prompt: "requirements_ledger@1",
    form: `One line for each thing that the user requires, oldest first, and nothing else:
[step_id] "the user's own words" :: open, done or withdrawn :: where it shows
step_id is the number of the user's record. A later requirement that changes an earlier one replaces it.`,
    example: {
      records: EXAMPLE_RECORDS,
      notes: `[1] "Login fails for names with an umlaut. Fix it" :: open :: src/auth/names.ts edited, names.test.ts "keeps the dotless i" fails
[1] "don't touch the database schema" :: open :: -`,
    },
  },
};
