// Redactors that are npm packages, when they are installed: [name, text → text].
import { optional } from "../peers.mjs";

/** Those that can be loaded; none where nothing is installed. */
export async function loadPeers() {
  const peers = await Promise.all([secretlint(), scrubber()]);
  return peers.filter((peer) => peer !== undefined);
}

/** secretlint reports ranges: what it reports is taken out. */
async function secretlint() {
  const core = await optional("@secretlint/core");
  const preset = await optional("@secretlint/secretlint-rule-preset-recommend");
  if (core === undefined || preset === undefined) return undefined;
  const { lintSource } = core;
  const rule = preset.creator ?? preset.rules;
  const config = { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule, options: {} }] };
  return [
    "secretlint, recommended preset",
    async (text) => {
      const source = { filePath: "message.txt", content: text, contentType: "text" };
      const { messages } = await lintSource({ source, options: { config } });
      // It marks its steps and never takes the marks back.
      performance.clearMarks();
      return messages
        .toSorted((one, other) => other.range[0] - one.range[0])
        .reduce(
          (shown, { range: [start, end] }) => `${shown.slice(0, start)}<REDACTED>${shown.slice(end)}`,
          text,
        );
    },
  ];
}

async function scrubber() {
  const loaded = await optional("@redactpii/node");
  if (loaded === undefined) return undefined;
  const redactor = new loaded.Redactor();
  return ["@redactpii/node", (text) => redactor.redact(text)];
}
