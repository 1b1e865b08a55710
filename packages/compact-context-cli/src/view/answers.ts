import type { ServerResponse } from "node:http";

/** With every answer: nothing is loaded from elsewhere, framed, guessed, passed on or kept. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendText(response, status, { type: "application/json; charset=utf-8", body: JSON.stringify(value) });
}

export function sendText(
  response: ServerResponse,
  status: number,
  { type, body }: { readonly type: string; readonly body: string | Buffer },
): void {
  response.writeHead(status, { ...HEADERS, "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** Says no in JSON, as the page reads it. */
export function refuse(response: ServerResponse, status: number, error: string): void {
  sendJson(response, status, { error });
}
