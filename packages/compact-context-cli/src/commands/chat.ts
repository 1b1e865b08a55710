import type { Command } from "../command.ts";

export const chatCommand: Command = {
  usage: "",
  summary:
    "an agent for the terminal whose context never overflows; it reads, writes and runs with your leave",
  flags: ["model", "base-url", "window", "new", "channel", "workspace", "config", "archive"],
  flagHelp: {
    model: "who answers: provider/model, or with --base-url a model of that server; a script when left out",
    workspace: "the agent's own folder; .compact/agent when left out",
    channel: "where this session and its memory are kept; main in the agent's own folder when left out",
  },
  notes: [
    "--model provider/model uses the AI SDK's package of that provider, with the key of the environment. Without a model a script answers, to try things out.",
    "The session of this folder goes on where it was left, also after a crash; --new begins another. All of it lies in .compact/agent.",
    "docs/chat.md has the commands, the files and the limits.",
  ],
  mostWords: 0,
  // Agents and their memory are loaded for a chat alone: other commands start without them.
  run: async (invocation) => (await import("../chat/start-chat.ts")).startChat(invocation),
};
