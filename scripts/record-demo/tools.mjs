// The agent's tools: what the model is told of them, and what they do. A tool that fails throws; its message is recorded.
import { statSync } from "node:fs";

const schema = (properties, required) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const text = (description) => ({ type: "string", description });
const whole = (description) => ({ type: "integer", minimum: 1, description });

/** Tool definitions as the provider takes them. */
export const tools = [
  {
    name: "list_files",
    description: "Lists the files below a folder, each with its number of lines. Ignored files are left out.",
    input_schema: schema({ path: text("Folder, relative to the working directory.") }, ["path"]),
  },
  {
    name: "read_file",
    description: "Reads a text file. Each line is given with its number; offset and limit choose a part.",
    input_schema: schema(
      {
        path: text("File, relative to the working directory."),
        offset: whole("First line, 1 when left out."),
        limit: whole("Most lines, all when left out."),
      },
      ["path"],
    ),
  },
  {
    name: "search",
    description:
      "Finds lines that match a regular expression. Gives path, line number and line; 100 at most.",
    input_schema: schema(
      {
        pattern: text("A JavaScript regular expression."),
        path: text("Folder or file to search in; everything when left out."),
      },
      ["pattern"],
    ),
  },
  {
    name: "run_command",
    description:
      "Runs a shell command in the working directory. Gives its output and, when not 0, its exit code.",
    input_schema: schema({ command: text("The command.") }, ["command"]),
  },
  {
    name: "edit_file",
    description: "Replaces a text in a file. The old text must be there exactly, and exactly once.",
    input_schema: schema(
      {
        path: text("File, relative to the working directory."),
        old_text: text("What stands there now, with its white space."),
        new_text: text("What replaces it."),
      },
      ["path", "old_text", "new_text"],
    ),
  },
  {
    name: "write_file",
    description: "Writes a whole file, new or in place of the one that is there.",
    input_schema: schema(
      { path: text("File, relative to the working directory."), content: text("The whole text.") },
      ["path", "content"],
    ),
  },
  {
    name: "update_todos",
    description: "Replaces the list of what is to be done, which the user sees.",
    input_schema: schema(
      {
        todos: {
          type: "array",
          items: schema(
            {
              content: text("What is to be done."),
              status: { type: "string", enum: ["pending", "in_progress", "completed"] },
            },
            ["content", "status"],
          ),
        },
      },
      ["todos"],
    ),
  },
];

const MOST_HITS = 100;

const actions = {
  list_files: ({ path }, workspace) =>
    workspace
      .files(path)
      .map((file) => `${file} (${linesOf(workspace.read(file)).length})`)
      .join("\n"),
  read_file({ path, offset = 1, limit }, workspace) {
    requireFile(path, workspace);
    const lines = linesOf(workspace.read(path));
    const part = lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit);
    return part.map((line, index) => `${String(offset + index).padStart(4)}  ${line}`).join("\n");
  },
  search({ pattern, path = "." }, workspace) {
    const expression = new RegExp(pattern);
    const files = isFile(path, workspace) ? [path] : workspace.files(path);
    const hits = files.flatMap((file) =>
      linesOf(workspace.read(file)).flatMap((line, index) =>
        expression.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
      ),
    );
    if (hits.length === 0) return "No matches.";
    const more = hits.length > MOST_HITS ? `\n(${hits.length - MOST_HITS} more)` : "";
    return hits.slice(0, MOST_HITS).join("\n") + more;
  },
  run_command({ command }, workspace) {
    const { output, status } = workspace.run(command);
    const told = output.trim() === "" ? "(no output)" : output.replace(/^\n+|\s+$/g, "");
    if (status !== 0) throw new Error(`${told}\nExit code ${status}`);
    return told;
  },
  edit_file({ path, old_text, new_text }, workspace) {
    requireFile(path, workspace);
    const before = workspace.read(path);
    const count = before.split(old_text).length - 1;
    if (count === 0) throw new Error(`${path}: the old text was not found. Nothing was changed.`);
    if (count > 1)
      throw new Error(`${path}: the old text occurs ${count} times, it must be unique. Nothing was changed.`);
    workspace.write(
      path,
      before.replace(old_text, () => new_text),
    );
    return `${path}: 1 replacement made.`;
  },
  write_file({ path, content }, workspace) {
    workspace.write(path, content);
    return `${path}: ${linesOf(content).length} lines written.`;
  },
  update_todos: ({ todos }) =>
    `${todos.length} todos, ${todos.filter((each) => each.status !== "completed").length} open.`,
};

/** Makes a call; what it gives, and whether it failed. */
export function perform({ name, input }, workspace) {
  try {
    return { output: actions[name](input, workspace), failed: false };
  } catch (error) {
    return { output: error.message, failed: true };
  }
}

function linesOf(content) {
  return content.replace(/\n$/, "").split("\n");
}

function isFile(path, workspace) {
  return workspace.exists(path) && statSync(workspace.inside(path)).isFile();
}

function requireFile(path, workspace) {
  if (!isFile(path, workspace)) throw new Error(`${path}: no such file.`);
}
