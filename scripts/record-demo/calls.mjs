// Calls as the story writes them, each with what must come out of it.

const call = (name) => (input) => ({ name, input, fails: false, shows: [] });

export const list = (path) => call("list_files")({ path });
export const read = (path, part = {}) => call("read_file")({ path, ...part });
export const search = (pattern, path) => call("search")(path === undefined ? { pattern } : { pattern, path });
export const run = (command) => call("run_command")({ command });
export const edit = (path, old_text, new_text) => call("edit_file")({ path, old_text, new_text });
export const write = (path, content) => call("write_file")({ path, content });

/** Todos by status, in this order: `{ completed: [...], in_progress: [...], pending: [...] }`. */
export const todos = (byStatus) =>
  call("update_todos")({
    todos: Object.entries(byStatus).flatMap(([status, contents]) =>
      contents.map((content) => ({ content, status })),
    ),
  });

/** The call must fail and say each of these. */
export const failing = (planned, ...shows) => ({ ...planned, fails: true, shows });

/** The call must succeed and say each of these. */
export const showing = (planned, ...shows) => ({ ...planned, shows });
