// The whole story by keys alone: no pointer, and the focus is always where it can be seen.
import assert from "node:assert/strict";
import { compiled, newPicture, pictureHash } from "../checks.mjs";

export const name = "keyboard";

const MOST_STOPS = 160;

/** Presses Tab until the element has the focus, which must show on the way. */
async function tabTo(page, target, key = "Tab") {
  for (let stop = 0; stop < MOST_STOPS; stop++) {
    if (await target.evaluate((element) => element === document.activeElement)) return seen(page);
    await page.keyboard.press(key);
  }
  assert.fail(`Tab does not reach ${target}`);
}

/** What has the focus is inside of the window and has an outline, a shadow or a caret. */
async function seen(page) {
  const focus = await page.evaluate(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const { width, height, top, bottom, left, right } = element.getBoundingClientRect();
    const inside = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
    const rings = (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    return { inside, marked: rings || element.isContentEditable, html: element.outerHTML.slice(0, 160) };
  });
  assert.ok(focus.inside && focus.marked, `the focus cannot be seen: ${JSON.stringify(focus)}`);
}

async function press(page, target) {
  await tabTo(page, target);
  await page.keyboard.press("Enter");
}

const button = (page, label) => page.getByRole("button", { name: label, exact: true });

export const steps = {
  "a preset is found in the gallery and opened": async ({ page, base }) => {
    await page.goto(base);
    await newPicture(page, null);
    const before = await pictureHash(page);
    await press(page, button(page, "Gallery"));
    await page.locator("[data-preset]").first().waitFor();
    await page.keyboard.type("streaming");
    await press(page, page.locator('[data-preset="streaming"]'));
    await newPicture(page, before);
    await compiled(page);
  },

  "the text is changed, and the keyboard leaves the editor again": async ({ page }) => {
    const before = await pictureHash(page);
    await tabTo(page, page.locator(".cm-content"));
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\nS sees S q - k == 40");
    await newPicture(page, before);
    await compiled(page);
    await tabTo(page, button(page, "Zoom in"));
  },

  "a cell is chosen in the picture and read in the row tab": async ({ page }) => {
    await tabTo(page, page.getByRole("application"));
    for (const key of ["ArrowDown", "ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/[?&]q=\d+&k=\d+/);
    const numbers = page.getByRole("tab", { name: "Numbers" });
    await tabTo(page, numbers);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page
      .getByText(/sees \d+ keys?/)
      .first()
      .waitFor();
  },

  "it is run, and the run is compared with another": async ({ page }) => {
    await page.evaluate(() => document.activeElement.blur());
    await press(page, button(page, "Run"));
    await page.locator(".providers").waitFor();
    for (const provider of ["reference", "dense", "sdpa_math"]) {
      const box = page.locator(".providers li", { has: page.locator(`code:text-is("${provider}")`) }).locator("input");
      if (!(await box.isChecked())) continue;
      await tabTo(page, box);
      await page.keyboard.press("Space");
    }
    await page.getByText(/About .*FLOP a pass/).waitFor();
    await press(page, button(page, "Start"));
    await page.getByText("Finished: 2 of 2 passed.").waitFor({ timeout: 120_000 });
    await press(page, button(page, "Done"));
    // The link counts new runs behind its name.
    await press(page, page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Runs/ }));
    await page.locator("tr[data-run]").nth(1).waitFor();
    for (const row of [0, 1]) {
      await tabTo(page, page.locator("tr[data-run]").nth(row).locator("input"));
      await page.keyboard.press("Space");
    }
    await page.waitForURL(/sel=/);
    await press(page, page.getByRole("link", { name: "Compare 2" }));
    await page.locator('[data-chart="drawn"] .main-svg').first().waitFor();
    await tabTo(page, page.getByRole("radio").first());
  },

  "a dialog keeps the focus and gives it back": async ({ page, base }) => {
    await page.goto(base);
    await newPicture(page, null);
    await compiled(page);
    const share = button(page, "Share");
    await press(page, share);
    for (let stop = 0; stop < 12; stop++) {
      await page.keyboard.press("Tab");
      const behind = await page.evaluate(() => {
        const { activeElement, body } = document;
        return activeElement !== body && activeElement.closest("dialog") === null;
      });
      assert.ok(!behind, "Tab leaves the dialog");
    }
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    await page.waitForFunction((element) => element === document.activeElement, await share.elementHandle());
  },
};
