import { expect, it } from "vitest";
import { createRedactor } from "../redaction/redactor.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { AgentMessage } from "./agent-message.ts";
import { ChannelJournal } from "./channel-journal.ts";

const SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const named = (itemId: string): object => ({
  openai: { itemId, reasoningEncryptedContent: "gAAAAAB" },
  google: { thoughtSignature: "CsQB" },
});

/** A message after it was stored and loaded again. */
async function reopened(...messages: readonly AgentMessage[]): Promise<readonly AgentMessage[]> {
  const options = {
    channelDir: "",
    driver: createMemoryDriver(),
    redactor: createRedactor(),
    now: () => new Date(0),
    warn: () => undefined,
  };
  const journal = new ChannelJournal(options);
  journal.begin({ id: "s", related: [] });
  await journal.replace([]);
  for (const message of messages) await journal.add(message);
  return (await new ChannelJournal(options).load())?.messages ?? [];
}

it("RED-1 reasoning that holds a secret leaves with all reasoning of its message, and with the ids that ask for it", async () => {
  const [message] = await reopened({
    role: "assistant",
    content: [
      { type: "reasoning", text: "First,", providerOptions: named("rs_1") },
      { type: "reasoning", text: `then ${SECRET}.`, providerOptions: named("rs_1") },
      { type: "text", text: "Done.", providerOptions: named("msg_1") },
      { type: "text", text: "Nothing else.", providerOptions: { openai: { phase: "final" } } },
    ],
  });
  const unnamed = { openai: { reasoningEncryptedContent: "gAAAAAB" }, google: { thoughtSignature: "CsQB" } };
  expect(message?.content).toEqual([
    { type: "text", text: "Done.", providerOptions: unnamed },
    { type: "text", text: "Nothing else.", providerOptions: { openai: { phase: "final" } } },
  ]);
});

it("reasoning without a secret stays as it is, ids and all, beside text that had one", async () => {
  const thought = { type: "reasoning", text: "Thinking.", providerOptions: named("rs_1") } as const;
  const said = { type: "text", text: `It is ${SECRET}`, providerOptions: named("msg_1") } as const;
  const [message] = await reopened({ role: "assistant", content: [thought, said] });
  expect(message?.content).toEqual([thought, { ...said, text: expect.stringMatching(/^It is <REDACTED/) }]);
});

it("a message that was nothing but such reasoning is left out", async () => {
  const asked: AgentMessage = { role: "user", content: "hello" };
  const thought: AgentMessage = { role: "assistant", content: [{ type: "reasoning", text: SECRET }] };
  expect(await reopened(asked, thought, asked)).toEqual([asked, asked]);
});
