import { type Json, objectOf, objectsIn } from "../../providers/request.ts";

/** A model message in the form that language models take: parts instead of text, files instead of images. */
export function partsInstead(message: unknown): unknown {
  const { role, content } = objectOf(message);
  if (role === "system") return message;
  if (typeof content === "string")
    return { ...objectOf(message), content: [{ type: "text", text: content }] };
  const parts = objectsIn(content);
  if (!parts.some(({ type }) => type === "image")) return message;
  return { ...objectOf(message), content: parts.map(fileInstead) };
}

function fileInstead(part: Json): Json {
  if (part.type !== "image") return part;
  const { image, mediaType, ...rest } = part;
  return { ...rest, type: "file", mediaType: mediaType ?? "image/*", data: image };
}
