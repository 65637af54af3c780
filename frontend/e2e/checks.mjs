// What the stories ask of a page.
import assert from "node:assert/strict";
import axe from "axe-core";
import { atFullSpeed, hasAllAnswers, slowness } from "./browser.mjs";

/** The mask's picture holds cells of several colours, and one colour covers no more than nearly all of it. */
export async function canvasIsDrawn(page) {
  const share = await page.locator(".mask-canvas canvas").evaluate((canvas) => {
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4 * 7) {
      const key = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const large = [...counts.values()].filter((count) => count / total > 0.004).length;
    return { large, most: Math.max(...counts.values()) / total };
  });
  assert.ok(share.large >= 3 && share.most < 0.97, `the canvas is blank: ${JSON.stringify(share)}`);
}

export function pictureHash(page) {
  return page.locator(".mask-canvas").getAttribute("data-hash");
}

/** Waits until the picture shows another mask than `before`. */
export async function newPicture(page, before) {
  await page.waitForFunction((old) => {
    const hash = document.querySelector(".mask-canvas")?.getAttribute("data-hash");
    return hash && hash !== old;
  }, before);
}

export async function compiled(page) {
  await page
    .getByTestId("compile-state")
    .filter({ hasText: /^Compiled/ })
    .waitFor();
  // The picture follows its mask a frame later.
  await page.locator(".mask-canvas[aria-busy=false]").waitFor();
}

export async function visiblePairs(page) {
  return Number((await page.getByTestId("visible-pairs").textContent()).replaceAll(",", ""));
}

/** Nothing is on its way: every answer is there and drawn, no placeholder is left, and what moves has arrived. */
export async function settled(page) {
  const deadline = Date.now() + 60_000 * slowness;
  let quietFrames = 0;
  while (quietFrames < 3) {
    assert.ok(Date.now() < deadline, "the page does not come to rest");
    const still = await page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
      const moves = document
        .getAnimations()
        .some(
          (one) =>
            one.playState === "running" && one.effect.getComputedTiming().iterations !== Number.POSITIVE_INFINITY,
        );
      return !moves && document.querySelector(".skeleton, [aria-busy=true]") === null;
    });
    quietFrames = still && hasAllAnswers(page) ? quietFrames + 1 : 0;
  }
}

/** No serious or critical finding of axe. The code is evaluated by the debugger, which the content policy allows. */
export async function accessible(page, where) {
  const { violations } = await atFullSpeed(page, async () => {
    await page.evaluate(`${axe.source}; undefined`);
    return page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  });
  const grave = violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
  const told = grave.map(
    (violation) => `${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 160)).join("\n    ")}`,
  );
  assert.deepEqual(told, [], `axe on ${where}`);
}

/** Nothing sticks out at the right, so that the page does not scroll sideways. */
export async function fitsWidth(page, where) {
  const [scroll, client] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(scroll <= client, `${where} is ${scroll} px wide in a window of ${client} px`);
}

/** How far things jumped about while the page loaded. */
export async function layoutShift(page) {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => resolve(sum), 300);
      }),
  );
}
