import { CompactError, requireOptions, requireText } from "../../errors.ts";
import { getChannelSessionPath } from "../files/names.ts";
import { createMemoryWriter, type MemoryWriter } from "./writer.ts";

const MOST_CONFLICTS = 4;

/**
 * Replaces SESSION.md through the channel's writer: logged, backed up, secrets taken out. With `ifVersion`, as
 * `readMemoryFile` gave it, only over that text, else `Conflict`. `InvalidArgument` for a text that says nothing or has
 * a placeholder where text would be lost; an empty session is the text of `renderSessionMemory(emptySessionMemory())`.
 */
export async function rewriteChannelSession(
  channelDir: string,
  content: string,
  options: { readonly ifVersion?: string } = {},
): Promise<void> {
  requireText(channelDir, "channelDir", "Pass the path of the channel's folder.");
  requireText(content, "content", "Pass the whole text of SESSION.md.");
  requireOptions(options);
  const { ifVersion } = options;
  const writer = createMemoryWriter({ channelDir });
  for (let attempt = 1; ; attempt += 1) {
    const version = ifVersion ?? (await writer.read("SESSION.md")).version;
    const refusal = await replace(writer, content, version);
    if (refusal === undefined) return;
    const isChanged = refusal.reason === "changed";
    if (isChanged && ifVersion === undefined && attempt < MOST_CONFLICTS) continue;
    throw new CompactError(isChanged ? "Conflict" : "InvalidArgument", `SESSION.md: ${refusal.message}`, {
      place: getChannelSessionPath(channelDir),
      hint: isChanged ? "Read it again and repeat the change on what is there now." : "Give the whole text.",
    });
  }
}

async function replace(
  writer: MemoryWriter,
  text: string,
  ifVersion: string | null,
): Promise<{ readonly reason: string; readonly message: string } | undefined> {
  const { refused } = await writer.apply(
    [{ op: "replaceFile", file: "SESSION.md", text, ifVersion, mayShrink: true }],
    { author: "session-update", reason: "SESSION.md was rewritten by the host" },
  );
  return refused[0];
}
