/** A stored value and the version to hand back when writing over it. */
export interface StoredValue {
  readonly value: string;
  readonly version: string;
}

/**
 * One medium. Keys are relative, `/`-separated paths made of safe characters; values are UTF-8 text.
 * Every call may reject with `StorageFailed`.
 */
export interface StorageDriver {
  /** Where things go, for people: a folder, `memory`, `s3://bucket/prefix`. */
  readonly location: string;
  get(key: string): Promise<StoredValue | undefined>;
  /**
   * The value in pieces, in order, each well-formed text by itself; nothing for an absent key. The pieces are those
   * of one version: a value that is replaced half-way is read to its end, or the reading rejects.
   */
  stream(key: string): AsyncIterable<string>;
  /**
   * Writes the whole value, durable when it resolves. With `ifVersion` only over that version
   * (`null`: only where nothing is yet); rejects with `Conflict` otherwise.
   */
  put(
    key: string,
    value: string,
    options?: { readonly ifVersion?: string | null },
  ): Promise<{ readonly version: string }>;
  /** Adds to the end of a value, creating it; `text` ends with a newline. */
  append(key: string, text: string): Promise<void>;
  /** The keys that start with `prefix`, sorted. */
  list(prefix: string): Promise<string[]>;
  /** Removes a value; no error where there is none. */
  delete(key: string): Promise<void>;
}
