import { codecFor } from "../codecs/formats.ts";
import { readNative } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { requireList, requireOptions } from "../errors.ts";
import { type LintOptions, readEntries, type Violation } from "./entries.ts";
import { rulesFor } from "./rules.ts";

/**
 * Every rule of the format that the list breaks, in order of place. Entries of the wrong shape are violations too;
 * throws `UnknownFormat` only for a format that does not exist.
 */
export function lint(list: readonly unknown[], format: Format, options: LintOptions = {}): Violation[] {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => broken(list, format, options));
}

function broken(list: readonly unknown[], format: Format, options: LintOptions): Violation[] {
  const read = readEntries(list, format);
  return rulesFor(format)
    .flatMap(({ id, severity, explanation, link, check }) =>
      check(read, options).map(({ position, path, problem }): Violation => {
        return { rule: id, severity, index: position, path, explanation: problem ?? explanation, link };
      }),
    )
    .toSorted((a, b) => a.index - b.index);
}
