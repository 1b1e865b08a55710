// A Durable Object that keeps a conversation in a session, as the documentation shows; controlled by
// requests.

import { DurableObject } from "cloudflare:workers";
import { Lifecycle } from "agents/lifecycle";
import { Sessions } from "agents/sessions";
import { compactionFunction } from "../../../packages/compact-context/src/adapters/cloudflare-agents/index.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";

export class Conversation extends DurableObject {
  readonly sessions = new Sessions();
  readonly lifecycle = Lifecycle.install(this).use(this.sessions);
  // Not at module scope: Workers do not allow random values there.
  readonly manager = new CompactManager(
    { model: "gpt-4o", maxContextTokens: 8_000, policy: { keepRecentTurns: 2 } },
    { storage: createMemoryDriver(), onWarning: (text) => console.log(text) },
  );
  readonly session = this.sessions
    .session()
    .onCompaction(compactionFunction({ manager: this.manager, sessionId: this.ctx.id.toString() }))
    .compactAfter(6_000);

  override async fetch(request: Request): Promise<Response> {
    const message = (await request.json()) as { id: string } | { search: string } | null;
    if (message !== null && "search" in message) {
      const hits = await this.manager.recall(this.ctx.id.toString()).search(message.search);
      return Response.json(hits.map(({ snippet }) => snippet));
    }
    if (message !== null) await this.session.appendMessage(message as never);
    const history = [];
    for await (const one of this.session.history()) history.push(one);
    return Response.json({ history, overlays: await this.session.getCompactions() });
  }
}

// biome-ignore lint/style/noDefaultExport: required by the runtime
export default {
  fetch(request: Request, env: { CONVERSATION: DurableObjectNamespace }): Promise<Response> {
    return env.CONVERSATION.get(env.CONVERSATION.idFromName("one")).fetch(request);
  },
};
