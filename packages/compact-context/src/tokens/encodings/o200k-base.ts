import { createEncoding, type Encoding } from "../bpe/encode.ts";
import { splitO200k } from "../bpe/split.ts";
import { checksum, pairs } from "./o200k-base.vocabulary.generated.ts";

export const o200kBase: Encoding = createEncoding("o200k_base", { pairs, checksum }, splitO200k);
