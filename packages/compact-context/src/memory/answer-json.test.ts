import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerJson } from "./sidecar.ts";

const value = { title: "Fix the queue", steps: ["read", "write"], count: 2, done: false, note: null };
const json = JSON.stringify(value);
const pretty = JSON.stringify(value, null, 2);

const SAME: readonly (readonly [string, string])[] = [
  ["as it is", json],
  ["printed over lines", pretty],
  ["behind a byte order mark", `\uFEFF${json}`],
  ["in a fence", `\`\`\`json\n${pretty}\n\`\`\``],
  ["in a fence that is never closed", `\`\`\`json\n${pretty}`],
  ["in a fence of tildes with prose around it", `Here you are:\n~~~\n${pretty}\n~~~\nAnything else?`],
  ["with prose before it", `The notes, as asked:\n\n${json}`],
  ["with prose behind it", `${json}\n\nI left out what was unclear.`],
  ["with brackets in the prose", `From the records [1] and {these}, I made this: ${json} [end]`],
  ["after thinking aloud", `<think>maybe {"title": "wrong", "steps": [1,2,3,4,5,6,7,8,9]}</think>\n${json}`],
  ["as a text in JSON", JSON.stringify(json)],
  ["as the inside of such a text", JSON.stringify(json).slice(1, -1)],
  ["alone in a list", `[${json}]`],
  [
    "with commas too many",
    '{"title": "Fix the queue", "steps": ["read", "write",], "count": 2, "done": false, "note": null,}',
  ],
  [
    "with commas missing",
    '{"title": "Fix the queue"\n"steps": ["read"\n"write"]\n"count": 2\n"done": false\n"note": null}',
  ],
  [
    "in single quotes",
    "{'title': 'Fix the queue', 'steps': ['read', 'write'], 'count': 2, 'done': False, 'note': None}",
  ],
  [
    "in typographic quotes",
    "{“title”: “Fix the queue”, “steps”: [“read”, “write”], “count”: 2, “done”: false, “note”: null}",
  ],
  ["with bare keys", '{title: "Fix the queue", steps: ["read", "write"], count: 2, done: false, note: null}'],
  [
    "with comments",
    '{\n  // what it is called\n  "title": "Fix the queue", /* two */ "steps": ["read", "write"],\n  "count": 2, "done": false, "note": null }',
  ],
  [
    "with equals signs",
    '{"title" = "Fix the queue", "steps" => ["read", "write"], "count" = 2, "done" = false, "note" = null}',
  ],
  ["without its last bracket", json.slice(0, -1)],
  [
    "with a list that is never closed",
    '{"title": "Fix the queue", "count": 2, "done": false, "note": null, "steps": ["read", "write"}',
  ],
];

describe("answerJson", () => {
  it.each(SAME)("MEM-7 reads an object %s", (_, answer) => {
    expect(answerJson(answer, "object")?.value).toEqual(value);
  });

  it("MEM-7 keeps quotes and line breaks that a model forgot to escape", () => {
    const read = answerJson(
      '{"said": "he called it "done" and left", "next": ["run "npm test" again", "ship"]}',
    );
    expect(read?.value).toEqual({
      said: 'he called it "done" and left',
      next: ['run "npm test" again', "ship"],
    });
    expect(answerJson('{"said": "one\ntwo"}')?.value).toEqual({ said: "one\ntwo" });
  });

  it("MEM-7 leaves out what was cut off in the middle, rather than keep half a statement", () => {
    const read = answerJson('{"rules": ["never deploy on Friday", "never delete the prod');
    expect(read).toEqual({ value: { rules: ["never deploy on Friday"] }, repaired: true });
    expect(answerJson('{"title": "a", "state": "half a sen')?.value).toEqual({ title: "a" });
    expect(answerJson('{"title": "a", "count": tr')?.value).toEqual({ title: "a" });
  });

  it("MEM-7 takes a list out of an object where a list is asked for", () => {
    expect(answerJson('{"items": [1, 2]}', "list")?.value).toEqual([1, 2]);
    expect(answerJson("I found two, [1, 2], and {nothing} else", "list")?.value).toEqual([1, 2]);
  });

  it.each(["", "no JSON at all", "{}[]", "42", '"text"', "null"])("finds none in %j", (answer) => {
    const read = answerJson(answer);
    expect(read === undefined || Object.keys(read.value as object).length === 0).toBe(true);
  });

  it("keys that name a prototype are keys", () => {
    const read = answerJson("{__proto__: {polluted: true}, 'a': 1}");
    expect(Object.hasOwn(read?.value as object, "__proto__")).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("whatever is strict JSON reads as itself, whatever stands around it", () => {
    const object = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1 });
    fc.assert(
      fc.property(object, (given) => {
        const text = JSON.stringify(given);
        const expected: unknown = JSON.parse(text);
        expect(answerJson(text)?.value).toEqual(expected);
        expect(answerJson(`\`\`\`json\n${text}\n\`\`\``)?.value).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it("any text ends, and gives strict JSON or nothing", () => {
    const pieces = fc.array(fc.constantFrom(..."{}[]\",:\\'`\n /#*=a1“”…-", "true", "```", "//", "\\u00"), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(pieces, (parts) => {
        const read = answerJson(parts.join(""));
        if (read !== undefined) expect(typeof JSON.parse(JSON.stringify(read.value))).toBe("object");
      }),
      { numRuns: 2000 },
    );
  });

  it("long hostile answers end soon", () => {
    for (const text of [
      '{"a":"'.repeat(30_000),
      "[".repeat(200_000),
      '"{'.repeat(100_000),
      '{"a": "x" '.repeat(20_000),
      `{${"/* ".repeat(100_000)}`,
    ]) {
      const started = process.cpuUsage();
      answerJson(text);
      expect(process.cpuUsage(started).user / 1000).toBeLessThan(2_000);
    }
  });
});
