/** Something queued that must be handed on at least once. */
export interface OutboxItem {
  /** Safe as one segment of a storage key; the same for the same work. */
  readonly id: string;
  /** `sessionKey` of the session that it comes from. */
  readonly session: string;
  /** Well-formed text. */
  readonly body: string;
}

/** An item to hand on now, and how often that was tried before. */
export interface ClaimedItem extends OutboxItem {
  readonly attempts: number;
}

/** Who works on an item, and for how long nobody else may. */
export interface Claim {
  readonly by: string;
  readonly ms: number;
}

/** Names one item. */
export type ItemName = Pick<OutboxItem, "session" | "id">;

/** Queued work that outlives the process; a claim that runs out makes the item free for anybody again. */
export interface Outbox {
  /** Durable when it resolves and claimed by the caller; false when it was there already and is somebody else's. */
  add(item: OutboxItem, claim: Claim): Promise<boolean>;
  /** Claims up to `limit` items that are due, oldest first. */
  claim(claim: Claim, limit: number): Promise<ClaimedItem[]>;
  /** Extends a claim; false when it was lost. */
  renew(item: ItemName, claim: Claim): Promise<boolean>;
  /** Frees a claimed item, due again in `inMs`. */
  retry(
    item: ItemName,
    by: string,
    later: { readonly inMs: number; readonly attempts: number },
  ): Promise<void>;
  /** Takes an item out: it was handed on, or must not be. */
  remove(item: ItemName): Promise<void>;
  /** The ids of a session's items. */
  pending(session: string): Promise<string[]>;
  /** Milliseconds until an item is due, 0 for at once; nothing when the outbox is empty. */
  nextDue(): Promise<number | undefined>;
}
