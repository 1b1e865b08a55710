// Draws docs/pictures/: the page of `compact view` with the bundled session, as Chromium shows it.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const chromiumPath = process.env.COMPACT_CHROMIUM ?? "/usr/bin/chromium";
const folder = join(root, "docs", "pictures");

const DESKTOP = { width: 1180, height: 740 };
const PHONE = { width: 390, height: 844 };

/** Each picture: its name, where on the page it is taken, how large, and what is done there first. */
const PICTURES = [
  { name: "view-window-light", place: "tab=window&call=47" },
  { name: "view-window-dark", place: "tab=window&call=47", scheme: "dark" },
  { name: "view-window-phone-light", place: "tab=window&call=47", size: PHONE },
  { name: "view-window-phone-dark", place: "tab=window&call=47", size: PHONE, scheme: "dark" },
  { name: "view-compaction-light", place: "tab=compaction", act: chooseLine },
  { name: "view-compaction-dark", place: "tab=compaction", act: chooseLine, scheme: "dark" },
  { name: "view-compaction-phone-light", place: "tab=compaction", size: PHONE },
  { name: "view-timeline-light", place: "tab=timeline", act: chooseSpan },
];

async function chooseLine(page) {
  await page.locator(".summary .line:not(.loose)").first().click();
}

async function chooseSpan(page) {
  await page.locator(".row.span", { hasText: "trigger decision" }).first().click();
}

function driver() {
  try {
    return createRequire(join(root, "test", "browser", "package.json"))("playwright-core").chromium;
  } catch {
    console.error(
      "playwright-core is missing: npm install --prefix test/browser --ignore-scripts --no-package-lock",
    );
    process.exit(1);
  }
}

/** Starts `compact view` and resolves with the link that it prints. */
async function serve() {
  const words = [
    "packages/compact-context-cli/bin/compact.js",
    "view",
    "packages/compact-context-cli/demo/session.json",
    "--window",
    "60000",
  ];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  for await (const piece of child.stdout) {
    printed += piece;
    const link = printed.match(/http:\S+token=\S+/)?.[0];
    if (link !== undefined) return { link, child };
  }
  throw new Error("compact view ended without a link: build first (npm run build)");
}

async function draw(browser, link, { name, place, act, size = DESKTOP, scheme = "light" }, state) {
  const options = {
    viewport: size,
    colorScheme: scheme,
    reducedMotion: "reduce",
    timezoneId: "UTC",
  };
  const context = await browser.newContext({
    ...options,
    ...(state === undefined ? {} : { storageState: state }),
  });
  const page = await context.newPage();
  if (state === undefined) await page.goto(link);
  await page.goto(`${new URL(link).origin}/#${place}`);
  await page.reload();
  await page.locator(".panel:not([hidden]) .row").first().waitFor();
  await act?.(page);
  await page.waitForTimeout(400);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  console.log(`${path.slice(root.length)}  ${Math.round(statSync(path).size / 1000)} kB`);
  const kept = await context.storageState();
  await context.close();
  return kept;
}

if (!existsSync(chromiumPath)) {
  console.error(
    `there is no Chromium at ${chromiumPath}: install one (apt-get install chromium), or name it in COMPACT_CHROMIUM`,
  );
  process.exit(1);
}
const chromium = driver();
mkdirSync(folder, { recursive: true });
const { link, child } = await serve();
const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
try {
  let state;
  for (const picture of PICTURES) state = await draw(browser, link, picture, state);
} finally {
  await browser.close();
  child.kill();
}
