import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Fixture, fixture } from "./fixture.ts";
import { canDrive, openProfile, type Profile, START_MS } from "./profile.ts";
import { openStage, type Stage } from "./stage.ts";
import type { Tab } from "./tab.ts";

let profile: Profile | undefined;
const medium = fixture({ id: "medium", title: "A piece of work", messages: 240 });
const large = fixture({ id: "large", title: "Two thousand messages", messages: 2000 });

const ODD = [
  `<img src=x onerror="document.title='broken into'"></script><svg onload=alert(1)>`,
  "x".repeat(1_000_000),
  "مرحبا بالعالم — english داخل",
  "日本語のメッセージです。",
  "lone \ud800 surrogate \udc00",
  "\u001b[31m red \u0007 \u0000 \u202e turned",
  "[x](http://evil.example/a) ![b](http://evil.example/b.png) javascript:alert(1)",
];
const odd = fixture({
  id: "odd/../%2e",
  title: "\u202e<b>odd</b> \ud800",
  messages: 160,
  text: (index) => ODD[index % ODD.length],
});

const opened: { stage: Stage; tab: Tab; problems: string[] }[] = [];

/** A page with these sessions behind it; what went wrong in it is collected. */
async function open(
  sessions: readonly Fixture[],
  { hash = "" } = {},
): Promise<{ stage: Stage; tab: Tab; problems: string[] }> {
  const stage = await openStage(sessions);
  const tab = (await profile?.newPage()) as unknown as Tab;
  await tab.setViewportSize({ width: 1280, height: 800 });
  await tab.emulateMedia({ reducedMotion: "reduce" });
  const problems: string[] = [];
  tab.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  tab.on("pageerror", (error) => problems.push(error.message));
  tab.on("request", (request) => {
    if (!request.url().startsWith(stage.url)) problems.push(`asked for ${request.url()}`);
  });
  await tab.goto(`${stage.url}${hash}`);
  const kept = { stage, tab, problems };
  opened.push(kept);
  return kept;
}

const rows = (tab: Tab): Promise<string[]> =>
  tab.evaluate(
    "[...document.querySelectorAll('.panel:not([hidden]) .row')].sort((a, b) => a.dataset.index - b.dataset.index).map((row) => row.textContent)",
  );
const active = (tab: Tab): Promise<string> =>
  tab.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent");
/** Waits until a script says true; the page's own policy forbids Playwright's way of waiting. */
async function until(tab: Tab, script: string): Promise<void> {
  await expect.poll(() => tab.evaluate(script), { interval: 20 }).toBe(true);
}

const ready = (tab: Tab): Promise<unknown> => tab.waitForSelector(".panel:not([hidden]) .row");

describe.skipIf(!canDrive)("the page", () => {
  beforeAll(async () => {
    profile = await openProfile();
  }, START_MS);
  afterEach(async () => {
    for (const { stage, tab } of opened.splice(0)) {
      await tab.close();
      await stage.close();
    }
  });
  afterAll(() => profile?.close());

  it("draws the window over the session with each compaction, and asks for nothing elsewhere", async () => {
    const { tab, problems } = await open([medium]);
    await ready(tab);
    const coloured = await tab.evaluate<number>(
      "{ const { width, height } = document.querySelector('.plot canvas'); new Set(new Uint32Array(document.querySelector('.plot canvas').getContext('2d').getImageData(0, 0, width, height).data.buffer)).size }",
    );
    expect(coloured).toBeGreaterThan(medium.view.layers.length);
    expect(await tab.locator(".flag").count()).toBe(medium.compactions.length);
    expect(await tab.textContent(".readout .total strong")).toBe(
      medium.view.steps.at(-1)?.total.toLocaleString("en"),
    );
    expect(problems).toEqual([]);
  });

  it("numbers a compaction before the last call as any other", async () => {
    const { view, ...whole } = medium;
    const last = view.compactions.at(-1)?.step ?? 0;
    const steps = view.steps.slice(0, last + 1);
    const counts = { ...view.counts, steps: steps.length };
    const { tab } = await open([
      { ...whole, head: { ...whole.head, counts }, view: { ...view, counts, steps } },
    ]);
    await ready(tab);
    const numbers = await tab.evaluate(
      "[...document.querySelectorAll('.flag .number')].map((one) => one.textContent)",
    );
    expect(numbers).toEqual(view.compactions.map(({ index }) => String(index + 1)));
  });

  it("shows what the window held at each call, as compactions left it", async () => {
    const { tab } = await open([medium], { hash: "#tab=window&call=5" });
    await ready(tab);
    expect((await rows(tab)).length).toBe(medium.view.steps[4]?.messages);
    const first = medium.compactions[0];
    await tab.evaluate(
      `{ const slider = document.querySelector('.scrubber input'); slider.value = ${first?.step}; slider.dispatchEvent(new Event('input')); }`,
    );
    await until(tab, "document.querySelector('.row.is-summary') !== null");
    const left = first?.messages.filter(({ outcome }) => outcome !== "summarized").length ?? 0;
    expect(await tab.textContent(".panel:not([hidden]) .caption")).toContain(
      `: the summary and ${left} of ${medium.view.steps[first?.step ?? 0]?.messages} messages, as left`,
    );
    expect((await rows(tab))[0]).toContain("summary");
  });

  it("stays where it is when the link to the details is followed", async () => {
    const { tab, problems } = await open([medium], { hash: "#tab=window" });
    await ready(tab);
    await tab.evaluate("{ window.opened = true; document.querySelector('.skip').click(); }");
    await until(tab, "document.activeElement?.id === 'panels'");
    expect(await tab.evaluate("window.opened")).toBe(true);
    expect(problems).toEqual([]);
  });

  it("follows an address that is changed by hand", async () => {
    const { tab, problems } = await open([medium], { hash: "#tab=window" });
    await ready(tab);
    await tab.evaluate("{ location.hash = '#session=medium&tab=archive'; }");
    await until(
      tab,
      "document.querySelector('[role=tab][aria-selected=true]')?.textContent.startsWith('Archive') === true",
    );
    expect(problems).toEqual([]);
  });

  it("opens a compaction from its cliff: outcomes with costs, and each line of the summary leads to its sources", async () => {
    const { tab } = await open([medium], { hash: "#tab=window" });
    await ready(tab);
    await tab.click(".flag:nth-child(2)");
    await tab.waitForSelector(".summary .line");
    const compaction = medium.compactions[1];
    expect(await tab.textContent(".fall-line h3")).toBe(`Compaction 2 of ${medium.compactions.length}`);
    const filters = await tab.evaluate<string[]>(
      "[...document.querySelectorAll('.filter')].map((each) => each.getAttribute('aria-label'))",
    );
    expect(filters.map((each) => each.split(":")[0])).toEqual(["kept", "cleared", "cut", "summarized"]);
    const source = compaction?.summary[3]?.sources[0]?.message ?? -1;
    await tab.click(".summary .line:nth-child(4)");
    const marked = await tab.evaluate<string>(
      "{ const row = document.querySelector('.row.source[aria-selected=true]'); const box = row.getBoundingClientRect(); const list = row.closest('.list').getBoundingClientRect(); box.top >= list.top && box.bottom <= list.bottom ? row.querySelector('.number').textContent : 'out of sight' }",
    );
    expect(marked).toBe(String(source + 1));
    // And back: the message leads to its lines.
    await tab.click(".row.source");
    expect(await tab.textContent(".line.from")).toBe(compaction?.summary[3]?.text.trim());
    // Hidden outcomes come back when a line leads to one of them.
    await tab.click(".filter.outcome-summarized");
    await tab.click(".summary .line:nth-child(3)");
    expect(await tab.evaluate("document.querySelector('.filter.outcome-summarized').ariaPressed")).toBe(
      "true",
    );
  });

  it("is used with keys alone, and the focus is always seen", async () => {
    const { tab } = await open([medium, large], { hash: "#session=medium&tab=window" });
    await ready(tab);
    const seen: string[] = [];
    const unseen: string[] = [];
    for (let press = 0; press < 18; press += 1) {
      await tab.keyboard.press("Tab");
      seen.push(await active(tab));
      const outline = await tab.evaluate<string>("getComputedStyle(document.activeElement).outlineStyle");
      const page = await tab.evaluate<boolean>("document.activeElement === document.body");
      if (outline === "none" && !page) unseen.push(seen.at(-1) ?? "");
    }
    expect(unseen).toEqual([]);
    for (const part of [
      "Skip to the details",
      "Keys and terms",
      "As a table",
      "Play the session",
      "Model call",
      "Messages in the window",
    ]) {
      expect(seen).toContain(part);
    }
    expect(seen.filter((each) => each.startsWith("Compaction"))).toHaveLength(1);

    await tab.focus(".scrubber input");
    await tab.keyboard.press("Home");
    await tab.keyboard.press("ArrowRight");
    await until(tab, "document.querySelector('.readout .call').textContent === 'Call 2 of 120'");
    await tab.keyboard.press("]");
    await tab.waitForSelector(".summary .line");
    expect(await tab.textContent(".fall-line h3")).toContain("Compaction 1");
    await tab.keyboard.press("/");
    await until(tab, "document.activeElement.id === 'search'");
    await tab.keyboard.type("Message 77");
    await until(tab, "document.querySelectorAll('.row.hit').length === 1");
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("dialog[open] pre");
    expect(await tab.textContent("dialog[open] pre")).toBe(medium.texts[76]);
    await tab.keyboard.press("Escape");
    expect(await tab.evaluate("document.querySelector('dialog[open]')")).toBe(null);
    expect(await active(tab)).toBe("Found messages");
  });

  it("tells a screen reader what there is", async () => {
    const { tab } = await open([medium], { hash: "#tab=compaction" });
    await tab.waitForSelector(".summary .line");
    const tree = await tab.locator("body").ariaSnapshot();
    for (const part of [
      "complementary",
      "navigation",
      "main",
      "tablist",
      "tabpanel",
      "listbox",
      'slider "Model call"',
      'heading "The context window over the session"',
    ]) {
      expect(tree).toContain(part);
    }
    const nameless = await tab.evaluate<string[]>(
      "[...document.querySelectorAll('button, input, [role=listbox], [role=region], [role=group]')].filter((each) => !each.closest('[hidden]') && !(each.getAttribute('aria-label') || each.textContent.trim() || each.getAttribute('aria-labelledby') || each.labels?.length)).map((each) => each.outerHTML)",
    );
    expect(nameless).toEqual([]);
    await tab.click(".flag:nth-child(3)");
    await until(tab, "document.querySelector('#announcer').textContent.startsWith('Compaction 3')");
    await tab.click(".scrubber button:last-child");
    const cells = await tab.evaluate<string[]>(
      "[...document.querySelectorAll('#table tbody tr:first-child > *')].map((each) => each.textContent)",
    );
    const [step] = medium.view.steps;
    expect(cells.slice(2, -1).map((each) => Number(each.replaceAll(",", "")))).toEqual([
      ...(step?.tokens ?? []),
      step?.total,
    ]);
  });

  it("shows everything from outside as text (attack 45, 47)", async () => {
    const { tab, problems } = await open([odd], { hash: "#tab=window&call=8" });
    await ready(tab);
    expect((await rows(tab)).join("\n")).toContain("<img src=x onerror=");
    expect((await rows(tab)).join("\n")).toContain("\\x1b[31m red \\x07 \\x00 \\u202e turned");
    expect((await rows(tab)).join("\n")).toContain("lone \\ud800 surrogate");
    expect(
      await tab.evaluate(
        "document.querySelectorAll('#session img, #session a, #session script, .panel svg').length",
      ),
    ).toBe(0);
    await tab.dblclick(".row[data-index='1']");
    await tab.waitForSelector("dialog[open] pre");
    await tab.click("dialog[open] .more");
    await until(tab, "document.querySelectorAll('dialog[open] pre').length === 2");
    expect(
      await tab.evaluate(
        "document.querySelector('dialog[open] .whole').scrollWidth <= document.querySelector('dialog[open] .whole').clientWidth",
      ),
    ).toBe(true);
    expect(await tab.evaluate("document.title")).toContain("odd");
    expect(problems).toEqual([]);
  });

  it("nothing is wider than a window of 1280, 800 and 400 px", async () => {
    const { tab } = await open([odd], { hash: "#tab=compaction" });
    await tab.waitForSelector(".summary .line");
    for (const width of [1280, 800, 400]) {
      await tab.setViewportSize({ width, height: 800 });
      for (const name of ["window", "compaction", "timeline", "archive"]) {
        await tab.click(`#tab-${name}`);
        const wide = await tab.evaluate("document.documentElement.scrollWidth");
        expect(wide, `${name} at ${width} px`).toBeLessThanOrEqual(width);
      }
    }
  });

  it("grows while it is open: who looks at the end stays there, and hears of a compaction", async () => {
    const before = fixture({ id: "grows", messages: 36, live: true });
    const after = fixture({ id: "grows", messages: 60, live: true });
    const { stage, tab } = await open([before]);
    await ready(tab);
    expect(await tab.locator(".flag").count()).toBe(0);
    stage.sessions = [after];
    stage.notify({ type: "session", session: after.head });
    await tab.waitForSelector(".flag");
    expect(await tab.textContent(".readout .call")).toBe(
      `Call ${after.view.steps.length} of ${after.view.steps.length}`,
    );
    expect(await tab.textContent("#announcer")).toContain("Compaction 1");
    stage.notify({ type: "session", session: { ...medium.head, id: "another", title: "Another one" } });
    await until(tab, "document.querySelectorAll('#sessions button').length === 2");
  });

  it("says what fills the window by tool, file and role, and shows the messages of one of them alone", async () => {
    const { tab } = await open([medium], { hash: "#tab=window&call=5" });
    await ready(tab);
    const shares = (): Promise<string[]> =>
      tab.evaluate("[...document.querySelectorAll('.share-name')].map((each) => each.textContent)");
    expect(await shares()).toContain("read_file");
    const sum = medium.messages
      .slice(0, medium.view.steps[4]?.messages)
      .filter((each) => each.tool === "read_file")
      .reduce((total, { tokens }) => total + tokens, 0);
    expect(
      await tab.evaluate(
        "[...document.querySelectorAll('button.share')].find((each) => each.textContent.includes('read_file')).querySelector('.tokens').textContent",
      ),
    ).toBe(sum.toLocaleString("en"));
    await tab.click(".switch button:nth-child(2)");
    expect(await shares()).toContain("src/file-3.ts");
    await tab.click(".switch button:nth-child(3)");
    await tab.click("button.share:has-text('user')");
    await until(tab, "document.querySelectorAll('.row').length === 1");
    expect((await rows(tab))[0]).toContain("Message 1");
    await tab.click(".filter");
    await tab.click(".panel .check input");
    const sizes = (
      await tab.evaluate<string[]>(
        "[...document.querySelectorAll('.row .tokens')].map((each) => each.textContent)",
      )
    ).map((each) => Number(each.replaceAll(",", "")));
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
  });

  it("shows a part of the session larger, and all of it again", async () => {
    const { tab } = await open([medium], { hash: "#tab=window&call=60" });
    await ready(tab);
    const flags = await tab.locator(".flag").count();
    await tab.keyboard.press("+");
    await tab.keyboard.press("+");
    await until(tab, `document.querySelectorAll('.flag').length < ${flags}`);
    await tab.keyboard.press("0");
    await until(tab, `document.querySelectorAll('.flag').length === ${flags}`);
  });

  it("100,000 calls and 20,000 messages stay usable", async () => {
    const huge = crowded(fixture({ id: "huge", title: "Very long", messages: 20_000 }), 100_000);
    const { tab, problems } = await open([huge], { hash: "#tab=window&call=100000" });
    await ready(tab);
    await until(tab, "document.querySelector('.readout .call').textContent === 'Call 100,000 of 100,000'");
    const figures = {
      scrub: await measure(
        tab,
        `{ const slider = document.querySelector('.scrubber input'); slider.value = 99000 + frame * 10; slider.dispatchEvent(new Event('input')); }`,
      ),
      scroll: await measure(
        tab,
        "document.querySelector('.panel:not([hidden]) .list').scrollTop = frame * 240",
      ),
    };
    console.log(`page, 100,000 calls: ${JSON.stringify(figures)}`);
    expect(await tab.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(4000);
    for (const [name, { median }] of Object.entries(figures)) expect(median, name).toBeLessThan(50);
    expect(problems).toEqual([]);
  });

  it("says so where there is nothing, no compaction, one message, or no server", async () => {
    const none = await open([]);
    await none.tab.waitForSelector("#nothing:not([hidden])");
    expect(await none.tab.textContent("#nothing")).toContain("No session yet");
    const one = await open([fixture({ id: "one", messages: 1 })], { hash: "#tab=compaction" });
    await until(
      one.tab,
      "document.querySelector('.compaction-head')?.textContent.includes('No compaction was needed')",
    );
    await one.tab.click("#tab-window");
    await ready(one.tab);
    expect(await rows(one.tab)).toHaveLength(1);
    expect(one.problems).toEqual([]);
    await one.stage.close();
    await until(one.tab, "document.querySelector('#connection').textContent.includes('does not answer')");
  });

  it("a session of 2,000 messages is scrolled, scrubbed and opened without stutter", async () => {
    const { tab } = await open([large], { hash: "#tab=window" });
    await ready(tab);
    const figures: Record<string, Figures> = {};
    figures.scrub = await measure(
      tab,
      `{ const slider = document.querySelector('.scrubber input'); slider.value = Math.round(frame * 1000 / frames); slider.dispatchEvent(new Event('input')); }`,
    );
    await tab.click("#tab-timeline");
    await tab.click(".panel:not([hidden]) .check:nth-child(3) input");
    figures.scroll = await measure(
      tab,
      "document.querySelector('.panel:not([hidden]) .list').scrollTop = frame * 240",
    );
    await tab.click("#tab-compaction");
    await tab.waitForSelector(".summary .line");
    figures.compactions = await measure(
      tab,
      "if (frame % 6 === 0) document.querySelector('.turn[aria-label=\"Next compaction\"]').click()",
    );
    console.log(`page, 2,000 messages: ${JSON.stringify(figures)}`);
    const nodes = await tab.evaluate<number>("document.querySelectorAll('*').length");
    expect(nodes).toBeLessThan(2500);
    for (const [name, { median }] of Object.entries(figures)) expect(median, name).toBeLessThan(50);
  });
});

/** The session with its last call repeated up to so many calls. */
function crowded(made: Fixture, calls: number): Fixture {
  const last = made.view.steps.at(-1);
  const more = Array.from({ length: calls - made.view.steps.length }, (_, place) => ({
    index: made.view.steps.length + place,
    messages: last?.messages ?? 0,
    tokens: (last?.tokens ?? []).map((each) => each + (place % 900)),
    total: (last?.total ?? 0) + (place % 900) * (last?.tokens.length ?? 0),
  }));
  const steps = [...made.view.steps, ...more];
  const counts = { ...made.head.counts, steps: steps.length };
  return { ...made, head: { ...made.head, counts }, view: { ...made.view, counts, steps } };
}

interface Figures {
  /** Milliseconds from frame to frame. */
  readonly median: number;
  readonly p95: number;
  readonly worst: number;
  /** Tasks of 50 ms and more, by the browser's own count. */
  readonly longTasks: number;
}

/** Runs a script in each of 90 frames and measures them. */
function measure(tab: Tab, script: string): Promise<Figures> {
  return tab.evaluate<Figures>(`(async () => {
    const frames = 90;
    const times = [];
    let longTasks = 0;
    const observer = new PerformanceObserver((list) => { longTasks += list.getEntries().length; });
    observer.observe({ type: "longtask" });
    let last = performance.now();
    for (let frame = 0; frame < frames; frame += 1) {
      ${script};
      await new Promise((done) => requestAnimationFrame(done));
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    observer.disconnect();
    times.sort((one, other) => one - other);
    const at = (share) => Math.round(times[Math.min(frames - 1, Math.floor(frames * share))] * 10) / 10;
    return { median: at(0.5), p95: at(0.95), worst: at(1), longTasks };
  })()`);
}
