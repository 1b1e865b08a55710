import { expect, it } from "vitest";
import { Access } from "./access.ts";

function opened() {
  let secrets = 0;
  let renewals = 0;
  const newSecret = (): string => {
    secrets += 1;
    return `secret ${secrets}`;
  };
  const access = new Access({
    port: 4000,
    now: () => 0,
    newSecret,
    onUsedToken: () => {
      renewals += 1;
    },
  });
  return { access, renewals: () => renewals };
}

it("a used link asks for a new one, unless an unused one is left", () => {
  const { access, renewals } = opened();
  const first = access.newToken();
  expect(access.exchange(first, new Headers())).toHaveProperty("cookie");
  expect(renewals()).toBe(0);
  expect(access.exchange(first, new Headers())).toMatchObject({ status: 403 });
  expect(renewals()).toBe(1);
  const second = access.newToken();
  expect(access.exchange(first, new Headers())).toMatchObject({ status: 403 });
  expect(renewals()).toBe(1);
  expect(access.exchange(second, new Headers())).toHaveProperty("cookie");
});

it("an unknown link asks for no new one, and ten wrong attempts lock out every link", () => {
  const { access, renewals } = opened();
  const first = access.newToken();
  access.exchange(first, new Headers());
  for (let guess = 0; guess < 5; guess += 1) access.exchange(`guess ${guess}`, new Headers());
  expect(renewals()).toBe(0);
  for (let again = 0; again < 5; again += 1) access.exchange(first, new Headers());
  expect(renewals()).toBe(5);
  expect(access.exchange(first, new Headers())).toMatchObject({ status: 429 });
  expect(renewals()).toBe(5);
});

it("attempts by other sites lock nobody out", () => {
  const { access } = opened();
  const link = access.newToken();
  const elsewhere = new Headers({ "sec-fetch-site": "cross-site" });
  for (let guess = 0; guess < 20; guess += 1) access.exchange(`guess ${guess}`, elsewhere);
  expect(access.exchange(link, new Headers())).toHaveProperty("cookie");
});

const HOST = "127.0.0.1:4000";

it.each([
  ["127.0.0.1:4000", true],
  ["localhost:4000", true],
  ["127.0.0.1", false],
  ["127.0.0.1:4001", false],
  ["evil.example:4000", false],
  ["localhost.evil.example:4000", false],
  [undefined, false],
])("a request with the host %s is allowed: %s", (host, allowed) => {
  const denial = opened().access.checkHost(new Headers(host === undefined ? {} : { host }));
  expect(denial === undefined).toBe(allowed);
});

it("reads need the cookie and are refused to other sites, although the browser sends the cookie", () => {
  const { access } = opened();
  const exchanged = access.exchange(access.newToken(), new Headers());
  const cookie = "cookie" in exchanged ? (exchanged.cookie.split(";")[0] ?? "") : "";
  const read = (more: Record<string, string>) => access.checkRead(new Headers({ host: HOST, ...more }));
  expect(read({ cookie })).toBeUndefined();
  expect(read({ cookie: `other=1; ${cookie}`, "sec-fetch-site": "same-origin" })).toBeUndefined();
  expect(read({ cookie, origin: `http://${HOST}` })).toBeUndefined();
  expect(read({})).toMatchObject({ status: 401 });
  expect(read({ cookie: `${cookie}x` })).toMatchObject({ status: 401 });
  expect(read({ cookie, "sec-fetch-site": "same-site" })).toMatchObject({ status: 403 });
  expect(read({ cookie, "sec-fetch-site": "cross-site" })).toMatchObject({ status: 403 });
  for (const origin of ["null", "http://127.0.0.1:4001", "https://evil.example"])
    expect(read({ cookie, origin })).toMatchObject({ status: 403 });
});

it("writes are for programs: JSON, and not from a browser", () => {
  const { access } = opened();
  const send = (more: Record<string, string>) => access.checkSend(new Headers({ host: HOST, ...more }));
  const json = { "content-type": "application/json; charset=utf-8" };
  expect(send(json)).toBeUndefined();
  expect(send({ "content-type": "text/plain" })).toMatchObject({ status: 415 });
  expect(send({})).toMatchObject({ status: 415 });
  expect(send({ ...json, origin: `http://${HOST}` })).toMatchObject({ status: 403 });
  expect(send({ ...json, "sec-fetch-site": "same-origin" })).toMatchObject({ status: 403 });
});
