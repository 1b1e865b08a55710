// What source files hold, read from their syntax trees.
import ts from "typescript";

/** Names under which the check "is this an object?" was written again and again. */
const OBJECT_CHECKS = new Set(["isObject", "asObject", "isRecord", "asRecord", "isPlainObject", "toRecord"]);
/** The reversed polynomial of CRC-32: every implementation has it. */
const CRC32_POLYNOMIAL = 0xed_b8_83_20;

const bare = (node) => (ts.isParenthesizedExpression(node) ? bare(node.expression) : node);

/** `a ? {} : { b }` and `a && { b }`, in any nesting. */
function choosesLiteral(expression) {
  if (ts.isConditionalExpression(expression)) {
    const branches = [bare(expression.whenTrue), bare(expression.whenFalse)];
    return branches.some((branch) => ts.isObjectLiteralExpression(branch) || choosesLiteral(branch));
  }
  return (
    ts.isBinaryExpression(expression) &&
    expression.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken &&
    ts.isObjectLiteralExpression(bare(expression.right))
  );
}

/** `error instanceof Error ? error.message : …`, also with `error.message || error.name`. */
function isErrorText(node) {
  if (!ts.isConditionalExpression(node)) return false;
  const condition = bare(node.condition);
  if (!ts.isBinaryExpression(condition)) return false;
  if (condition.operatorToken.kind !== ts.SyntaxKind.InstanceOfKeyword) return false;
  const text = bare(node.whenTrue);
  const first = ts.isBinaryExpression(text) ? bare(text.left) : text;
  return (
    condition.right.text === "Error" && ts.isPropertyAccessExpression(first) && first.name.text === "message"
  );
}

const isFunction = (node) =>
  ts.isFunctionDeclaration(node) ||
  (ts.isVariableDeclaration(node) && node.initializer !== undefined && ts.isArrowFunction(node.initializer));

/** Measures that are places in the source, each with what such a place is. */
const kinds = {
  literalSpreads: (node) =>
    ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(bare(node.expression)),
  conditionalSpreads: (node) => ts.isSpreadAssignment(node) && choosesLiteral(bare(node.expression)),
  portsInterfaces: (node) => ts.isInterfaceDeclaration(node) && node.name.text.endsWith("Ports"),
  errorTexts: isErrorText,
  objectChecks: (node) => isFunction(node) && OBJECT_CHECKS.has(node.name?.text),
  crcTables: (node) => ts.isNumericLiteral(node) && Number(node.text) === CRC32_POLYNOMIAL,
  namedTypes: (node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node),
};

const isExported = ({ modifiers }) =>
  modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;

/** Names that a top-level statement declares and exports; a re-export declares nothing. */
function exportedNames(statement) {
  if (!isExported(statement)) return 0;
  return ts.isVariableStatement(statement) ? statement.declarationList.declarations.length : 1;
}

/** Top-level functions whose body is one statement or one expression. */
function oneStatementFunctions(statement) {
  const functions = ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.filter(isFunction).map(({ initializer }) => initializer)
    : [statement].filter(ts.isFunctionDeclaration);
  const bodies = functions.flatMap(({ body }) => body ?? []);
  return bodies.filter((body) => !ts.isBlock(body) || body.statements.length === 1).length;
}

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
export const max = (numbers) => numbers.reduce((most, number) => Math.max(most, number), 0);
const quantile = (numbers, share) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;

/** Counts of a source file, and its `places`: line numbers of what is counted one by one, by measure. */
export function fileFacts(source) {
  const lineAt = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const places = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
  const functionLengths = [];
  const visit = (node) => {
    const line = lineAt(node.getStart(source));
    for (const name in kinds) if (kinds[name](node)) places[name].push(line);
    if (ts.isFunctionLike(node) && node.body !== undefined && ts.isBlock(node.body)) {
      functionLengths.push(lineAt(node.end) - line + 1);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const lines = source.text.split("\n");
  return {
    lines: lines.length - 1,
    commentLines: lines.filter((line) => /^\s*(?:\/\/|\/\*|\*)/.test(line)).length,
    functionLengths,
    exportedNames: sum(source.statements.map(exportedNames)),
    oneStatementFunctions: sum(source.statements.map(oneStatementFunctions)),
    imports: ts.preProcessFile(source.text).importedFiles.map(({ fileName }) => fileName),
    places,
  };
}

/** Measures that count places; the last three depend on all files. */
const placeMeasures = [...Object.keys(kinds), "filesUnder60", "singleImporter", "smallSingleImporter"];

/** The measures of some files. */
export function measureFiles(files) {
  const linesOfFiles = files.map((file) => file.lines);
  const lines = sum(linesOfFiles);
  const lengths = files.flatMap((file) => file.functionLengths);
  const names = sum(files.map((file) => file.exportedNames));
  const count = (name) => sum(files.map(({ places }) => places[name]?.length ?? 0));
  return {
    lines,
    files: files.length,
    medianLines: quantile(linesOfFiles, 0.5),
    shareUnder60: Math.round((count("filesUnder60") / files.length) * 100),
    longestFile: max(linesOfFiles),
    commentShare: Math.round((sum(files.map((file) => file.commentLines)) / lines) * 100),
    functionP90: quantile(lengths, 0.9),
    longestFunction: max(lengths),
    oneStatementFunctions: sum(files.map((file) => file.oneStatementFunctions)),
    exportedNames: names,
    namesPerThousandLines: Math.round((names / lines) * 1000),
    ...Object.fromEntries(placeMeasures.map((name) => [name, count(name)])),
  };
}
