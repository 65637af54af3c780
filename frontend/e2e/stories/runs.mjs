// (4) and (5): run, cancel, a wrong result, the table, compare, reload.
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { accessible, compiled, newPicture, pictureHash } from "../checks.mjs";

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
  await page.getByRole("button", { name: "Gallery", exact: true }).click();
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
    await page.getByLabel("Name", { exact: true }).fill("story <b>one</b>");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("progressbar").first().waitFor();
    await page.getByText("Finished: 3 of 3 passed.").waitFor({ timeout: 120_000 });
    for (const provider of ["reference", "torch", "sdpa"]) {
      const text = await card(page, provider).textContent();
      assert.match(text, /passed.*Error.*allowed.*Median.*(ms|µs).*Rate.*FLOP\/s/s, provider);
    }
    await shot("launch-finished");
    await page.getByRole("button", { name: "Done" }).click();
  },

  "a big one can be cancelled": async ({ page, base }) => {
    await openPreset(page, base, "causal", "large");
    await openRunDialog(page);
    await choose(page, ["torch", "reference"]);
    await page.getByLabel("Name", { exact: true }).fill("story cancelled");
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
    await page.getByLabel("Seed", { exact: true }).fill("13");
    await page.getByLabel("Name", { exact: true }).fill("story wrong");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Finished: 0 of 1 passed.").waitFor({ timeout: 120_000 });
    const text = await card(page, "torch").textContent();
    assert.match(text, /wrong result/);
    assert.doesNotMatch(text, /Median|FLOP/);
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
    const medians = async () =>
      (await page.locator(`${ROW} td[data-column="median_ms"]`).allTextContents()).map(parseMs);
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

  "a sweep says what it will be, runs case by case, and its launch has a page": async ({ page, base, shot }) => {
    await openPreset(page, base, "causal");
    await openRunDialog(page);
    await choose(page, ["torch"]);
    await page.getByRole("button", { name: "Vary something" }).click();
    await page.getByLabel("Values of n").fill("64, 4x");
    await page.getByText("“4x” is neither a whole number").waitFor();
    assert.ok(await page.getByRole("button", { name: "Start" }).isDisabled());
    await page.getByLabel("Values of n").fill("64..256");
    await page.getByRole("button", { name: "Vary something" }).click();
    await page.getByLabel("What varies").nth(1).selectOption("*head_dim");
    await page.getByLabel("Values of head_dim").fill("32, 64");
    await page.getByText(/^6 cases, 6 runs, .* for one pass of each/).waitFor();
    await page.getByLabel("Name", { exact: true }).fill("story sweep");
    await page.getByLabel("Tags", { exact: true }).fill("lengths");
    await shot("launch-sweep");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Finished: 6 of 6 passed.").waitFor({ timeout: 120_000 });
    await page.getByRole("link", { name: /^Launch \d+, with its log/ }).click();
    await page.waitForURL(/launches\/\d+/);
    await page.getByRole("heading", { name: "Worker's log" }).waitFor();
    await accessible(page, "a launch");
    await shot("launch-page");
    await page.getByRole("button", { name: "Edit and run" }).click();
    assert.equal(await page.getByLabel("Values of n").inputValue(), "64, 128, 256");
    await page.getByRole("button", { name: "Close", exact: true }).first().click();
    await page.getByRole("link", { name: "In the table" }).click();
    await settled(page, 6);
    await page.getByRole("link", { name: "Queue" }).click();
    await page.locator(".launch-line", { hasText: "story sweep" }).waitFor();
    await accessible(page, "the queue");
  },

  "runs are grouped, tagged, archived and brought back": async ({ page, base, shot }) => {
    await page.goto(`${base}/runs?tag=lengths`);
    await settled(page, 6);
    await page.getByLabel("Select all runs of this page").check();
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await page.getByLabel("Tag of these runs").fill("kept");
    await page.getByRole("button", { name: "Put on" }).click();
    await page.getByText("6 runs tagged “kept”.").waitFor();
    await shot("runs-selected");
    await accessible(page, "selected runs");
    await page.getByRole("button", { name: "Archive", exact: true }).click();
    await page.getByText("6 runs archived.").waitFor();
    await page.getByText("Nothing matches").waitFor();
    await page.goto(`${base}/runs?archived=true`);
    await settled(page, 6);
    await page.getByLabel("Select all runs of this page").check();
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("The archive is empty").waitFor();
    await page.goto(`${base}/runs`);
    await page.getByLabel("Group").selectOption("head_dim");
    await page.waitForURL(/group=head_dim/);
    await page.locator('tr[data-group="32"]').waitFor();
    await accessible(page, "groups of runs");
    await page.getByRole("button", { name: "32", exact: true }).click();
    await page.waitForURL(/head_dim=32/);
    await settled(page, 3);
    await page.getByRole("button", { name: "Columns" }).click();
    await page.locator(".menu-panel").getByLabel("Direction", { exact: true }).check();
    await page.locator('td[data-column="direction"]').first().waitFor();
    await page.reload();
    await page.locator('td[data-column="direction"]').first().waitFor();
  },

  "two runs compare with charts and a table beside each": async ({ page, base, shot }) => {
    await page.goto(`${base}/runs?verdict=passed&q=story+%3Cb`);
    await settled(page, 3);
    for (const row of (await page.locator(ROW).all()).slice(0, 2)) await row.locator("input").check();
    await page.waitForURL(/sel=/);
    await page.getByRole("link", { name: "Compare 2" }).click();
    await page.waitForURL(/compare\?ids=/);
    await page.locator('[data-chart="drawn"] .main-svg .bars path').first().waitFor();
    const titles = await page.locator(".chart-grid .card h2").allTextContents();
    assert.deepEqual(titles, ["Speed-up", "Time", "Rate", "Roofline"]);
    await page.waitForFunction(() => document.querySelectorAll('[data-chart="drawn"]').length >= 4);
    const tables = await page
      .locator(".chart-grid .card")
      .evaluateAll((cards) => cards.map((card) => card.querySelectorAll(".mini-table tbody tr").length));
    assert.deepEqual(tables, [1, 2, 2, 2]);
    const modebar = await page
      .locator(".modebar-btn")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-title")));
    assert.ok(modebar.length > 0 && !modebar.some((title) => /share|cloud|plotly/i.test(title ?? "")), String(modebar));
    // The click shows at once, whatever the server is doing.
    await page.getByRole("radio").nth(1).check();
    await page.waitForURL(/baseline=/);
    await page.locator('.compare[aria-busy="false"]').waitFor();
    const fields = await page.locator(".difference-table tbody tr").count();
    await page.getByRole("switch", { name: "Show all fields" }).click();
    assert.ok((await page.locator(".difference-table tbody tr").count()) > fields);
    await page.getByRole("button", { name: "All samples" }).click();
    await page
      .locator('[data-chart="drawn"] .main-svg .boxlayer path, [data-chart="drawn"] .main-svg .boxes path')
      .first()
      .waitFor();
    await shot("compare");
    await accessible(page, "compared runs");
  },

  "the report opens alone, draws its charts and asks nobody for anything": async ({ page, openPage, shotOf }) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "HTML report" }).click(),
    ]);
    assert.match(download.suggestedFilename(), /^compare-\d+-\d+\.html$/);
    const file = `${await download.path()}.html`;
    copyFileSync(await download.path(), file);
    const other = await openPage();
    // Nothing but the file itself may be asked for.
    const asked = [];
    other.page.on("request", (request) => asked.push(request.url()));
    await other.page.goto(`file://${file}`);
    await other.page.waitForFunction(() => document.querySelectorAll(".main-svg .bars path").length > 0);
    assert.deepEqual(
      asked.filter((url) => !/^(data|blob):/.test(url)),
      [`file://${file}`],
    );
    assert.match(await other.page.locator("body").textContent(), /story <b>one<\/b>.*compilemask bench/s);
    await shotOf(other.page, "report");
    await other.context.close();
  },

  "a sweep is compared case by case, by length too": async ({ page, base, shot }) => {
    await page.goto(`${base}/runs?tag=lengths`);
    await settled(page, 6);
    await page.getByLabel("Select all runs of this page").check();
    await page.getByRole("link", { name: "Compare 6" }).click();
    await page.getByRole("heading", { name: "Time by length" }).waitFor();
    await page.getByRole("heading", { name: "Parallel coordinates" }).waitFor();
    assert.equal(await page.getByText("baseline of its case").count(), 5);
    await page.waitForFunction(() => document.querySelectorAll('[data-chart="drawn"]').length >= 5);
    await shot("compare-sweep");
    await page.goBack();
  },

  "after a reload all of it is still there": async ({ page, base }) => {
    const ids = await (await fetch(`${base}/api/runs?verdict=passed&limit=2`)).json();
    await page.goto(`${base}/compare?ids=${ids.items.map((run) => run.id).join(",")}`);
    await page.getByRole("radio").nth(1).check();
    await page.waitForURL(/baseline=/);
    await page.reload();
    await page.locator('[data-chart="drawn"] .main-svg').first().waitFor();
    assert.equal(await page.getByRole("radio").nth(1).isChecked(), true);
  },

  "a run's page has everything, takes a note, and opens in the editor": async ({ page, base }) => {
    await page.goto(`${base}/runs?verdict=passed&q=story+%3Cb`);
    await page.locator(`${ROW} td`).nth(2).click();
    await page.waitForURL(/runs\/\d+/);
    await page.locator('[data-chart="drawn"] .main-svg').first().waitFor();
    await page.getByText("Reproduce").waitFor();
    await page.locator('tr[data-tensor="o"]', { hasText: "right" }).waitFor();
    await accessible(page, "a run");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /compilemask/);
    await page.getByLabel("Note").fill("kept for the story");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    await page.reload();
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "kept for the story");
    await page.getByRole("button", { name: "Open in editor" }).click();
    await page.waitForURL((url) => url.pathname === "/");
    await page.locator('.draft-tab[aria-current="true"]', { hasText: "streaming" }).waitFor();
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
    await page.goto(`${base}/runs?q=story+cancelled`);
    await page.waitForFunction((count) => document.querySelectorAll("tr[data-run]").length === count, rows - 1);
  },
};

function parseMs(text) {
  const [, value, unit] = text.match(/([\d.]+) (µs|ms|s)/) ?? [];
  return Number(value) * { µs: 1e-3, ms: 1, s: 1e3 }[unit];
}
