import type { Invocation } from "../command.ts";
import { serveView } from "../view-page.ts";
import { openViewed } from "../viewed.ts";

export async function viewSessions(invocation: Invocation): Promise<number> {
  return serveView(invocation, await openViewed(invocation, invocation.words[0]));
}
