// Reads docs/requirements.md and the names of all tests. `node scripts/requirements.mjs` names the test file that proves each
// requirement, in the page itself; a requirement that no test names gets the words "not proven yet".
// Every test is in one of the files that git knows; a test's name is the text that `it`, `test` or `describe` begins with.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "docs", "requirements.md");
const OPEN = "not proven yet";
const ROW = /^\| ([A-Z]{3}-\d+) \| (.+) \| (.+) \|$/gm;
const ID = /\b[A-Z]{3}-\d+\b/g;

/** The rows of the page in their order. */
export function readRequirements(text = readFileSync(page, "utf8")) {
  return [...text.matchAll(ROW)].map(([, id, statement, proof]) => ({
    id,
    statement,
    proof: proof === OPEN ? undefined : proof.slice(1, -1),
  }));
}

/** The root of `it`, `it.each(rows)`, `describe.skipIf(late)`, … */
function called(node) {
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return called(node.expression);
  return ts.isIdentifier(node) ? node.text : "";
}

/** The names of the tests in a source text, as they are written. */
export function testNames(text) {
  const names = [];
  const visit = (node) => {
    if (ts.isCallExpression(node) && /^(?:it|test|describe)$/.test(called(node.expression))) {
      const [name] = node.arguments;
      if (name !== undefined && (ts.isStringLiteralLike(name) || ts.isTemplateExpression(name)))
        names.push(name.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true));
  return names;
}

/** Of the families of the page, the ids that test names have, each with its files and how often they name it. */
export function namedIds(families) {
  const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.ts"], {
    cwd: root,
    encoding: "utf8",
  });
  const files = tracked.split("\n").filter((path) => /\.test\.ts$|^test\/.*\.ts$/.test(path));
  const found = new Map();
  for (const file of files) {
    let text;
    try {
      text = readFileSync(join(root, file), "utf8");
    } catch {
      continue; // Deleted, and not committed yet.
    }
    if (text.search(ID) === -1) continue;
    for (const name of testNames(text)) {
      for (const [id] of name.matchAll(ID)) {
        if (!families.has(id.slice(0, 3))) continue;
        const places = found.get(id) ?? new Map();
        found.set(id, places.set(file, (places.get(file) ?? 0) + 1));
      }
    }
  }
  return found;
}

/** The file that names a requirement most often. */
function proofOf(places) {
  const [[file] = []] = [...(places ?? [])].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return file;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = readFileSync(page, "utf8");
  const named = namedIds(new Set(readRequirements(text).map(({ id }) => id.slice(0, 3))));
  const written = text.replace(ROW, (_, id, statement, before) => {
    const kept = named.get(id)?.has(before.slice(1, -1)) ? before.slice(1, -1) : proofOf(named.get(id));
    return `| ${id} | ${statement} | ${kept === undefined ? OPEN : `\`${kept}\``} |`;
  });
  writeFileSync(page, written);
  const open = readRequirements(written).filter(({ proof }) => proof === undefined);
  console.log(`${open.length} ${OPEN}: ${open.map(({ id }) => id).join(", ")}`);
}
