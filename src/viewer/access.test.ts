import { expect, it } from "vitest";
import { createAccess } from "./access.ts";

function opened() {
  let made = 0;
  let asked = 0;
  const newSecret = (): string => {
    made += 1;
    return `secret ${made}`;
  };
  const access = createAccess({
    ...{ port: 4000, now: () => 0, newSecret },
    spent: () => {
      asked += 1;
    },
  });
  return { access, asked: () => asked };
}

it("a link that was used up asks for a new one, unless one is waiting", () => {
  const { access, asked } = opened();
  const first = access.newToken();
  expect(access.exchange(first)).toHaveProperty("cookie");
  expect(asked()).toBe(0);
  expect(access.exchange(first)).toMatchObject({ status: 403 });
  expect(asked()).toBe(1);
  const second = access.newToken();
  expect(access.exchange(first)).toMatchObject({ status: 403 });
  expect(asked()).toBe(1);
  expect(access.exchange(second)).toHaveProperty("cookie");
});

it("a link that was never made here asks for nothing, and neither lets in after ten", () => {
  const { access, asked } = opened();
  const first = access.newToken();
  access.exchange(first);
  for (let guess = 0; guess < 5; guess += 1) access.exchange(`guess ${guess}`);
  expect(asked()).toBe(0);
  for (let again = 0; again < 5; again += 1) access.exchange(first);
  expect(asked()).toBe(5);
  expect(access.exchange(first)).toMatchObject({ status: 429 });
  expect(asked()).toBe(5);
});
