// Changes one thing at a time in the source and asks the tests whether they notice: `node scripts/mutants.mjs policy 40`.
// Works on a copy of the checkout, draws by seed, writes what survived. The page docs/mutants.md holds the figures.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const [area = "policy", wanted = "40", seed = "1"] = process.argv.slice(2);
const root = fileURLToPath(new URL("..", import.meta.url));
const copy = mkdtempSync(join(tmpdir(), "compact-mutants-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
const TAKEN = [
  "src",
  "test",
  "demo",
  "scripts",
  "bench",
  "examples",
  "package.json",
  "tsconfig.json",
  "tsconfig.test.json",
];
const skipped =
  /node_modules|[\\/]test[\\/](?:compat|browser|consumer|sessions|transcripts|s3|chat)(?:[\\/]|$)/;
for (const name of TAKEN) {
  cpSync(join(root, name), join(copy, name), {
    recursive: true,
    filter: (path) => !skipped.test(path.slice(root.length - 1)),
  });
}
cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true });
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
writeFileSync(
  join(copy, "vitest.config.ts"),
  'import { defineConfig } from "vitest/config";\nexport default defineConfig({ test: { include: ["src/**/*.test.ts", "test/**/*.test.ts"], testTimeout: 60_000, bail: 1 } });\n',
);

/** What each operator becomes. */
const SWAPS = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};

/** Every change of a file that can be made: where, what stood there, what stands there then. */
function mutantsOf(file) {
  const text = readFileSync(join(copy, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (start, end, to) => {
    const { line } = source.getLineAndCharacterOfPosition(start);
    found.push({ file, line: line + 1, start, end, from: text.slice(start, end), to });
  };
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText(source);
      const isText = [node.left, node.right].some(
        (side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side),
      );
      if (Object.hasOwn(SWAPS, operator) && !isText)
        add(node.operatorToken.getStart(source), node.operatorToken.end, SWAPS[operator]);
    }
    if (ts.isNumericLiteral(node)) add(node.getStart(source), node.end, `(${node.text} + 1)`);
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node.getStart(source), node.end, "false");
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node.getStart(source), node.end, "true");
    if (ts.isIfStatement(node))
      add(node.expression.getStart(source), node.expression.end, `!(${node.expression.getText(source)})`);
    if (ts.isConditionalExpression(node))
      add(node.condition.getStart(source), node.condition.end, `!(${node.condition.getText(source)})`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** At most so many, each as likely as another. */
function drawn(values, most) {
  let state = Number(seed) >>> 0;
  const left = [...values];
  for (let at = 0; at < Math.min(most, left.length); at++) {
    state = (state * 1664525 + 1013904223) >>> 0;
    const other = at + Math.floor((state / 4294967296) * (left.length - at));
    [left[at], left[other]] = [left[other], left[at]];
  }
  return left.slice(0, most);
}

/** First the tests beside the source, which are quick; what passes them meets every test that loads the file. */
function testsNotice(file) {
  return fails("run", `src/${area}`) || fails("related", file, "--run");
}

function fails(...args) {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const { status, signal } = spawnSync(process.execPath, [vitest, ...args, "--reporter=dot"], {
    cwd: copy,
    stdio: "ignore",
    timeout: 300_000,
  });
  return status !== 0 || signal !== null;
}

const files = readdirSync(join(copy, "src", area), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !/\.test\.ts$|generated|index\.ts$/.test(name))
  .map((name) => `src/${area}/${name}`);
const all = files.flatMap(mutantsOf);
const survivors = [];
const chosen = drawn(all, Number(wanted));
for (const [n, { file, line, start, end, from, to }] of chosen.entries()) {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.slice(0, start) + to + text.slice(end));
  const noticed = testsNotice(file);
  writeFileSync(path, text);
  if (!noticed) survivors.push(`${file}:${line} ${from} → ${to}`);
  console.log(
    `${n + 1}/${chosen.length} ${noticed ? "noticed " : "SURVIVED"} ${file}:${line} ${from.slice(0, 60)} → ${to.slice(0, 60)}`,
  );
}
console.log(
  `${area}: ${chosen.length - survivors.length} of ${chosen.length} noticed, drawn from ${all.length}`,
);
