// Lets pi 1.x be loaded where its own packages are older: names that these lack are empty. None of them has to do with
// messages, models, tools or extensions.
import { readdirSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const scope = fileURLToPath(new URL("node_modules/@earendil-works/", import.meta.url));
const OLDER = /^@earendil-works\/pi-(?:tui|telemetry|codemode|mcp)(?:\/\w+)?$/;
const NAMED = /(?:import|export)\s*\{([^}]*)\}\s*from\s*["'](@earendil-works\/[^"']+)["']/g;

/** The names that pi takes of each of the older packages. */
function namesTaken() {
  const taken = new Map();
  for (const folder of ["pi-coding-agent", "pi-ai", "pi-agent-core"]) {
    for (const file of readdirSync(join(scope, folder, "dist"), { recursive: true })) {
      if (!file.endsWith(".js")) continue;
      for (const [, names, from] of readFileSync(join(scope, folder, "dist", file), "utf8").matchAll(NAMED)) {
        if (!OLDER.test(from)) continue;
        const known = taken.get(from) ?? new Set();
        for (const name of names.split(",")) known.add(name.trim().split(/\s+as\s+/)[0]);
        taken.set(from, known);
      }
    }
  }
  return taken;
}

function empty(name) {
  if (/^[A-Z][a-z]/.test(name)) return `export class ${name} {}`;
  if (/^[A-Z]/.test(name)) return `export const ${name} = new Proxy({}, { get: () => () => undefined });`;
  return `export const ${name} = () => new Proxy({}, { get: () => () => undefined });`;
}

const sources = new Map();
for (const [from, names] of namesTaken()) {
  const there = await import(import.meta.resolve(from)).catch(() => ({}));
  const lacking = [...names].filter((name) => name !== "" && !(name in there)).map(empty);
  const has = Object.keys(there).length > 0;
  sources.set(
    from,
    [...(has ? [`export * from ${JSON.stringify(`${from}?own`)};`] : []), ...lacking].join("\n"),
  );
}

registerHooks({
  resolve(name, context, next) {
    if (name.endsWith("?own")) return next(name.slice(0, -4), { ...context, parentURL: import.meta.url });
    if (!sources.has(name) || context.parentURL?.includes("/pi/next/node_modules/") !== true)
      return next(name, context);
    return { url: `filled:${name}`, format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith("filled:")) return next(url, context);
    return { format: "module", source: sources.get(url.slice(7)) || "export {};", shortCircuit: true };
  },
});

export const pi = await import(import.meta.resolve("@earendil-works/pi-coding-agent"));
export const ai = await import(import.meta.resolve("@earendil-works/pi-ai"));
