import type { Wanted } from "./api.ts";
import type { Shown } from "./message-dialog.ts";
import type { Originals } from "./originals.ts";
import type { Store } from "./store.ts";

/** What every panel is given. */
export interface Shared {
  readonly store: Store;
  readonly originals: Originals;
  /** Shows a message whole, in a dialog. */
  showMessage(session: string, wanted: Wanted, shown: Shown): void;
  /** Tells a screen reader. */
  announce(text: string): void;
}
