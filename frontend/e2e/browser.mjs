// Chromium, driven by playwright-core, and everything that a page must never do.
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** How many times slower than this machine the browser and the server's answers are: `SLOW=6 npm run e2e`. */
export const slowness = Math.max(1, Number(process.env.SLOW ?? 1));
const ANSWER_DELAY_MS = 50;
const TIMEOUT_MS = 60_000;

const throttles = new WeakMap();

/** What is done with a page at the machine's own speed: measuring it, which no user does. */
export async function atFullSpeed(page, work) {
  const session = throttles.get(page);
  await session?.send("Emulation.setCPUThrottlingRate", { rate: 1 });
  try {
    return await work();
  } finally {
    await session?.send("Emulation.setCPUThrottlingRate", { rate: slowness });
  }
}

/** A slow machine: the page's code takes longer, and so does every answer but the stream of events. */
async function slowDown(page) {
  if (slowness === 1) return;
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowness });
  throttles.set(page, session);
  await page.route(
    (url) => url.pathname.startsWith("/api/") && url.pathname !== "/api/events",
    async (route) => {
      await new Promise((resolve) => setTimeout(resolve, ANSWER_DELAY_MS * slowness));
      // A page that was left meanwhile wants no answer.
      await route.continue().catch(() => {});
    },
  );
}

const asked = new WeakMap();

/** Requests of a page that have no answer yet; its stream of events never ends, and what a left page asked is forgotten. */
function followRequests(page) {
  const open = new Set();
  asked.set(page, open);
  page.on("request", (request) => new URL(request.url()).pathname !== "/api/events" && open.add(request));
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
  page.on("framenavigated", (frame) => frame === page.mainFrame() && open.clear());
}

/** Whether nothing that the page asked for is still to come. */
export function hasAllAnswers(page) {
  return asked.get(page).size === 0;
}

export function openBrowser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

/** A page that notes errors of the console, uncaught exceptions, and requests to anywhere but the studio. */
export async function openPage(browser, base, { width = 1440, height = 900, theme = "light" } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS * slowness);
  followRequests(page);
  await slowDown(page);
  const faults = [];
  const state = { expectNetworkErrors: false };
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    if (state.expectNetworkErrors && /Failed to load resource|net::ERR/.test(message.text())) return;
    faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !/^(data|blob):/.test(url)) faults.push(`request to elsewhere: ${url}`);
  });
  return { page, context, faults, state };
}
