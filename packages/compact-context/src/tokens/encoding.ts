import { CompactError } from "../errors.ts";
import { cl100kBase } from "./encodings/cl100k-base.ts";
import { o200kBase } from "./encodings/o200k-base.ts";

/** Encodings whose vocabulary is public and comes with the package. */
export type EncodingName = "cl100k_base" | "o200k_base";

/** What a counter needs of an encoding, so that callers can bring their own. `count` throws when it cannot be loaded. */
export interface TextEncoding {
  readonly name: string;
  count(text: string): number;
}

/** The built-in encoding of that name; nothing is unpacked before its first count. */
export function encodingNamed(name: string): TextEncoding {
  if (name === "o200k_base") return o200kBase;
  if (name === "cl100k_base") return cl100kBase;
  throw new CompactError("InvalidArgument", `unknown encoding "${name}"`, {
    hint: "Use o200k_base or cl100k_base, or name a model instead.",
    place: "encoding",
  });
}
