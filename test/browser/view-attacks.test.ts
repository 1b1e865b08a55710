import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compact } from "../../packages/compact-context/src/compact.ts";
import { mergeConfig } from "../../packages/compact-context/src/config/layer.ts";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createTokenCounter } from "../../packages/compact-context/src/tokens/token-counter.ts";
import { recordReplay } from "../../packages/compact-context-cli/src/replay/watched.ts";
import type { Settings } from "../../packages/compact-context-cli/src/settings.ts";
import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import {
  readPageFiles,
  startViewServer,
  type ViewServer,
} from "../../packages/compact-context-cli/src/view/server.ts";
import { ViewStore } from "../../packages/compact-context-cli/src/view/view-store.ts";
import { canDrive, openProfile, type Page, type Profile, START_MS } from "./profile.ts";

const page = resolve("packages/compact-context-cli/dist/page");
const built = existsSync(`${page}/page.js`);

const SEPARATOR = "\u2028";
const HOSTILE = [
  '<img src=x onerror="window.broken=1"><svg onload="window.broken=2"></svg>',
  "</script><script>window.broken=3</script>",
  '<a href="javascript:window.broken=4">click</a> [x](javascript:window.broken=5)',
  "![beacon](http://evil.example/beacon.png) <iframe src=http://evil.example></iframe>",
  `line${SEPARATOR}separator </script><!--`,
  "<style>*{display:none} body{background:url(http://evil.example/css)}</style> data:text/html,<script>1</script>",
];

function said(id: string, role: Message["role"], text: string): Message {
  return { id, role, parts: [{ type: "text", text }] };
}

/** A session with hostile texts in messages, summary and title, and one line of five megabytes. */
async function hostileSession(store: ViewStore): Promise<void> {
  const history = [
    ...HOSTILE.map((text, index) => said(`m${index}`, index % 2 === 0 ? "user" : "assistant", text)),
    said("long", "user", "x".repeat(5_000_000)),
    ...HOSTILE.map((text, index) =>
      said(`n${index}`, index % 2 === 0 ? "assistant" : "user", `${text} again`),
    ),
  ];
  const transcript = { format: "<b>format</b>", sessionId: "<b>hostile</b>", title: HOSTILE.join(" ") };
  const settings = {
    config: mergeConfig({}),
    counter: createTokenCounter({}),
    window: 20_000,
    budget: 18_500,
    model: "<i>model</i>",
  };
  const { record, observer } = recordReplay(
    { ...transcript, segments: [], usage: [] } as unknown as Transcript,
    settings as Settings,
    { history, storage: createMemoryDriver() },
  );
  store.add(record);
  await observer.onCall(history, await compact<Message>(history, { maxTokens: 3000 }), 5);
  record.amend({ live: false });
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

/** A request as a program makes it, its path sent as it is. */
function ask(
  port: number,
  path: string,
  more: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<Answer> {
  return new Promise((done, failed) => {
    const { method = "GET", headers = {}, body } = more;
    const asked = httpRequest({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
      let text = "";
      answer.on("data", (piece) => {
        text += piece;
      });
      answer.on("end", () => done({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
    });
    asked.on("error", failed);
    asked.end(body);
  });
}

const EVENT = JSON.stringify({ type: "span", trace_id: "planted", span_id: "1", name: "planted" });

describe.skipIf(!canDrive || !built)("attacks on compact view", () => {
  let store: ViewStore;
  let server: ViewServer;
  let browser: Profile;
  let other: Server;
  let elsewhere = "";
  const newLinks: string[] = [];
  const open = async (): Promise<Page> => {
    const opened = await browser.newPage();
    await opened.goto(server.newLink());
    return opened;
  };

  beforeAll(async () => {
    store = new ViewStore();
    await hostileSession(store);
    server = await startViewServer({
      store,
      port: 0,
      now: () => performance.now(),
      files: await readPageFiles(pathToFileURL(`${page}/`)),
      newSecret: () => randomBytes(32).toString("base64url"),
      onNewLink: (link) => newLinks.push(link),
    });
    other = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html><title>another site</title><p>another site</p>");
    });
    await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
    elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    browser = await openProfile(["--host-resolver-rules=MAP evil.example 127.0.0.1"]);
  }, START_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    other?.closeAllConnections();
    other?.close();
  });

  it("40 a rebound name reaches nothing, neither to read nor to send", async () => {
    const evil = await browser.newPage();
    const answer = await evil.goto(`http://evil.example:${server.port}/`);
    expect(answer?.status()).toBe(421);
    const statuses = await evil.evaluate<number[]>(async () => {
      const got = await fetch("/api/sessions");
      const sent = await fetch("/ingest", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      return [got.status, sent.status];
    });
    expect(statuses).toEqual([421, 421]);
    for (const host of [
      "evil.example",
      `evil.example:${server.port}`,
      "127.0.0.1",
      `127.0.0.1:${server.port + 1}`,
    ]) {
      expect((await ask(server.port, "/", { headers: { host } })).status, host).toBe(421);
    }
    await evil.close();
  });

  it("41 a page of another port, of an opaque origin, a WebSocket: all refused, though the cookie is sent", async () => {
    await (await open()).close();
    const evil = await browser.newPage();
    await evil.goto(elsewhere);
    const outcome = await evil.evaluate(
      async ({ base, event }: { base: string; event: string }) => {
        const tried = (work: Promise<unknown>) =>
          work.then(
            () => "went through",
            () => "blocked",
          );
        const failed = (target: EventTarget) =>
          new Promise<string>((done) => {
            target.addEventListener("error", () => done("blocked"));
            target.addEventListener("message", () => done("went through"));
          });
        const stream = failed(new EventSource(`${base}/api/events`, { withCredentials: true }));
        const socket = failed(new WebSocket(`${base.replace("http", "ws")}/api/events`));
        const frame = document.createElement("iframe");
        frame.setAttribute("sandbox", "allow-scripts allow-forms");
        frame.srcdoc = `<form method=post enctype=text/plain action="${base}/ingest"><input name='${event.slice(0, -1)},"x":"' value='"}'></form><script>document.forms[0].submit()</script>`;
        document.body.append(frame);
        return {
          read: await tried(fetch(`${base}/api/sessions`, { credentials: "include" })),
          opaque: await tried(fetch(`${base}/api/sessions`, { credentials: "include", mode: "no-cors" })),
          sent: await tried(
            fetch(`${base}/ingest`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: event,
            }),
          ),
          simple: await tried(fetch(`${base}/ingest`, { method: "POST", mode: "no-cors", body: event })),
          stream: await stream,
          socket: await socket,
        };
      },
      { base: `http://127.0.0.1:${server.port}`, event: EVENT },
    );
    expect(new Set(Object.values(outcome))).toEqual(new Set(["blocked"]));
    await evil.waitForTimeout(300);
    expect(store.get("planted")).toBeUndefined();
    await evil.close();
    // Not the browser alone says no.
    const [known] = (await browser.cookies()).filter(({ name }) => name === `compact_view_${server.port}`);
    const cookie = `${known?.name}=${known?.value}`;
    const refused: readonly Record<string, string>[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: elsewhere.slice(0, -1) },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
    ];
    for (const headers of refused) {
      for (const path of ["/api/sessions", "/api/events"]) {
        expect((await ask(server.port, path, { headers: { cookie, ...headers } })).status).toBe(403);
      }
      const sent = { "content-type": "application/json", cookie, ...headers };
      const answer = await ask(server.port, "/ingest", { method: "POST", headers: sent, body: EVENT });
      expect(answer.status).toBe(403);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    expect((await ask(server.port, "/api/sessions", { headers: { cookie } })).status).toBe(200);
  });

  it("42 what a form can send is refused, and no GET changes anything", async () => {
    const evil = await browser.newPage();
    await evil.goto(elsewhere);
    await evil.evaluate(
      ({ base, event }: { base: string; event: string }) => {
        const form = document.createElement("form");
        Object.assign(form, { method: "post", enctype: "text/plain", action: `${base}/ingest` });
        const input = document.createElement("input");
        Object.assign(input, { name: `${event.slice(0, -1)},"x":"`, value: '"}' });
        form.append(input);
        document.body.append(form);
        form.submit();
      },
      { base: `http://127.0.0.1:${server.port}`, event: EVENT },
    );
    await evil.waitForTimeout(500);
    expect(store.get("planted")).toBeUndefined();
    const plain = await ask(server.port, "/ingest", {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: EVENT,
    });
    expect(plain.status).toBe(415);
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await ask(server.port, "/ingest", { method });
      expect(answer.status).toBe(405);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    const sent = await ask(server.port, "/ingest", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: EVENT.replaceAll("planted", "welcome"),
    });
    expect(sent).toMatchObject({ status: 200, body: '{"success":true,"count":1}' });
    expect(store.get("welcome")).toBeDefined();
    await evil.close();
  });

  it("43 listens on this computer's own address alone", async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((one) => one !== undefined && !one.internal && one.family === "IPv4");
    expect(server.ingestUrl).toBe(`http://127.0.0.1:${server.port}/ingest`);
    const reaches = (address: string): Promise<boolean> =>
      new Promise((done) => {
        const socket = connect(server.port, address, () => {
          socket.destroy();
          done(true);
        });
        socket.on("error", () => done(false));
      });
    expect(await reaches("127.0.0.1")).toBe(true);
    // A server that listens everywhere is there as well; a machine without a network has no other address.
    for (const address of ["127.0.0.2", ...(outside === undefined ? [] : [outside.address])]) {
      expect(await reaches(address), address).toBe(false);
    }
  });

  it("nothing is told without the cookie", async () => {
    for (const path of ["/api/sessions", "/api/events", "/api/search?q=x", "/api/expand?session=x&id=y"]) {
      expect((await ask(server.port, path)).status, path).toBe(401);
      const cookie = `compact_view_${server.port}=guessed`;
      expect((await ask(server.port, path, { headers: { cookie } })).status, path).toBe(401);
    }
  });

  it("44 the token leaves the address, works once, and the cookie is out of reach of scripts", async () => {
    const link = server.newLink();
    const opened = await browser.newPage();
    const referers: string[] = [];
    opened.on("request", (request) => {
      // What the page asks for while it is closed has no headers any more.
      const asked = request.allHeaders().catch((): Record<string, string> => ({}));
      void asked.then(({ referer }) => referer !== undefined && referers.push(referer));
    });
    await opened.goto(link);
    expect(opened.url()).toBe(`http://127.0.0.1:${server.port}/`);
    expect(await opened.evaluate("document.cookie")).toBe("");
    expect(await opened.evaluate("history.length")).toBeLessThanOrEqual(2);
    await opened.waitForTimeout(300);
    expect(referers).toEqual([]);
    const cookie = (await browser.cookies()).find(({ name }) => name === `compact_view_${server.port}`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    expect((await opened.goto(link))?.status()).toBe(403);
    // The user finds a new single-use link in the terminal.
    expect(newLinks).toHaveLength(1);
    expect((await opened.goto(newLinks[0] ?? ""))?.status()).toBe(200);
    await opened.close();
  });

  it("45 hostile text in title, messages, summary, search and spans is shown as text and loads nothing", async () => {
    const opened = await browser.newPage();
    const outside: string[] = [];
    opened.on("request", (request) => {
      if (!request.url().startsWith(`http://127.0.0.1:${server.port}/`)) outside.push(request.url());
    });
    await opened.goto(server.newLink());
    await opened.getByText("<img src=x onerror=").first().waitFor();
    for (const tab of ["Compactions", "Timeline", "Archive", "Window"]) {
      await opened.locator(`[role=tab]:has-text("${tab}")`).first().click();
      await opened.waitForTimeout(50);
    }
    expect(await opened.evaluate("window.broken")).toBeUndefined();
    const planted = await opened.evaluate<number>(
      "document.querySelectorAll('[onerror], [onload], iframe, a[href^=javascript], #main img, script:not([src])').length",
    );
    expect(planted).toBe(0);
    expect(outside).toEqual([]);
    // Were there ever a hole, the policy is still there.
    const blocked = await opened.evaluate<string>(() => {
      try {
        document.body.innerHTML += "<img src=x onerror='window.broken=9'>";
        return "went through";
      } catch {
        return "blocked";
      }
    });
    expect(blocked).toBe("blocked");
    const loaded = await opened.evaluate<string>(() =>
      fetch("http://evil.example/").then(
        () => "went through",
        () => "blocked",
      ),
    );
    expect(loaded).toBe("blocked");
    await opened.close();
  });

  it("46 no data is written into the page, and data that is opened by itself stays text", async () => {
    const opened = await open();
    const html = await ask(server.port, "/", { headers: { host: `127.0.0.1:${server.port}` } });
    expect(html.body).not.toContain("hostile");
    const answer = await opened.goto(`http://127.0.0.1:${server.port}/api/sessions`);
    expect(answer?.status()).toBe(200);
    expect(answer?.headers()["content-type"]).toBe("application/json");
    expect(await opened.evaluate("document.querySelectorAll('img, script, svg').length")).toBe(0);
    expect(await opened.evaluate("window.broken")).toBeUndefined();
    await opened.close();
  });

  it("47 a line of five megabytes and a style sheet in it leave the page usable", async () => {
    const opened = await open();
    await opened.getByText("<img src=x onerror=").first().waitFor();
    const answer = await opened.evaluate(async () => {
      const response = await fetch(`/api/expand?session=${encodeURIComponent("<b>hostile</b>")}&message=6`);
      const { text, next } = await response.json();
      return { length: text.length, next };
    });
    expect(answer.length).toBeLessThanOrEqual(20_000);
    expect(answer.next).toBe(answer.length);
    const before = Date.now();
    await opened.locator('[role=tab]:has-text("Compactions")').first().click();
    await opened.locator('[role=tab]:has-text("Window")').first().click();
    expect(Date.now() - before).toBeLessThan(15_000);
    await opened.close();
  });

  it("48 no path leads to a file of this computer", async () => {
    const opened = await open();
    const [cookie] = (await browser.cookies()).filter(({ name }) => name === `compact_view_${server.port}`);
    const headers = { cookie: `${cookie?.name}=${cookie?.value}` };
    for (const path of [
      "/files?path=../../etc/passwd",
      "/../../../../etc/passwd",
      "/page/../../../package.json",
      "/page/..%2f..%2f..%2fpackage.json",
      "/page/%252e%252e%252f%252e%252e%252fpackage.json",
      "/page/page.js%00.css",
      "/page/.%00./server.js",
      "/page//etc/passwd",
      "/page/C:%5Cwindows",
      "/api/sessions/..%2f..%2fetc%2fpasswd",
      "/api/sessions/%252e%252e",
      "/api/sessions/%ff",
      "/api/sessions/__proto__",
      "/api/sessions/%3Cb%3Ehostile%3C%2Fb%3E/compactions/..",
      "/api/sessions/%3Cb%3Ehostile%3C%2Fb%3E/compactions/__proto__",
      "/api/expand?session=__proto__&id=x",
      "/view/server.js",
      "/server.js",
    ]) {
      expect((await ask(server.port, path, { headers })).status, path).toBe(404);
    }
    await opened.close();
  });

  it("49 is not framed, sniffed or kept", async () => {
    const evil = await browser.newPage();
    await evil.goto(elsewhere);
    await evil.evaluate((base: string) => {
      const frame = document.createElement("iframe");
      frame.src = `${base}/`;
      document.body.append(frame);
    }, `http://127.0.0.1:${server.port}`);
    await evil.waitForTimeout(500);
    expect(evil.frames().map((frame) => frame.url())).toContain("chrome-error://chromewebdata/");
    for (const path of ["/", "/page/page.js", "/api/sessions", "/nothing", "/open?token=x"]) {
      const { headers } = await ask(server.port, path);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
      });
      expect(headers["content-security-policy"]).toContain("default-src 'none'");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    }
    await evil.close();
  });

  it("50 a token has 256 bits, and guessing is stopped after ten", async () => {
    const link = server.newLink();
    const token = new URL(link).searchParams.get("token") ?? "";
    expect(Buffer.from(token, "base64url").length).toBe(32);
    const statuses: number[] = [];
    for (let guess = 0; guess < 20; guess += 1) {
      statuses.push((await ask(server.port, `/open?token=${"a".repeat(guess)}`)).status);
    }
    expect(statuses.slice(-5)).toEqual([429, 429, 429, 429, 429]);
    expect((await ask(server.port, new URL(link).pathname + new URL(link).search)).status).toBe(429);
  });
});
