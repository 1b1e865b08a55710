import { existsSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { TriggerReason } from "../../packages/compact-context/src/core/policy.ts";
import type { CompactEventName } from "../../packages/compact-context/src/core/report.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createJsonlExporter } from "../../packages/compact-context/src/tracing/exporters/http-post.ts";
import { METRICS } from "../../packages/compact-context/src/tracing/exporters/metrics.ts";
import { eventsSection, fill, metricsTable } from "../../scripts/events-page.mjs";
import { eventSchema, reasons } from "../../scripts/events-schema.mjs";

const root = new URL("../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

describe("OBSERVABILITY.md", () => {
  let page: string;
  beforeAll(() => {
    page = read("OBSERVABILITY.md");
  });

  it("DOC-3 has every event with its schema and an example of a real run, as fresh as the code", async () => {
    const session: unknown = JSON.parse(read("packages/compact-context-cli/demo/session.json"));
    const section = await eventsSection({ createJsonlExporter, CompactManager, createMemoryDriver }, session);
    for (const name of Object.keys(eventSchema)) expect(section).toContain(`### \`${name}\``);
    expect(fill(page, "events", section) === page, "npm run docs").toBe(true);
    expect(fill(page, "metrics", metricsTable(METRICS)) === page, "npm run docs").toBe(true);
  });

  it("DOC-3 says how to set up Ariadne and OTLP", () => {
    expect(page).toMatch(/^## Ariadne$[\s\S]*COMPACT_TRACING_ARIADNE=[\s\S]*^## OpenTelemetry$/m);
    expect(page).toMatch(
      /^## OpenTelemetry$[\s\S]*COMPACT_TRACING_OPENTELEMETRY=true[\s\S]*receivers:\n {2}otlp:/m,
    );
  });

  const timeline = "docs/pictures/view-timeline-light.png";
  it.skipIf(!existsSync(new URL(timeline, root)))(
    "DOC-3 shows a timeline, and no picture that is not there",
    () => {
      const pictures = [...page.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
      expect(pictures).toContain(timeline);
      for (const target of pictures)
        expect([target, existsSync(new URL(target, root))]).toEqual([target, true]);
    },
  );
});

describe("the schema of events", () => {
  it("describes every event, and no other", () => {
    const known: Record<CompactEventName, true> = {
      "compact.token_estimate": true,
      "compact.trigger_decision": true,
      "compact.archival": true,
      "compact.summary_created": true,
      "compact.pruned_messages": true,
      "compact.undone": true,
      "compact.error": true,
      "compact.warning": true,
    };
    expect(Object.keys(eventSchema).sort()).toEqual(Object.keys(known).sort());
  });

  it("names every reason of the policy, and no other", () => {
    const known: Record<TriggerReason, true> = {
      below_trigger: true,
      trigger_pct: true,
      max_tokens: true,
      max_tokens_before_summary: true,
      max_messages: true,
      requested: true,
      undone: true,
      hard_cap: true,
      manual: true,
      max_bytes: true,
      max_images: true,
      cold_cache: true,
      tool_output: true,
      just_compacted: true,
      nothing_eligible: true,
      in_background: true,
      fixed_over_trigger: true,
      attempts_failed: true,
    };
    expect(Object.keys(reasons).sort()).toEqual(Object.keys(known).sort());
  });
});
