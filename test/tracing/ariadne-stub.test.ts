import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type StubAriadne, startAriadne } from "../stubs/ariadne.ts";

let ariadne: StubAriadne;
beforeAll(async () => {
  ariadne = await startAriadne();
});
afterAll(() => ariadne.close());

async function post(body: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(ariadne.url, { method: "POST", body, headers });
  await answer.text();
  return answer.status;
}
const span = (more: object): string => JSON.stringify({ type: "span", trace_id: "t", span_id: "s", ...more });

/** The answers of the real Ariadne at 284187b, as they were seen. */
describe("the stub of Ariadne answers as the real one", () => {
  it.each([
    ["one event", span({}), 200],
    ["an empty batch", '{"batch":[]}', 200],
    ["a trace", '{"type":"trace","trace_id":"t","metadata":{"a":"b"}}', 200],
    ["keys that it does not know", span({ error: "gone" }), 200],
    ["data that is a list", span({ data: [1] }), 200],
    ["milliseconds and microseconds", span({ started_at: "2026-01-01T00:00:00.000001Z" }), 200],
    ["null for a field that may be left out", span({ parent_id: null }), 400],
    ["a time with an offset", span({ started_at: "2026-01-01T00:00:00+00:00" }), 400],
    ["a time without a zone", span({ started_at: "2026-01-01T00:00:00" }), 400],
    ["a time as a number", span({ started_at: 1 }), 400],
    [
      "an end before the start",
      span({ started_at: "2026-01-02T00:00:00Z", ended_at: "2026-01-01T00:00:00Z" }),
      400,
    ],
    ["metadata that is no text", '{"type":"trace","trace_id":"t","metadata":{"a":1}}', 400],
    ["another status", span({ status: "unset" }), 400],
    ["a bare list", `[${span({})}]`, 400],
    ["an empty id", span({ span_id: "" }), 400],
    ["one bad event among good ones", `{"batch":[${span({})},${span({ status: 1 })}]}`, 400],
    ["what is no JSON", "{", 500],
    ["null", "null", 500],
    ["a string", '"x"', 500],
    ["a batch that is no list", '{"batch":{}}', 500],
    ["a body that is too large", span({ data: { text: "x".repeat(262_200) } }), 413],
  ])("%s", async (_what, body, status) => {
    const before = ariadne.spans.length;
    expect(await post(body)).toBe(status);
    if (status !== 200) expect(ariadne.spans.length).toBe(before);
  });

  it("cuts names and texts, and keeps the first event of a span", async () => {
    await post(span({ span_id: "cut", name: "n".repeat(2000), data: { text: "x".repeat(200_000) } }));
    await post(span({ span_id: "cut", ended_at: "2026-01-01T00:00:00Z" }));
    const [row] = [...(ariadne.tree().get("t") ?? [])].filter(({ span: { span_id } }) => span_id === "cut");
    expect(row?.span.name).toHaveLength(1024);
    expect(row?.span.data?.text).toHaveLength(102_400);
    expect(row?.milliseconds).toBeUndefined();
  });
});
