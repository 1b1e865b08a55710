import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPatternSearch } from "./custom-patterns.ts";
import { createBlockRedactor, withoutSplitSecrets } from "./private-keys.ts";
import { createRedactor, redact, WITHHELD } from "./redactor.ts";
import { ALPHABETS, checksumOf, tokenFormats } from "./tokens.ts";

const R = "<REDACTED>";
const LONG = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fR".repeat(200);

/** Characters spread over the whole alphabet. */
function drawn(alphabet: string, length: number): string {
  const set = new RegExp(`[${ALPHABETS[alphabet]}]`);
  const characters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((one) =>
    set.test(one),
  );
  return Array.from({ length }, (_, index) => characters[(index * 7 + 3) % characters.length]).join("");
}

function example(shape: string): string {
  return shape.replace(/\{(\w+):(\d+)[-\d]*\}/g, (_, alphabet: string, least: string) =>
    drawn(alphabet, Math.max(Number(least), 1)),
  );
}

describe("token formats", () => {
  it.each(tokenFormats().map(({ issuer, shape }) => [issuer, shape]))(
    "RED-2 finds a token of %s: %s",
    (_, shape) => {
      expect(redact(`see ${example(shape)}, please`)).toBe(`see ${R}, please`);
    },
  );

  it("RED-2 knows a token by its checksum where nothing parts it from the text before", () => {
    const entropy = drawn("base62", 30);
    const token = `ghp_${entropy}${checksumOf(entropy)}`;
    expect(redact(`abc${token} x`)).toBe(`abc${R} x`);
    const other = `ghp_${entropy}${"0".repeat(6)}`;
    expect(redact(`abc${other} x`)).toBe(`abc${other} x`);
    expect(checksumOf("")).toBe("000000");
  });

  it("RED-2 leaves stand-ins of one repeated character", () => {
    for (const text of [`ghp_${"x".repeat(36)}`, `AKIA${"X".repeat(16)}`]) expect(redact(text)).toBe(text);
  });
});

describe("structure", () => {
  it("RED-2 keeps JSON as it was but for the secrets, numbers and spaces to the character", () => {
    const text =
      '{ "id": 12345678901234567890, "x": 1.0,\n\t"password" : "a\\"b1\\u0063d", "n": {"pin": 1} }';
    expect(redact(text)).toBe(text.replace('a\\"b1\\u0063d', R));
    expect(redact('{"password": 12345678}')).toBe(`{"password": "${R}"}`);
    expect(redact('[{"name":"DB_PASSWORD","value":"hunter2"}]')).toBe(
      `[{"name":"DB_PASSWORD","value":"${R}"}]`,
    );
    expect(redact('{"argv":["x","--password","hunter2"]}')).toBe(`{"argv":["x","--password","${R}"]}`);
    expect(redact('{"name":"x","value":"kept"}')).toBe('{"name":"x","value":"kept"}');
  });

  it("RED-2 takes a value whose name stands behind it, and the private parts of a web key", () => {
    expect(redact('[{"value":"hunter2","name":"DB_PASSWORD"},{"value":"kept","name":"x"}]')).toBe(
      `[{"value":"${R}","name":"DB_PASSWORD"},{"value":"kept","name":"x"}]`,
    );
    const { redactValue } = createRedactor();
    for (const key of [
      { kty: "OKP", crv: "Ed25519", d: "abcdefgh", x: "public-x" },
      { d: "abcdefgh", n: "public-n", kty: "RSA", q: "ijklmnop" },
      { keys: [{ k: "abcdefgh", kty: "oct" }], d: "kept" },
    ]) {
      const shown = redact(JSON.stringify(key));
      expect(shown).not.toMatch(/abcdefgh|ijklmnop/);
      expect(JSON.parse(shown)).toEqual(redactValue(key));
      expect(redact(shown)).toBe(shown);
    }
    expect(redact('{"bcrypt_hash":"x","length":8,"result":"abcdefgh"}')).toBe(
      `{"bcrypt_hash":"x","length":8,"result":"${R}"}`,
    );
    expect(redact('{"d":"abcdefgh","k":{"kty":"oct"}}')).toBe('{"d":"abcdefgh","k":{"kty":"oct"}}');
  });

  it("RED-2 reads JSON inside JSON strings and JSON lines", () => {
    const inner = JSON.stringify({ token: "abc123def", note: "kept" });
    const text = JSON.stringify({ arguments: JSON.stringify({ inner }) });
    const shown = JSON.parse(redact(text)) as { arguments: string };
    const nested = JSON.parse(shown.arguments) as { inner: string };
    expect(JSON.parse(nested.inner)).toEqual({ token: R, note: "kept" });
    expect(redact('log\n{"password":"x y1"}\n{"a":1}\nend')).toBe(`log\n{"password":"${R}"}\n{"a":1}\nend`);
  });

  it("RED-2 gives JSON back where it was given JSON", () => {
    const words = fc.constantFrom(
      "password",
      "token",
      "hunter2!",
      'a"b',
      "\\",
      "Bearer abc123def456",
      "api_key=k1234567",
      "x",
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        words,
        fc.integer(),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(words, tie("node"), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), (list) => {
        const shown = redact(JSON.stringify(list));
        expect(() => JSON.parse(shown)).not.toThrow();
        expect(redact(shown)).toBe(shown);
      }),
      { numRuns: 200, seed: 3 },
    );
  });

  it.each([
    ["machine h login u password hunter2", `machine h login u password ${R}`],
    ["db.host:5432:app:me:hunter2", `db.host:5432:app:me:${R}`],
    ["kind: Secret\ndata:\n  url: aGVsbG8gd29ybGQ=\nother: x", `kind: Secret\ndata:\n  url: ${R}\nother: x`],
    ["app:s3cretpw@tcp(db:3306)/x", `app:${R}@tcp(db:3306)/x`],
    ["mysql -u root -ps3cretpw app", `mysql -u root -p${R} app`],
    ["sshpass -p 's3cretpw' ssh x", `sshpass -p '${R}' ssh x`],
    ["- name: DB_PASSWORD\n  value: s3cretpw", `- name: DB_PASSWORD\n  value: ${R}`],
    ["the admin password is Tr0ub4dor&3.", `the admin password is ${R}.`],
    [`datadog = '${drawn("hex", 32)}'`, `datadog = '${R}'`],
  ])("RED-2 takes secrets by place: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it("takes facts about people only when asked", () => {
    const text = "ann@example.org, +49 151 23456789, 4111 1111 1111 1111, DE89 3704 0044 0532 0130 00";
    expect(redact(text)).toBe(text);
    expect(createRedactor({ personal: true }).redactText(text)).toBe(`${R}, ${R}, ${R}, ${R}`);
    const wrong = "4111 1111 1111 1112, DE88 3704 0044 0532 0130 00, 2025-01-02 10:11:12, 1234567";
    expect(createRedactor({ personal: true }).redactText(wrong)).toBe(wrong);
  });

  it("finds a bank account number whatever stands behind it, of countries that have such numbers", () => {
    const personal = createRedactor({ personal: true });
    expect(personal.redactText("NO93 8601 1117 947 BIC DNBANOKK")).toBe(`${R} BIC DNBANOKK`);
    expect(personal.redactText("de89 3704 0044 0532 0130 00")).toBe(R);
    expect(personal.redactText("to no9386011117947, DE89-3704-0044-0532-0130-00")).toBe(`to ${R}, ${R}`);
    expect(personal.redactText("DE88-3704-0044-0532-0130-00")).toBe("DE88-3704-0044-0532-0130-00");
    expect(personal.redactText("order YC8168335585278524")).toBe("order YC8168335585278524");
  });
});

describe("custom patterns", () => {
  it("RED-4 finds what the platform's own engine finds, in linear time", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      "[ab]",
      ".",
      "\\d",
      "\\w",
      "(?:ab|a)",
      "(b|c)",
      "[^a]",
      "\\b",
      "^",
      "$",
    );
    const sign = fc.constantFrom("", "*", "+", "?", "{2}", "{1,2}", "*?", "+?");
    const source = fc
      .array(fc.tuple(atom, sign), { minLength: 1, maxLength: 5 })
      .map((items) =>
        items.map(([one, times]) => (/^(?:\\b|\^|\$)$/.test(one) ? one : one + times)).join(""),
      );
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "1", " ", "\n"), maxLength: 12 });
    fc.assert(
      fc.property(source, fc.constantFrom("", "i", "m", "s"), text, (pattern, flags, searched) => {
        const found = createPatternSearch(pattern, flags)(searched, 0);
        const expected = new RegExp(pattern, flags).exec(searched);
        expect(found).toEqual(
          expected === null ? undefined : { start: expected.index, end: expected.index + expected[0].length },
        );
      }),
      { numRuns: 1500, seed: 11 },
    );
  });

  it("RED-3 refuses groups that set flags, and takes thousands of words", () => {
    expect(() => createPatternSearch("(?i:otter)", "")).toThrowError(/sets flags/);
    const words = Array.from({ length: 6000 }, (_, index) => `mill${index}`).join("|");
    expect(createPatternSearch(words, "")("see mill5999", 0)).toEqual({ start: 4, end: 9 });
  });

  it("RED-3 reads characters outside the first plane as the pattern's flags say", () => {
    const text = fc.string({ unit: fc.constantFrom("🔑", "🗝", "\ud83d", "\udd11", "a", "b"), maxLength: 8 });
    const source = fc.constantFrom(
      "[🔑🗝]a*",
      ".a",
      "\\p{Emoji_Presentation}+b?",
      "🔑{2}",
      "[^a]b",
      "a*",
      "(?:🗝|b)+",
    );
    fc.assert(
      fc.property(
        source,
        fc.constantFrom("u", "iu", "v"),
        text,
        fc.nat(8),
        (pattern, flags, searched, from) => {
          const found = createPatternSearch(pattern, flags)(searched, from);
          const engine = new RegExp(pattern, `${flags}g`);
          engine.lastIndex = from > 0 && (searched.codePointAt(from - 1) ?? 0) > 0xffff ? from + 1 : from;
          const expected = engine.exec(searched);
          expect(found).toEqual(
            expected === null
              ? undefined
              : { start: expected.index, end: expected.index + expected[0].length },
          );
        },
      ),
      { numRuns: 500, seed: 5 },
    );
    expect(createRedactor({ patterns: [/[🔑🗝]\w+/u] }).redactText("x 🗝abc y")).toBe(`x ${R} y`);
  });

  it("RED-3 takes words out that are part of what stands in their place", () => {
    const { redactText } = createRedactor({ patterns: ["RED", "ACTED>", "E"] });
    const shown = redactText("project RED, ENACTED> and password=hunter2");
    expect(shown).toBe(`project ${R}, ${R}NACTED> and password=${R}`.replace("NACTED>", `N${R}`));
    expect(redactText(shown)).toBe(shown);
  });

  it("RED-4 takes its time from the text's length, with patterns that make others wait for ever", () => {
    const { redactText } = createRedactor({ patterns: ["(?:a|aa)+$", "a*a*a*a*b", "(?:a|a|b)*c"] });
    const started = process.cpuUsage();
    expect(redactText(`${"a".repeat(20_000)}!`)).toBe(`${"a".repeat(20_000)}!`);
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(4000);
  });

  it("RED-4 refuses what cannot be matched in linear time, with a hint", () => {
    const counted = ["(?:a{999}){999}", "[a-z]{20,10000}", "a{12345}", "(?:){99999999999}"];
    for (const pattern of ["(?=a)b", "(?<!a)b", "(a)\\1", ...counted]) {
      expect(() => createRedactor({ patterns: [pattern] })).toThrowError(
        expect.objectContaining({ code: "InvalidConfig", message: expect.stringContaining("linear time") }),
      );
    }
  });
});

describe("parts and blocks", () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${LONG.slice(0, 64)}\n${LONG.slice(7, 71)}\n${LONG.slice(9, 40)}\n-----END PRIVATE KEY-----\n`;

  it("RED-1 keeps keys whole in blocks, and the text but for them", () => {
    const line = "an ordinary line of a log without anything in it\n";
    const text = line.repeat(5000) + key + line.repeat(8000) + key;
    const blocks = createBlockRedactor(redact);
    let shown = "";
    for (let at = 0; at < text.length; at += 65_537) shown += blocks.push(text.slice(at, at + 65_537));
    shown += blocks.end();
    expect(shown).toBe(redact(text));
    expect(shown).not.toContain(LONG.slice(0, 16));
  });

  it("attack 28: a secret split over two text blocks is taken out of both", () => {
    const { redactValue } = createRedactor();
    const token = `ghp_${LONG.slice(0, 36)}`;
    const parts = (text: string, at: number) => [
      { type: "text", text: text.slice(0, at) },
      { type: "text", text: text.slice(at) },
    ];
    for (const at of [2, 5, 12, 30, 38]) {
      const shown = JSON.stringify(redactValue({ parts: parts(`use ${token} now`, at + 4) }));
      for (let from = 4; from + 8 <= token.length; from++)
        expect(shown).not.toContain(token.slice(from, from + 8));
    }
    for (const at of [60, 80, 120]) {
      const shown = JSON.stringify(redactValue({ parts: parts(key, at) }));
      for (const line of key.split("\n").slice(1, 4)) expect(shown).not.toContain(line.slice(0, 8));
      for (const line of key.split("\n").slice(1, 4)) expect(shown).not.toContain(line.slice(-8));
    }
  });
});

it("looks at neighbouring texts without copying the rest of the list", () => {
  let copied = 0;
  class Texts extends Array<string> {
    override slice(start?: number, end?: number): string[] {
      const slice = super.slice(start, end);
      copied += slice.length;
      return slice;
    }
  }
  const texts = Texts.from({ length: 100 }, (_, index) => `text${index}`);
  expect(withoutSplitSecrets(texts, () => [])).toBe(texts);
  expect(copied).toBe(0);
});

describe("attacks", () => {
  it("attack 28: a secret whose name ends one text block begins the next", () => {
    const { redactValue } = createRedactor();
    expect(redactValue(["set password=", "Xk29vQ81mZpT4nLw and more"])).toEqual([
      "set password=",
      `${R} and more`,
    ]);
  });

  it("attack 28: the rest of a key's line is taken from the next text block, a word that may be prose is not", () => {
    const { redactValue } = createRedactor();
    const begun = "see -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
    const next = (text: string): unknown => (redactValue([begun, text]) as unknown[])[1];
    expect(next("BKcwggSjAgEAAoIB and more")).toBe(`${R} and more`);
    expect(next("and more, as told.")).toBe("and more, as told.");
  });

  it("attack 27: RED-4 text of 1 MB made to stall is redacted in time", () => {
    for (const piece of ["eyJaaaaaaaaa."]) {
      const text = `password=hunter2\n${piece.repeat(1_000_000 / piece.length)}`;
      const started = process.cpuUsage();
      expect(redact(text)).not.toContain("hunter2");
      expect(process.cpuUsage(started).user / 1000).toBeLessThan(6100);
    }
  });

  it("attack 27: a text whose time is over is withheld as a whole", () => {
    let time = 0;
    const { redactText, redactValue } = createRedactor({ deadline: 10, clock: () => (time += 50) });
    expect(redactText("password=hunter2 and more")).toBe(WITHHELD);
    expect(redactValue({ a: "token=abc123" })).toEqual({ a: WITHHELD });
  });

  it("attack 29: secrets in field names, addresses, error stacks and file names", () => {
    const token = `ghp_${LONG.slice(0, 36)}`;
    const { redactValue } = createRedactor();
    const value = {
      [token]: 1,
      url: `https://api.test/?access_token=${token}`,
      stack: `Error: refused\n    at load (/tmp/${token}/x.ts:1:2)`,
      file: `dump-${token}.log`,
    };
    expect(JSON.stringify(redactValue(value))).not.toContain(LONG.slice(0, 8));
  });

  it("attack 30: escaped field names are read; what is encoded as a whole is listed as not caught", () => {
    expect(redact('{"\\u0070assword":"hunter2"}')).toBe(`{"\\u0070assword":"${R}"}`);
    const encoded = btoa("password=hunter2");
    expect(redact(`x ${encoded}`)).toBe(`x ${encoded}`);
  });

  it("attack 31: replacement patterns in the text mean nothing, redacted text stays", () => {
    expect(redact("a $& $1 $` password=s3cret$1x")).toBe(`a $& $1 $\` password=${R}`);
    expect(redact(`password=${R} $1`)).toBe(`password=${R} $1`);
  });

  it("attack 32: a search that fails withholds the text", () => {
    const failing = createRedactor({
      onFinding: () => {
        throw new Error("broken");
      },
    });
    expect(failing.redactText("password=hunter2")).toBe(WITHHELD);
  });
});
