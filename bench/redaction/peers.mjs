// Redactors that are npm packages, when they are installed: [name, text → text].

/** Those that can be loaded; none where nothing is installed. */
export async function loadPeers() {
  const peers = await Promise.all([secretlint(), scrubber()]);
  return peers.filter((peer) => peer !== undefined);
}

async function load(...paths) {
  try {
    return await Promise.all(
      paths.map((path) => import(new URL(`peers/node_modules/${path}`, import.meta.url))),
    );
  } catch {
    return undefined;
  }
}

/** secretlint reports ranges: what it reports is taken out. */
async function secretlint() {
  const loaded = await load(
    "@secretlint/core/module/index.js",
    "@secretlint/secretlint-rule-preset-recommend/module/index.js",
  );
  if (loaded === undefined) return undefined;
  const [{ lintSource }, preset] = loaded;
  const rule = preset.creator ?? preset.rules;
  const config = { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule, options: {} }] };
  return [
    "secretlint, recommended preset",
    async (text) => {
      const source = { filePath: "message.txt", content: text, contentType: "text" };
      const { messages } = await lintSource({ source, options: { config } });
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
  const loaded = await load("@redactpii/node/lib/index.js");
  if (loaded === undefined) return undefined;
  const [{ Redactor }] = loaded;
  const redactor = new Redactor();
  return ["@redactpii/node", (text) => redactor.redact(text)];
}
