// Collects the messages of the session while its calls are made.
import { perform } from "./tools.mjs";
import { PLACE } from "./workspace.mjs";

const system = `You are a coding agent that works in a repository together with its developer.

Working directory: ${PLACE} (a git repository; paths are relative to it)
Platform: linux, Node 20

How you work:
- Look before you judge. Read the files you speak about, and name places as path:line.
- Calls that do not depend on each other go into one message.
- Say in a sentence what you are about to do; keep answers short and to the point.
- Keep a list of todos when the work has more than two steps.
- Change only what was asked for. Run the tests, the type check and the linter before you say that something is done, and never call something tested that was not run.
- When something fails, read what it says and find the cause before you try again.
- What the user said about how to work holds until the user says otherwise.
- Do not commit; the developer does that.`;

export function createSession(workspace) {
  const messages = [];
  let calls = 0;

  /** Makes one call and holds it to what the story expects. */
  function carryOut(planned) {
    const { output, failed } = perform(planned, workspace);
    const missing = planned.shows.filter((wanted) =>
      typeof wanted === "string" ? !output.includes(wanted) : !wanted.test(output),
    );
    if (failed === planned.fails && missing.length === 0) return { output, failed };
    const outcome =
      failed === planned.fails ? `does not show ${missing.join(", ")}` : failed ? "failed" : "did not fail";
    throw new Error(`${planned.name} ${outcome}: ${JSON.stringify(planned.input).slice(0, 300)}\n${output}`);
  }

  return {
    system,
    messages,
    calls: () => calls,
    user(text) {
      messages.push({ role: "user", content: text });
    },
    /** The assistant says something and makes calls, in parallel as far as the record goes; gives their outputs. */
    async act(text, ...planned) {
      const made = planned.map((each) => {
        calls += 1;
        return { ...each, id: `toolu_${String(calls).padStart(4, "0")}`, ...carryOut(each) };
      });
      messages.push({
        role: "assistant",
        content: [
          { type: "text", text },
          ...made.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
        ],
      });
      messages.push({
        role: "user",
        content: made.map(({ id, output, failed }) => ({
          type: "tool_result",
          tool_use_id: id,
          content: output,
          ...(failed ? { is_error: true } : {}),
        })),
      });
      return made.map(({ output }) => output);
    },
    answer(text) {
      messages.push({ role: "assistant", content: text });
    },
    read: (path) => workspace.read(path),
    /** `path:line` of a text that must stand there exactly as the story believes. */
    place(path, text) {
      const index = workspace.read(path).indexOf(text);
      if (index < 0) throw new Error(`the story speaks of this in ${path}, and it is not there:\n${text}`);
      return `${path}:${workspace.read(path).slice(0, index).split("\n").length}`;
    },
  };
}
