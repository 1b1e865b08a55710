// Optional fields of the library's types take `undefined` as well: `field?: T` becomes `field?: T | undefined`, so that
// programs with `exactOptionalPropertyTypes` may pass on what they do not have. The library reads both alike.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const { factory } = ts;
const NONE = factory.createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword);

const TAKING = [ts.SyntaxKind.UndefinedKeyword, ts.SyntaxKind.UnknownKeyword, ts.SyntaxKind.AnyKeyword];
const takesNone = ({ kind }) => TAKING.includes(kind);

/** The union with `undefined`; a function type gets its parentheses. */
function orNone(type) {
  if (takesNone(type) || (ts.isUnionTypeNode(type) && type.types.some(takesNone))) return type;
  return factory.createUnionTypeNode([isPartial(type) ? partial(type.typeArguments[0]) : type, NONE]);
}

/** `field?(): T` as a field whose type is that of a method: its parameters stay as lenient as a method's are. */
function methodField({ modifiers, name, questionToken, typeParameters, parameters, type }) {
  const method = factory.createMethodSignature(
    undefined,
    "call",
    undefined,
    typeParameters,
    parameters,
    type,
  );
  const called = factory.createLiteralTypeNode(factory.createStringLiteral("call"));
  const only = factory.createIndexedAccessTypeNode(factory.createTypeLiteralNode([method]), called);
  return factory.createPropertySignature(modifiers, name, questionToken, orNone(only));
}

const isPartial = (type) => ts.isTypeReferenceNode(type) && type.typeName.text === "Partial";

/** `Partial<T>` of an optional field, written out: its own fields are optional ones. */
function partial(type) {
  const key = factory.createIdentifier("Key");
  const keys = factory.createTypeOperatorNode(ts.SyntaxKind.KeyOfKeyword, type);
  const value = factory.createIndexedAccessTypeNode(type, factory.createTypeReferenceNode(key));
  const question = factory.createToken(ts.SyntaxKind.QuestionToken);
  const parameter = factory.createTypeParameterDeclaration(undefined, key, keys);
  return factory.createMappedTypeNode(undefined, parameter, undefined, question, orNone(value), undefined);
}

function widened(node) {
  if (node.questionToken === undefined) return node;
  const { modifiers, name, questionToken, type } = node;
  if (ts.isPropertySignature(node))
    return factory.updatePropertySignature(node, modifiers, name, questionToken, orNone(type));
  if (ts.isMethodSignature(node)) return ts.setTextRange(methodField(node), node);
  if (!ts.isMappedTypeNode(node)) return node;
  const { readonlyToken, typeParameter, nameType, members } = node;
  return factory.updateMappedTypeNode(
    node,
    readonlyToken,
    typeParameter,
    nameType,
    questionToken,
    orNone(type),
    members,
  );
}

const widen = (context) => (source) => {
  const visit = (node) => widened(ts.visitEachChild(node, visit, context));
  return ts.visitNode(source, visit);
};

/** Rewrites every declaration file below a folder. */
export function widenOptionals(folder) {
  const printer = ts.createPrinter({ newLine: ts.NewLineKind.LineFeed });
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith(".d.ts")) continue;
    const path = join(folder, name);
    const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ES2022, true);
    const { transformed } = ts.transform(source, [widen]);
    writeFileSync(path, printer.printFile(transformed[0]));
  }
}
