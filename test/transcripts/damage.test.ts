import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import { compactSimply, manifest, ports, present, textOf } from "./sessions.ts";

/** A small session of each format, records cut down to the first hundred lines. */
const samples = [...new Set(manifest.map((entry) => entry.format))].map((format) => {
  const texts = manifest
    .filter((entry) => entry.format === format)
    .map((entry) => [entry.file, textOf(entry.file)] as const);
  const [file, text] = texts.reduce((best, one) => (one[1].length < best[1].length ? one : best));
  const head = file.endsWith(".jsonl") ? text.split("\n").slice(0, 100).join("\n") : text;
  return [format, head] as const;
});

/** Values that stand where others are expected. */
const ODD: readonly unknown[] = [null, 7, true, "odd", [], {}, [null], [[]], { type: 7 }, -1e300];

/** The value with one of its members, chosen by `pick`, replaced. */
function damaged(value: unknown, pick: number, odd: unknown): unknown {
  const places: [object, string][] = [];
  const walk = (node: unknown, depth: number): void => {
    if (typeof node !== "object" || node === null || depth > 6) return;
    for (const key of Object.keys(node)) {
      places.push([node, key]);
      walk((node as Record<string, unknown>)[key], depth + 1);
    }
  };
  const copy = structuredClone(value);
  walk(copy, 0);
  const [parent, key] = places[pick % Math.max(1, places.length)] ?? [];
  if (parent !== undefined && key !== undefined) (parent as Record<string, unknown>)[key] = odd;
  return copy;
}

function damageText(text: string, pick: number, odd: unknown): string {
  try {
    return JSON.stringify(damaged(JSON.parse(text), pick, odd));
  } catch {
    const lines = text.split("\n");
    const index = pick % lines.length;
    try {
      return lines.with(index, JSON.stringify(damaged(JSON.parse(lines[index] ?? ""), pick, odd))).join("\n");
    } catch {
      return text;
    }
  }
}

/** Reads, compacts and writes the text; only errors of this library may come out. */
async function survives(text: string): Promise<void> {
  try {
    const transcript = await readTranscript(text);
    const written = transcript.write(compactSimply(transcript.messages), ports());
    for (const chunk of written.chunks) expect(typeof chunk).toBe("string");
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    expect(error.hint).not.toBe("");
  }
}

describe.skipIf(!present)("damaged sessions", () => {
  it.each(samples)("%s: cut off anywhere they are read or refused with a hint", async (_, text) => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), (part) =>
        survives(text.slice(0, Math.floor(text.length * part))),
      ),
      { numRuns: 8 },
    );
  });

  it.each(samples)(
    "%s: with values of the wrong kind they are read or refused with a hint",
    async (_, text) => {
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.constantFrom(...ODD), (pick, odd) =>
          survives(damageText(text, pick, odd)),
        ),
        { numRuns: 25 },
      );
    },
  );
});
