import type { Message, Part } from "../../packages/compact-context/src/core/message.ts";

/** A conversation of an agent that fixes a login, with facts of every kind; `turns` sets its length. */
export function loginSession(turns = 6): Message[] {
  const list: Message[] = [
    say(
      "user",
      "Login fails for names with an umlaut. Never touch the database schema, and always run npm test.",
    ),
  ];
  for (let turn = 0; turn < turns; turn += 1) {
    list.push(
      say(
        "assistant",
        `I'll look at step ${turn + 100}, because the lookup in src/auth/step${turn}.ts may be wrong.`,
      ),
      call(turn, { path: `src/auth/step${turn}.ts` }, "read_file"),
      result(
        turn,
        `export const limit${turn}Value = ${turn + 7001}; // see https://tracker.example/T-${turn + 310}`,
      ),
      call(turn + 1000, { command: `npm test -- step${turn}` }, "bash"),
      result(turn + 1000, `Exit code 1\nTypeError: step${turn} is not a function`),
    );
  }
  list.push(say("user", "Good. Now do the same for the reset form, but only on branch fix/umlauts."));
  return list.map((message, index) => ({ ...message, id: `m${index}` }));
}

function say(role: Message["role"], text: string): Message {
  return { id: "", role, parts: [{ type: "text", text }] };
}

function call(turn: number, input: unknown, name: string): Message {
  const part: Part = { type: "toolCall", id: `call-${turn}`, name, arguments: input };
  return { id: "", role: "assistant", parts: [part] };
}

function result(turn: number, content: string): Message {
  return { id: "", role: "tool", parts: [{ type: "toolResult", id: `call-${turn}`, content }] };
}

/** Notes of `loginSession` that contain nothing unsupported. */
export const HONEST_NOTES = `### Goal
Login works for names with an umlaut; then the reset form, on branch fix/umlauts [1].
### State
- The lookup in \`src/auth/step0.ts\` may be wrong; \`npm test -- step0\` ends with "TypeError: step0 is not a function" [6].
### Next
- The reset form.`;
