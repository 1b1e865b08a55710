// What scripts/mutants.mjs may change in a file of the source, and which of those changes the compiler accepts.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

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
  "/": "*",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};

const isNegation = (node) =>
  ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken;
const isEquality = (node) => ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText());
const isText = (node) => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

/** The changes of one node: what is replaced, and by what. */
function changesOf(node) {
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.getText();
    const joinsText = operator === "+" && (isText(node.left) || isText(node.right));
    return Object.hasOwn(SWAPS, operator) && !joinsText ? [[node.operatorToken, SWAPS[operator]]] : [];
  }
  if (isNegation(node)) return [[node, node.operand.getText()]];
  if (ts.isNumericLiteral(node)) return [[node, `(${node.text} + 1)`]];
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [[node, "false"]];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [[node, "true"]];
  if (ts.isExpressionStatement(node)) return [[node, ";"]];
  const condition = ts.isIfStatement(node)
    ? node.expression
    : ts.isConditionalExpression(node)
      ? node.condition
      : undefined;
  // An equality or a negation is turned round where it stands.
  if (condition === undefined || isNegation(condition) || isEquality(condition)) return [];
  return [[condition, `!(${condition.getText()})`]];
}

/** Every change of a file that can be made: where, what stood there, what stands there then. */
export function changesOfFile(root, file) {
  const text = readFileSync(join(root, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = text.split("\n");
  const found = [];
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    for (const [replaced, to] of changesOf(node)) {
      const start = replaced.getStart(source);
      const { line, character } = source.getLineAndCharacterOfPosition(start);
      const from = text.slice(start, replaced.end);
      found.push({ file, line: line + 1, column: character + 1, from, to, text: lines[line].trim(), start });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The file with a mark beside every place that can be changed: it calls `globalThis.reached` with the place. */
export function markedFile(root, file) {
  const text = readFileSync(join(root, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const edits = [];
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    for (const [replaced] of changesOf(node)) {
      const mark = `globalThis.reached?.("${file}:${replaced.getStart(source)}")`;
      const marked = ts.isBinaryExpression(node)
        ? node
        : ts.isExpressionStatement(node)
          ? node.expression
          : replaced;
      if (node.parent.name !== node) edits.push([marked.getStart(source), `(${mark}, `], [marked.end, ")"]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edits
    .map((edit, order) => [...edit, order])
    .sort(([a, , first], [b, , second]) => b - a || second - first)
    .reduce((marked, [at, added]) => marked.slice(0, at) + added + marked.slice(at), text);
}

/** Tells whether a file would still type-check with another text. Exports carry their types, so no other file is asked. */
export function typeChecker(root) {
  const { config } = ts.readConfigFile(join(root, "tsconfig.test.json"), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const { fileNames } = parsed;
  const options = { ...parsed.options, exactOptionalPropertyTypes: true };
  const changed = new Map();
  const host = {
    ...ts.sys,
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: (path) => changed.get(path)?.version ?? "0",
    getScriptSnapshot: (path) => {
      const text = changed.get(path)?.text ?? (existsSync(path) ? readFileSync(path, "utf8") : undefined);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  };
  const service = ts.createLanguageService(host);
  let version = 0;
  return (file, text) => {
    const path = join(root, file);
    changed.set(path, { text, version: String(++version) });
    const problems = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    changed.delete(path);
    return problems.length === 0;
  };
}
