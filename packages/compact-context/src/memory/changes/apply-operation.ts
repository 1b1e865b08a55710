import { addItem, retireItem, supersedeItem } from "./item-operations.ts";
import type { MemoryFileName, MemoryOperation } from "./operation.ts";
import type { OperationContext, Step, Texts } from "./plan.ts";
import { addSection, foldSections, replaceFile, rewriteSection } from "./section-operations.ts";

/** What the texts are after one operation, or why it is refused; pure. `versions` are those of the files as they were read. */
export function applyOperation(
  texts: Texts,
  operation: MemoryOperation,
  context: OperationContext & {
    readonly versions: Partial<Readonly<Record<MemoryFileName, string | null>>>;
  },
): Step {
  switch (operation.op) {
    case "add":
      return addItem(texts, operation, context);
    case "supersede":
      return supersedeItem(texts, operation, context);
    case "invalidate":
    case "forget":
      return retireItem(texts, operation, context);
    case "rewriteSection":
      return rewriteSection(texts, operation, context);
    case "addSection":
      return addSection(texts, operation, context);
    case "foldSections":
      return foldSections(texts, operation, context);
    case "replaceFile":
      return replaceFile(texts, operation, {
        ...context,
        version: context.versions[operation.file] ?? null,
      });
  }
}
