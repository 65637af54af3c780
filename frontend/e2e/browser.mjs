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
  page.setDefaultTimeout(20_000);
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
