import { cl100kVocabulary } from "#vocabularies";
import { createEncoding, type Encoding } from "../bpe/encode.ts";
import { splitCl100k } from "../bpe/split.ts";

export const cl100kBase: Encoding = createEncoding("cl100k_base", cl100kVocabulary, splitCl100k);
