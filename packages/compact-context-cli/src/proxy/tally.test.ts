import { describe, expect, it } from "vitest";
import { createTally, tallyLine, tallyMetrics } from "./tally.ts";

const CALL = { session: "s", model: "claude-sonnet-4-5", compacted: false, bytesGiven: 400, bytesSent: 400 };
/** 3 dollars per million tokens, 0.30 for cache reads, 3.75 for cache writes. */
const usage = (fresh: number, read: number, written: number) => ({
  input_tokens: fresh,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: written,
  output_tokens: 10,
});

describe("the tally of a proxy", () => {
  it("takes the usage of the provider, the last record of a call for all of it", () => {
    const tally = createTally({});
    tally.sent(CALL);
    tally.used("s", { ...usage(0, 0, 100_000), output_tokens: 1 });
    tally.used("s", usage(0, 0, 100_000));
    tally.sent(CALL);
    tally.used("s", usage(0, 100_000, 0));
    expect(tally.totals).toMatchObject({
      requests: 2,
      inputTokens: 200_000,
      cachedTokens: 100_000,
      outputTokens: 20,
      savedTokens: 0,
      savedDollars: 0,
    });
    expect(tally.sessions).toBe(1);
    expect(tallyLine(tally)).toBe("2 requests · 0 compactions · 50.0% from the cache");
  });

  it("says nothing of savings before a compacted call is answered", () => {
    const tally = createTally({});
    tally.sent({ ...CALL, compacted: true, bytesSent: 100 });
    expect(tallyLine(tally)).toBe("1 request · 1 compaction");
    tally.used("s", usage(1000, 0, 0));
    expect(tallyLine(tally)).toContain("1 compaction · 3k tokens saved");
  });

  it("counts no report that cannot be true", () => {
    const tally = createTally({});
    tally.sent(CALL);
    tally.used("s", {
      prompt_tokens: 10,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 1e308 },
    });
    tally.used("s", usage(1e300, 0, 0));
    expect(tally.totals).toMatchObject({ inputTokens: 0, cachedTokens: 0 });
  });

  it("estimates what was not sent by bytes, and its price with a warm cache", () => {
    const tally = createTally({});
    tally.sent(CALL);
    tally.used("s", usage(0, 0, 100_000));
    // 100,000 tokens would have been read from the cache for $0.03; 25,000 are written to it for $0.09375.
    tally.sent({ ...CALL, compacted: true, bytesSent: 100 });
    tally.used("s", usage(0, 0, 25_000));
    expect(tally.totals.savedTokens).toBe(75_000);
    expect(tally.totals.savedDollars).toBeCloseTo(0.03 - 0.093_75, 6);
    expect(tallyLine(tally)).toContain("75k tokens saved (≈ $0.06 more than with all of it cached)");
    // The next calls amortize it: $0.03 against $0.0075.
    for (let call = 0; call < 4; call += 1) {
      tally.sent({ ...CALL, bytesSent: 100 });
      tally.used("s", usage(0, 25_000, 0));
    }
    expect(tally.totals.savedDollars).toBeCloseTo(0.03 - 0.093_75 + 4 * 0.0225, 6);
    expect(tallyLine(tally)).toContain("1 compaction · 375k tokens saved (≈ $0.03)");
  });

  it("saves the same where a call was sent twice", () => {
    const saved = [1, 2].map((times) => {
      const tally = createTally({});
      tally.sent(CALL);
      tally.used("s", usage(0, 0, 100_000));
      for (let time = 0; time < times; time += 1) tally.sent({ ...CALL, compacted: true, bytesSent: 100 });
      tally.used("s", usage(0, 0, 25_000));
      return tally.totals.savedDollars;
    });
    expect(saved[1]).toBe(saved[0]);
  });

  it("says the same to Prometheus", () => {
    const tally = createTally({});
    tally.sent({ ...CALL, compacted: true });
    tally.used("s", usage(25, 75, 0));
    tally.count("unmodified");
    expect(tallyMetrics(tally, true)).toContain(
      "# TYPE compact_proxy_requests_total counter\ncompact_proxy_requests_total 1\n",
    );
    for (const line of ["compactions_total 1", "sent_unmodified_total 1", "cache_share 0.75", "sessions 1"])
      expect(tallyMetrics(tally, true)).toContain(`\ncompact_proxy_${line}\n`);
  });
});
