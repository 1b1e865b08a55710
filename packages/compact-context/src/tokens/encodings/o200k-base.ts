import { o200kVocabulary } from "#vocabularies";
import { createEncoding, type Encoding } from "../bpe/encode.ts";
import { splitO200k } from "../bpe/split.ts";

export const o200kBase: Encoding = createEncoding("o200k_base", o200kVocabulary, splitO200k);
