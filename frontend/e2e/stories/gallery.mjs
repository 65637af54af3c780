// (3): every mask of the gallery draws; opening one never loses the draft. (6): export to Python.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { canvasIsDrawn, compiled, newPicture, pictureHash, visiblePairs } from "../checks.mjs";
import { python, root } from "../studio.mjs";

export const name = "gallery and export";

const PRESETS = [
  "causal",
  "streaming",
  "documents",
  "prefix_lm",
  "shared_prompt",
  "clear",
  "bd3lm",
  "decode",
  "video",
  "hstu",
];

export const steps = {
  "every preset opens and draws": async ({ page, base }) => {
    await page.goto(base);
    await newPicture(page, null);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\n# a draft of my own");
    await compiled(page);
    const known = (await (await fetch(`${base}/api/presets`)).json()).map((preset) => preset.name);
    for (const preset of PRESETS) assert.ok(known.includes(preset), `the gallery has no ${preset}`);
    // Those of the story last, in their order.
    for (const preset of [...known.filter((one) => !PRESETS.includes(one)), ...PRESETS]) {
      const before = await pictureHash(page);
      await page.getByRole("button", { name: "Gallery", exact: true }).click();
      await page.locator(`[data-preset="${preset}"]`).click();
      await newPicture(page, before);
      await compiled(page);
      await canvasIsDrawn(page);
      assert.ok((await visiblePairs(page)) > 0, preset);
      assert.equal(await page.locator(".draft-tab[aria-current] .truncate").textContent(), preset);
    }
  },

  "the gallery can be searched": async ({ page }) => {
    await page.getByRole("button", { name: "Gallery", exact: true }).click();
    const all = await page.locator(".gallery-card").count();
    await page.getByLabel("Search the gallery").fill("CLEAR");
    const found = await page.locator(".gallery-card").count();
    assert.ok(found >= 1 && found < all, `${found} of ${all} found`);
    await page.getByRole("button", { name: "Close", exact: true }).click();
  },

  "a card tells all about its mask": async ({ page }) => {
    await page.getByRole("button", { name: "Gallery", exact: true }).click();
    await page.getByRole("button", { name: "About HSTU recommender" }).click();
    await page.locator(".gallery-text", { hasText: "Actions Speak Louder" }).waitFor();
    assert.match(await page.locator(".gallery-text pre").textContent(), /^mask hstu\(/);
    await page.keyboard.press("Escape");
  },

  "the text that was edited before is still in its tab, and the presets took one tab": async ({ page }) => {
    assert.equal(await page.locator(".draft-tab").count(), 2);
    await page.locator(".draft-tab").first().click();
    await page.locator(".cm-line", { hasText: "a draft of my own" }).waitFor();
    assert.match(await page.locator(".cm-content").textContent(), /a draft of my own/);
    await compiled(page);
  },

  "one click on an example sets all values": async ({ page }) => {
    const before = await pictureHash(page);
    await page.getByRole("button", { name: "large", exact: true }).click();
    await newPicture(page, before);
    await compiled(page);
    assert.equal(await page.getByLabel("history", { exact: true }).inputValue(), "30720");
    await canvasIsDrawn(page);
    await page.getByRole("button", { name: "small", exact: true }).click();
    await compiled(page);
  },

  "a preset with a list of lists has a field with a line for each": async ({ page }) => {
    await page.getByRole("button", { name: "Gallery", exact: true }).click();
    await page.locator('[data-preset="shared_prompts"]').click();
    await compiled(page);
    await page.locator(".draft-tab[aria-current]", { hasText: "shared_prompts" }).waitFor();
    const before = await pictureHash(page);
    const field = page.locator(".parameters textarea");
    const lines = (await field.inputValue()).split("\n");
    assert.ok(lines.length > 1 && lines.every((line) => /^(\d+(, )?)+$|^\[\]$/.test(line)), lines.join(" | "));
    await field.fill([...lines.slice(0, -1), `${lines.at(-1)}, 5`].join("\n"));
    await newPicture(page, before);
    await compiled(page);
    const hash = await pictureHash(page);
    await page.locator(".draft-tab", { hasText: "hstu" }).first().click();
    await newPicture(page, hash);
    await compiled(page);
  },

  "export gives a Python file that runs": async ({ page }) => {
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download .py" }).click(),
    ]);
    assert.match(download.suggestedFilename(), /\.py$/);
    execFileSync(python, [await download.path()], { cwd: root });
    await page.keyboard.press("Escape");
  },
};
