import { createEncoding, type Encoding } from "../bpe/encode.ts";
import { splitCl100k } from "../bpe/split.ts";
import { checksum, pairs } from "./cl100k-base.vocabulary.generated.ts";

export const cl100kBase: Encoding = createEncoding("cl100k_base", { pairs, checksum }, splitCl100k);
