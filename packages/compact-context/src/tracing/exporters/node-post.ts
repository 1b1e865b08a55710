import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { Agent, type ClientRequest, request as requestPlain } from "node:http";
import { request as requestSecure, Agent as SecureAgent } from "node:https";
import type { LookupFunction } from "node:net";
import { isLinkLocal, MAX_ANSWER_BYTES, type Post, type PostOptions } from "./http-post.ts";

/** A `Post` over Node's own client: one keep-alive connection that does not keep the process alive. */
export function createNodePost({ url, timeoutMs }: PostOptions): Post {
  const secure = url.protocol === "https:";
  const agent = secure ? new SecureAgent(SETTINGS) : new Agent(SETTINGS);
  const open = secure ? requestSecure : requestPlain;
  return (body) =>
    new Promise((resolve, reject) => {
      const length = Buffer.byteLength(body);
      const headers = { "content-type": "application/json", "content-length": length };
      const request = open(url, { method: "POST", headers, agent, lookup: lookupSafely });
      const overdue = setTimeout(() => {
        request.destroy(new Error(`no answer within ${timeoutMs} ms`));
      }, timeoutMs).unref();
      const settle = (): void => clearTimeout(overdue);
      request.on("socket", (socket) => socket.unref());
      request.on("error", (error) => {
        settle();
        reject(error);
      });
      readAnswer(request, (answer) => {
        settle();
        if (typeof answer === "number") resolve(answer);
        else reject(answer);
      });
      request.end(body);
    });
}

const SETTINGS = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1, timeout: 10_000 };

/** The status, once the whole response is read; an error if it is too long or truncated. */
function readAnswer(request: ClientRequest, done: (answer: number | Error) => void): void {
  request.on("response", (response) => {
    let read = 0;
    response.on("data", (chunk: Buffer) => {
      read += chunk.length;
      if (read > MAX_ANSWER_BYTES) response.destroy(new Error("the server's answer is too long"));
    });
    response.on("end", () => done(response.statusCode ?? 0));
    response.on("error", done);
    response.on("close", () => done(new Error("the server's answer broke off")));
  });
}

/** Rejects names that resolve to a link-local address. */
const lookupSafely: LookupFunction = (hostname, options: LookupOptions, callback) => {
  lookup(hostname, options, (error, address: string | LookupAddress[], family?: number) => {
    const all = typeof address === "string" ? [address] : (address ?? []).map((one) => one.address);
    if (error === null && all.some(isLinkLocal)) {
      callback(new Error(`${hostname} leads to a link-local address`), "", 0);
    } else callback(error, address, family);
  });
};
