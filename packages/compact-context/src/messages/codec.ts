import type { Format, Message } from "./message.ts";

/** Translates one provider format to neutral messages and back, losslessly. */
export interface Codec {
  readonly format: Format;
  /**
   * One message per native entry, same order and length, each with `native` and `format` set.
   * `previous`: the decoded messages before `list`, when only the end of a conversation is decoded
   * (formats without call ids pair a result with the call before it).
   * Throws `InvalidMessages` with the index and path of the entry that cannot be read.
   */
  decode(list: readonly unknown[], previous?: readonly Message[]): Message[];
  /**
   * The native list. A message with an unedited `native` of this format gives back that very object;
   * an edited one a shallow copy of it with the changed parts; others are built anew.
   */
  encode(messages: readonly Message[]): unknown[];
  /** 0 (certainly not) to 1 (certainly) that `list` is in this format; looks at a bounded number of entries. */
  detect(list: readonly unknown[]): number;
}
