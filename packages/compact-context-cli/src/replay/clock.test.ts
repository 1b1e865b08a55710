import type { Message, Role } from "compact-context";
import { expect, it } from "vitest";
import { callTimes } from "./session.ts";

const at = (role: Role, timestamp?: string): Message => ({
  id: "m",
  role,
  parts: role === "tool" ? [{ type: "toolResult", id: "c", content: "x" }] : [{ type: "text", text: "x" }],
  meta: timestamp === undefined ? undefined : { timestamp },
});
const minute = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes)).toISOString();

it("takes 15 s a call and 2 min more before a user speaks, where the session has no times", () => {
  const history = [at("user"), at("assistant"), at("tool"), at("assistant"), at("user"), at("assistant")];
  const times = callTimes(history, [1, 3, 5]);
  expect(times.map(({ time }) => time)).toEqual([0, 15, 150]);
  expect(times.map(({ opensTurn }) => opensTurn)).toEqual([true, false, true]);
  expect(times.every(({ recorded }) => !recorded)).toBe(true);
});

it("takes the session's own times: the newest message before the call, never backwards", () => {
  const history = [
    at("user", minute(0)),
    at("assistant", minute(1)),
    at("tool", minute(3)),
    at("assistant", minute(4)),
    at("user", minute(2)),
    at("assistant"),
    at("user", minute(30)),
    at("assistant"),
  ];
  expect(callTimes(history, [1, 3, 5, 7]).map(({ time }) => time)).toEqual([0, 180, 240, 1800]);
});

it("a first timestamp in the middle of a session is not a pause of decades", () => {
  const history = [
    at("user"),
    at("assistant"),
    at("user", minute(0)),
    at("assistant"),
    at("user", minute(1)),
    at("assistant"),
  ];
  const times = callTimes(history, [1, 3, 5]);
  expect(times.map(({ time }) => time)).toEqual([0, 135, 195]);
  expect(times.map(({ recorded }) => recorded)).toEqual([false, false, true]);
});
