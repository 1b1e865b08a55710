// The vocabularies embedded in modules: `#vocabularies` for bundlers, browsers and runtimes without a disk.
import { unpackVocabulary, type Vocabulary } from "../bpe/vocabulary.ts";
import * as cl100k from "./cl100k-base.vocabulary.generated.ts";
import * as o200k from "./o200k-base.vocabulary.generated.ts";

export function cl100kVocabulary(): Vocabulary {
  return unpackVocabulary(cl100k);
}

export function o200kVocabulary(): Vocabulary {
  return unpackVocabulary(o200k);
}
