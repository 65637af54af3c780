// Drafts in tabs, saved masks with versions, sharing, and the diff of two masks: nothing that was typed is ever lost.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { accessible, compiled, fitsWidth, newPicture, pictureHash } from "../checks.mjs";
import { python, root } from "../studio.mjs";
import { openText } from "../texts.mjs";

export const name = "drafts and sharing";

const CAUSAL = `mask mine(n: int)
tokens { S: n }
S sees S causal
example small(n = 40)`;
const WINDOW = `mask window(n: int, w: int = 4)
tokens { S: n }
S sees S where q - k < w and k <= q
example small(n = 40)`;

const text = (page) => page.locator(".cm-content").textContent();
const activeTab = (page) => page.locator(".draft-tab[aria-current]");

async function typeAtEnd(page, typed) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(typed);
}

async function openPreset(page, preset) {
  await page.getByRole("button", { name: "Gallery", exact: true }).click();
  await page.locator(`[data-preset="${preset}"]`).click();
  await activeTab(page).filter({ hasText: preset }).waitFor();
}

async function save(page, fields = {}) {
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Save mask" });
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

export const steps = {
  "a draft stays in its tab with its own undo when others are opened": async ({ page, base }) => {
    await openText(page, base, CAUSAL);
    await typeAtEnd(page, "\n# one");
    await openPreset(page, "causal");
    await openPreset(page, "streaming");
    assert.equal(await page.locator(".draft-tab").count(), 2, "an untouched preset gives its tab to the next");
    await typeAtEnd(page, "\n# two");
    for (let i = 0; i < 12; i++) await page.keyboard.press("Control+z");
    assert.doesNotMatch(await text(page), /# one|mask mine/);
    await page.locator(".draft-tab", { hasText: "mine" }).click();
    assert.match(await text(page), /mask mine.*# one/s);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+z");
    assert.doesNotMatch(await text(page), /streaming/);
    await page.getByRole("button", { name: "Duplicate this draft" }).click();
    assert.equal(await page.locator(".draft-tab", { hasText: "mine" }).count(), 2);
  },

  "a reload in the middle of typing loses nothing": async ({ page }) => {
    await typeAtEnd(page, "\n# typed and gone at once");
    await page.reload();
    await newPicture(page, null);
    assert.match(await text(page), /# typed and gone at once/);
    assert.equal(await page.locator(".draft-tab").count(), 3);
  },

  "two windows show the same drafts": async ({ page, context, base }) => {
    const other = await context.newPage();
    await other.goto(base);
    await newPicture(other, null);
    assert.equal(await other.locator(".draft-tab").count(), 3);
    await other.getByRole("button", { name: "New draft" }).click();
    await typeAtEnd(other, "mask elsewhere(n: int)\ntokens { S: n }\nS sees S causal");
    await page.locator(".draft-tab", { hasText: "elsewhere" }).waitFor();
    assert.match(await text(page), /# typed and gone at once/);
    await page.locator(".draft-tab", { hasText: "elsewhere" }).click();
    await typeAtEnd(other, " # seen");
    await page.locator(".cm-line", { hasText: "# seen" }).waitFor();
    await other.close();
  },

  "a closed tab comes back": async ({ page }) => {
    await page.getByRole("button", { name: "Close draft elsewhere" }).click();
    assert.equal(await page.locator(".draft-tab", { hasText: "elsewhere" }).count(), 0);
    await page.getByRole("button", { name: "Undo" }).click();
    await activeTab(page).filter({ hasText: "elsewhere" }).waitFor();
    await page.getByRole("button", { name: "Close draft elsewhere" }).click();
    await page.getByRole("button", { name: "Recent drafts" }).click();
    await page.locator(".draft", { hasText: "elsewhere" }).first().click();
    await activeTab(page).filter({ hasText: "elsewhere" }).waitFor();
    await compiled(page);
  },

  "a mask is saved, and again as its next version": async ({ page }) => {
    await save(page, { Name: "my causal", "Note (what is it for, what changed)": "a first try" });
    await page.getByText("Saved “my causal” as version 1").waitFor();
    await page.waitForURL(/\/masks\/\d+\/versions\/1$/);
    await activeTab(page).filter({ hasText: "my causal" }).filter({ hasText: "v1" }).waitFor();
    await typeAtEnd(page, "\n# changed");
    await page.waitForURL(/#p=/);
    await save(page);
    await page.waitForURL(/\/masks\/\d+\/versions\/2$/);
    await page.reload();
    await newPicture(page, null);
    assert.match(await text(page), /# changed/);
  },

  "the address of a saved mask opens its newest version, and an older one in a tab of its own": async ({
    page,
    openPage,
  }) => {
    const address = page.url();
    const other = await openPage();
    await other.page.goto(address.replace(/\/versions.*/, ""));
    await newPicture(other.page, null);
    assert.match(await text(other.page), /# changed/);
    await other.page.goto(address.replace(/2$/, "1"));
    await activeTab(other.page).filter({ hasText: "v1" }).waitFor();
    assert.doesNotMatch(await text(other.page), /# changed/);
    await other.page.goto(address.replace(/masks\/\d+.*/, "masks/99999"));
    await other.page.getByText("there is no saved mask 99999").waitFor();
    other.faults.splice(0, other.faults.length, ...other.faults.filter((fault) => !/404/.test(fault)));
    assert.deepEqual(other.faults, []);
    await other.context.close();
  },

  "saved masks are found, renamed, and deleted with a way back": async ({ page, shot }) => {
    await page.getByRole("link", { name: "Masks" }).click();
    await page.locator(".saved-name", { hasText: "my causal" }).waitFor();
    await page.getByLabel("Search saved masks").fill("first try");
    await page.waitForURL(/q=first/);
    assert.equal(await page.getByLabel("Search saved masks").inputValue(), "first try");
    await page.locator(".saved-name", { hasText: "my causal" }).waitFor();
    await page.getByLabel("Search saved masks").fill("nothing like it");
    await page.getByText("No saved mask matches").waitFor();
    await page.getByLabel("Search saved masks").fill("");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("New name of my causal").fill("better");
    await page.keyboard.press("Enter");
    await page.locator(".saved-name", { hasText: "better" }).waitFor();
    await page.getByRole("button", { name: "Delete better" }).click();
    await page.getByText("No saved masks yet").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator(".saved-name", { hasText: "better" }).waitFor();
    await page.getByRole("button", { name: "Versions" }).click();
    await page.getByRole("link", { name: "What changed" }).waitFor();
    await accessible(page, "saved masks");
    await shot("saved-masks");
    await page.getByRole("link", { name: "What changed" }).click();
    await page.getByText("The masks are the same.").waitFor();
    await page.getByText("though the texts or numbers differ").waitFor();
    await page.locator(".source-diff", { hasText: "# changed" }).waitFor();
  },

  "a mask is taken away as Python, Markdown, PNG and SVG": async ({ page, base }) => {
    await openText(page, base, WINDOW);
    await compiled(page);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const copied = async (button, done) => {
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("button", { name: done }).waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const source = await copied("Copy as Python", "Python copied");
    execFileSync(python, ["-c", source], { cwd: root });
    const markdown = await copied("Copy as Markdown", "Markdown copied");
    assert.match(markdown, /\*\*window, 40 × 40, 154 visible pairs\*\*/);
    assert.match(markdown, /!\[[^\]]+\]\(data:image\/png;base64,[\w+/=]{100,}\)/);
    assert.match(markdown, /```mask\nmask window/);
    const download = async (button) => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: button, exact: true }).click(),
      ]);
      return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
    };
    const png = await download("PNG");
    assert.deepEqual([png.name, [...png.bytes.subarray(1, 4)]], ["window.png", [0x50, 0x4e, 0x47]]);
    const svg = await download("SVG");
    assert.equal(svg.name, "window.svg");
    assert.match(svg.bytes.toString(), /<path d="M[\d L-]+Z"\/>/);
    await accessible(page, "share");
    await page.keyboard.press("Escape");
  },

  "two masks are compared cell by cell, and the address keeps it": async ({ page, shot }) => {
    await page.getByRole("button", { name: "Diff", exact: true }).click();
    await page.getByRole("button", { name: /^Left/ }).click();
    await page.getByLabel("Search masks").fill("causal");
    await page
      .locator(".side-picker")
      .getByRole("button", { name: /^Causal\b/ })
      .first()
      .click();
    // Causal with 64 tokens has 2,080 pairs; the window of 40 tokens has 154 of them.
    await page.getByText(`${(2080 - 154).toLocaleString("en-US")} cells removed.`).waitFor();
    await page.getByText("The sizes differ").waitFor();
    await page.locator('.diff-canvas canvas[data-drawn*="/"]').waitFor();
    await page.getByRole("button", { name: /^First removed/ }).click();
    await page.locator(".diff-readout", { hasText: "query 4, key 0: removed" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.locator(".diff-readout", { hasText: "query 4, key 1: visible in both" }).waitFor();
    await accessible(page, "diff");
    await shot("diff");
    await page.reload();
    await page.getByText("1,926 cells removed.").waitFor();
    await page.getByRole("button", { name: "Swap the sides" }).click();
    await page.getByText("1,926 cells added.").waitFor();
    await page.goBack();
  },

  "a text is laid out, mended by keyboard, and told about": async ({ page, base }) => {
    await openText(page, base, CAUSAL.replace("S sees S", "S   sees  S"));
    await page.locator(".cm-line", { hasText: "causal" }).click();
    await page.keyboard.press("End");
    for (let i = 0; i < 2; i++) await page.keyboard.press("Backspace");
    await page.keyboard.type("ul");
    await page.locator(".cm-lintRange-error").first().waitFor();
    await page.locator(".cm-line", { hasText: "causul" }).click();
    await page.keyboard.press("Control+.");
    await page.locator(".quick-fixes [role=menuitem]").first().waitFor();
    await page.keyboard.press("Enter");
    await compiled(page);
    const before = await pictureHash(page);
    await page.keyboard.press("Shift+Alt+f");
    await page.locator(".cm-line", { hasText: /^S sees S causal$/ }).waitFor();
    await compiled(page);
    assert.equal(await pictureHash(page), before);
    await page.locator(".cm-line", { hasText: /^S sees S causal$/ }).hover({ position: { x: 10, y: 10 } });
    await page.locator(".word-doc", { hasText: "S: n" }).waitFor();
  },

  "a wrong number is marked at its field": async ({ page }) => {
    await page.getByLabel("n", { exact: true }).fill("-3");
    await page.locator(".parameter.wrong .field-problem", { hasText: "-3" }).waitFor();
    await page.getByLabel("n", { exact: true }).fill("40");
    await page.locator(".parameter.wrong").waitFor({ state: "detached" });
  },

  "lists are drawn from a seed or read from a file": async ({ page, base }) => {
    await openText(
      page,
      base,
      "mask docs(lengths: int[])\ntokens { D[i]: lengths[i] }\nD[i] sees D[i] causal\nexample a(lengths = [4, 8])",
    );
    await compiled(page);
    const before = await pictureHash(page);
    await page.getByRole("button", { name: "Random…" }).click();
    await page.getByLabel("How many").fill("6");
    await page.getByLabel("Sum").fill("30");
    await page.getByRole("button", { name: "Use these" }).click();
    await newPicture(page, before);
    await page.getByText("6 entries, sum 30").waitFor();
    await accessible(page, "random lengths");
    const drawn = await pictureHash(page);
    await page.getByLabel("File for lengths").setInputFiles({
      name: "lengths.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("length\n7\n9\n"),
    });
    await newPicture(page, drawn);
    await page.getByText("2 entries, sum 16").waitFor();
  },

  "a phone shows the same, without sideways scrolling": async ({ openPage, base, page }) => {
    const diffAddress = `${base}/diff?left=preset:causal&right=preset:streaming`;
    for (const theme of ["light", "dark"]) {
      const other = await openPage({ width: 390, height: 844, theme });
      await openText(other.page, base, WINDOW);
      await other.page.getByRole("button", { name: "Share", exact: true }).click();
      await fitsWidth(other.page, "share on a phone");
      await other.page.keyboard.press("Escape");
      for (const [where, address, ready] of [
        ["masks", `${base}/masks`, ".saved-name"],
        ["diff", diffAddress, '.diff-canvas canvas[data-drawn*="/"]'],
      ]) {
        await other.page.goto(address);
        await other.page.locator(ready).first().waitFor();
        await fitsWidth(other.page, `${where} on a phone`);
        await accessible(other.page, `${where} on a phone, ${theme}`);
      }
      assert.deepEqual(other.faults, []);
      await other.context.close();
    }
    await page.goto(base);
  },

  "a chosen cell stays with its text, unless an address brings one": async ({ openPage, base }) => {
    const { page, faults, context } = await openPage();
    await page.goto(base);
    await newPicture(page, null);
    await compiled(page);
    const chosen = (text) => page.locator("[aria-describedby] ~ p", { hasText: text }).waitFor({ state: "attached" });
    await page.locator(".mask-canvas").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await chosen("Chosen: query 0 (C), key 0 (C).");
    await page.waitForURL(/\?q=0&k=0/);
    await page.getByRole("button", { name: "New draft" }).click();
    await page.waitForURL((url) => !url.searchParams.has("q"));
    await page.locator(".draft-tab").first().click();
    await compiled(page);
    assert.doesNotMatch(page.url(), /[?&]q=/);
    const { hash } = new URL(page.url());
    await page.goto(`${base}/?q=6&k=5${hash}`);
    await chosen("Chosen: query 6 (H), key 5 (C).");
    assert.deepEqual(faults, []);
    await context.close();
  },
};
