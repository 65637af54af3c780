// (4) and (5): run, cancel, a wrong result, the table, compare, reload.
import assert from "node:assert/strict";
import { compiled, newPicture, pictureHash } from "../checks.mjs";

export const name = "runs";

const ROW = "tr[data-run]";

async function openRunDialog(page) {
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".providers").waitFor({ timeout: 60_000 });
}

async function choose(page, wanted) {
  for (const row of await page.locator(".providers li:not(.unusable)").all()) {
    const provider = await row.locator("code").textContent();
    await row.locator("input").setChecked(wanted.includes(provider));
  }
}

function card(page, provider) {
  return page.locator(".result-card", { has: page.locator("code", { hasText: new RegExp(`^${provider}$`) }) });
}

async function openPreset(page, base, preset, example) {
  await page.goto(base);
  await newPicture(page, null);
  const before = await pictureHash(page);
  await page.getByRole("button", { name: "Gallery" }).click();
  await page.locator(`[data-preset="${preset}"]`).click();
  await newPicture(page, before);
  if (example) {
    const small = await pictureHash(page);
    await page.getByRole("button", { name: example, exact: true }).click();
    await newPicture(page, small);
  }
  await compiled(page);
}

/** The table shows the answer to what the address asks, and it has so many rows. */
async function settled(page, rows) {
  await page.locator('.table-frame[aria-busy="false"]').waitFor();
  await page.waitForFunction((count) => document.querySelectorAll("tr[data-run]").length === count, rows);
}

export const steps = {
  "the empty table says what to do": async ({ page, base, studio }) => {
    if (!studio.owned) return;
    await page.goto(`${base}/runs`);
    await page.getByText("No runs yet").waitFor();
    await page.goto(`${base}/compare`);
    await page.getByText("Choose at least two runs").waitFor();
  },

  "Run verifies and measures what this machine can run": async ({ page, base, shot }) => {
    await openPreset(page, base, "streaming");
    await openRunDialog(page);
    await choose(page, ["reference", "torch", "sdpa"]);
    await page.getByText(/About .*FLOP a pass/).waitFor();
    await page.getByLabel("name", { exact: true }).fill("story <b>one</b>");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("progressbar").first().waitFor();
    await page.getByText("Finished: 3 of 3 passed.").waitFor({ timeout: 120_000 });
    for (const provider of ["reference", "torch", "sdpa"]) {
      const text = await card(page, provider).textContent();
      assert.match(text, /passed.*error.*allowed.*median.*(ms|µs).*rate.*FLOP\/s/s, provider);
    }
    await shot("launch-finished");
    await page.getByRole("button", { name: "Done" }).click();
  },

  "a big one can be cancelled": async ({ page, base }) => {
    await openPreset(page, base, "causal", "large");
    await openRunDialog(page);
    await choose(page, ["torch", "reference"]);
    await page.getByLabel("name", { exact: true }).fill("story cancelled");
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".badge.live").first().waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Cancelled.", { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Done" }).click();
  },

  "a wrong result is stored as failed, with the reason and without a speed": async ({ page, base, studio, shot }) => {
    if (!studio.owned) return;
    await openPreset(page, base, "documents");
    await openRunDialog(page);
    await choose(page, ["torch"]);
    await page.getByLabel("seed", { exact: true }).fill("13");
    await page.getByLabel("name", { exact: true }).fill("story wrong");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Finished: 0 of 1 passed.").waitFor({ timeout: 120_000 });
    const text = await card(page, "torch").textContent();
    assert.match(text, /wrong result/);
    assert.doesNotMatch(text, /median|FLOP/);
    assert.ok((await page.locator(".result-card .reason").textContent()).length > 10);
    await shot("launch-failed");
    await page.getByRole("button", { name: "Done" }).click();
  },

  "the table shows them, filters them and keeps its state in the address": async ({ page, base, studio }) => {
    await page.goto(`${base}/runs`);
    await page.locator(ROW).first().waitFor();
    if (studio.owned) {
      const wrong = page.locator(ROW, { hasText: "wrong result" });
      assert.equal(await wrong.count(), 1);
      assert.doesNotMatch(await wrong.textContent(), /FLOP\/s/);
    }
    assert.ok((await page.locator(ROW, { hasText: "cancelled" }).count()) >= 1);
    await page.getByLabel("Verdict").selectOption("passed");
    await page.waitForURL(/verdict=passed/);
    await page.getByLabel("Search runs").fill("story");
    await page.waitForURL(/q=story/);
    await page.getByRole("button", { name: "Median" }).click();
    await page.waitForURL(/sort=median_ms/);
    await settled(page, 3);
    const medians = async () => (await page.locator(`${ROW} td:nth-child(10)`).allTextContents()).map(parseMs);
    const shown = await medians();
    const descending = [...shown].sort((a, b) => b - a);
    const ascending = [...descending].reverse();
    assert.ok([String(ascending), String(descending)].includes(String(shown)), `sorted by median: ${shown}`);
    assert.match(await page.locator(ROW).first().textContent(), /story <b>one<\/b>/);
    await page.reload();
    await settled(page, 3);
    assert.equal(await page.getByLabel("Search runs").inputValue(), "story");
  },

  "new runs are announced, never forced upon the reader": async ({ page, base, openPage }) => {
    await page.goto(`${base}/runs`);
    await page.locator(ROW).first().waitFor();
    const rows = await page.locator(ROW).count();
    const other = await openPage();
    await openPreset(other.page, base, "bd3lm");
    await openRunDialog(other.page);
    await choose(other.page, ["torch"]);
    await other.page.getByRole("button", { name: "Start" }).click();
    await page.locator(".pill", { hasText: "1 new run" }).waitFor({ timeout: 60_000 });
    assert.equal(await page.locator(ROW).count(), rows);
    await other.page.getByText("Finished: 1 of 1 passed.").waitFor({ timeout: 120_000 });
    await page.locator(".pill").click();
    await page.waitForFunction((count) => document.querySelectorAll("tr[data-run]").length === count, rows + 1);
    await other.context.close();
  },

  "two runs compare with charts and a table beside each": async ({ page, base }) => {
    await page.goto(`${base}/runs?verdict=passed&q=story`);
    await page.locator(ROW).first().waitFor();
    for (const row of (await page.locator(ROW).all()).slice(0, 2)) await row.locator("input").check();
    await page.waitForURL(/sel=/);
    await page.getByRole("link", { name: "Compare 2" }).click();
    await page.waitForURL(/compare\?ids=/);
    await page.locator('[data-chart="drawn"] .main-svg .bars path').first().waitFor();
    assert.equal(await page.locator('[data-chart="drawn"]').count(), 2);
    assert.ok((await page.locator(".mini-table tbody tr").count()) === 4);
    const modebar = await page
      .locator(".modebar-btn")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-title")));
    assert.ok(modebar.length > 0 && !modebar.some((title) => /share|cloud|plotly/i.test(title ?? "")), String(modebar));
    await page.getByRole("radio").nth(1).check();
    await page.waitForURL(/baseline=/);
    const fields = await page.locator(".difference-table tbody tr").count();
    await page.getByRole("switch", { name: "Show all fields" }).click();
    assert.ok((await page.locator(".difference-table tbody tr").count()) > fields);
    await page.getByRole("button", { name: "All samples" }).click();
    await page
      .locator('[data-chart="drawn"] .main-svg .boxlayer path, [data-chart="drawn"] .main-svg .boxes path')
      .first()
      .waitFor();
  },

  "after a reload all of it is still there": async ({ page }) => {
    await page.reload();
    await page.locator('[data-chart="drawn"] .main-svg').first().waitFor();
    assert.equal(await page.getByRole("radio").nth(1).isChecked(), true);
  },

  "a run's page has everything, takes a note, and opens in the editor": async ({ page, base }) => {
    await page.goto(`${base}/runs?verdict=passed&q=story`);
    await page.locator(`${ROW} td`).nth(2).click();
    await page.waitForURL(/runs\/\d+/);
    await page.locator('[data-chart="drawn"] .main-svg').first().waitFor();
    await page.getByText("Reproduce").waitFor();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /compilemask/);
    await page.getByLabel("note").fill("kept for the story");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.reload();
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "kept for the story");
    await page.getByRole("button", { name: "Open in editor" }).click();
    await page.waitForURL((url) => url.pathname === "/");
    await page.locator(".program-name", { hasText: "streaming" }).waitFor();
    await compiled(page);
  },

  "deleting can be undone, and otherwise happens": async ({ page, base }) => {
    await page.goto(`${base}/runs?q=story+cancelled`);
    await page.locator(ROW).first().waitFor();
    const rows = await page.locator(ROW).count();
    await page.locator(`${ROW} td`).nth(2).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/runs$/);
    await page.waitForTimeout(7000);
    await page.goto(`${base}/runs?q=story+cancelled`);
    await page.waitForFunction((count) => document.querySelectorAll("tr[data-run]").length === count, rows - 1);
  },
};

function parseMs(text) {
  const [, value, unit] = text.match(/([\d.]+) (µs|ms|s)/) ?? [];
  return Number(value) * { µs: 1e-3, ms: 1, s: 1e3 }[unit];
}
