import type { IncomingMessage } from "node:http";

/** The whole body as JSON, or the status and words of a refusal; reads no more than `most` bytes of it. */
export async function readJsonBody(
  request: IncomingMessage,
  most: number,
): Promise<{ readonly value: unknown } | { readonly status: number; readonly error: string }> {
  if (Number(request.headers["content-length"] ?? 0) > most) return tooLarge(most);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > most) return tooLarge(most);
    pieces.push(piece);
  }
  try {
    return { value: JSON.parse(Buffer.concat(pieces).toString("utf8")) as unknown };
  } catch {
    return { status: 400, error: "The body is no JSON." };
  }
}

function tooLarge(most: number): { readonly status: number; readonly error: string } {
  return { status: 413, error: `The body has more than ${most} bytes.` };
}
