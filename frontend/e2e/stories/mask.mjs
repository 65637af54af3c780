// The picture and what is known about it: layers, lit rules, rows and columns, linked lists, costs, batches, looks.
import assert from "node:assert/strict";
import { slowness } from "../browser.mjs";
import { accessible, canvasIsDrawn, compiled, fitsWidth, newPicture, pictureHash } from "../checks.mjs";
import { Busyness } from "../machine.mjs";
import { openText } from "../texts.mjs";

export const name = "mask";

/** The aim while a mask of a million tokens is panned, on a quiet machine. */
const FRAMES_A_SECOND = 30;

const BATCH = `mask served(n: int, prefix: int per item in 0.., window: int per head = 3)
tokens { S: n }
S sees S k < prefix
S sees S causal and q - k < window
example two(n = 24, prefix = [2, 12, 0], window = [4, 16])`;

const STAIRS = `mask stairs(c: int, n: int)
tokens { S: n }
S sees S k < (q // c + 1) * c
example many(c = 4, n = 160)`;

const MILLION = `mask wide(n: int, w: int)
tokens { S: n }
S sees S causal and q - k < w
S sees S k < 64
example large(n = 1048576, w = 40000)`;

const PACKED = `mask packed(count: int, length: int)
tokens { D[i < count]: length }
D[i] sees D[i] causal
example many(count = 4096, length = 16)`;

/** How many pixels of the canvas have a colour, "#rrggbb". */
function pixelsOf(page, colour) {
  return page.locator(".mask-canvas canvas").evaluate((canvas, hex) => {
    const wanted = Number.parseInt(hex.slice(1), 16);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) === wanted) count++;
    return count;
  }, colour);
}

/** Waits until the canvas has at least, or with `none` not one, pixel of a colour. */
async function untilColour(page, colour, none = false) {
  await page.waitForFunction(
    ([hex, gone]) => {
      const canvas = document.querySelector(".mask-canvas canvas");
      const wanted = Number.parseInt(hex.slice(1), 16);
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4)
        if (((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) === wanted) count++;
      return gone ? count === 0 : count > 60;
    },
    [colour, none],
  );
}

const RULE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8a100"];
const FULL = "#2e6db4";
const OUTLINE = "#d4006e";

const layer = (page, label) => page.getByRole("button", { name: label, exact: true }).click();
const tab = (page, label) => page.getByRole("tab", { name: label }).click();

/** Clicks the middle of a cell of a mask that is drawn whole. */
async function clickCell(page, q, k, rows, keys) {
  const box = await page.locator(".mask-canvas").boundingBox();
  // The search for the cell by pointer is the picture's own: it says on which cell the pointer is.
  let [left, top, right, bottom] = [0, 0, box.width, box.height];
  for (let round = 0; round < 24; round++) {
    const x = (left + right) / 2;
    const y = (top + bottom) / 2;
    await page.mouse.move(box.x + x, box.y + y);
    const text = await page.locator(".mask-readout").textContent();
    const found = text.match(/query (\d+).*? – key (\d+)/);
    if (!found) {
      // Beside the mask: towards its middle.
      [left, top, right, bottom] = [left + 20, top + 20, right - 20, bottom - 20];
      continue;
    }
    const [atQ, atK] = [Number(found[1]), Number(found[2])];
    if (atQ === q && atK === k) {
      await page.mouse.down();
      await page.mouse.up();
      return;
    }
    if (atK < k) left = x;
    else if (atK > k) right = x;
    if (atQ < q) top = y;
    else if (atQ > q) bottom = y;
  }
  throw new Error(`cell (${q}, ${k}) of ${rows} x ${keys} was not found by the pointer`);
}

/** How many frames a second a page draws, at rest or while it is panned in each of them. */
function frameRate(page, seconds, panning) {
  return page.evaluate(
    async ([duration, moving]) => {
      const element = document.querySelector(".mask-canvas");
      const box = element.getBoundingClientRect();
      const start = performance.now();
      let frames = 0;
      while (performance.now() - start < duration * 1000) {
        await new Promise(requestAnimationFrame);
        frames++;
        if (moving) {
          const place = { clientX: box.left + 300, clientY: box.top + 300 };
          const deltaX = Math.floor(frames / 40) % 2 === 0 ? 9 : -9;
          element.dispatchEvent(
            new WheelEvent("wheel", { ...place, deltaX, shiftKey: true, bubbles: true, cancelable: true }),
          );
        }
      }
      return frames / ((performance.now() - start) / 1000);
    },
    [seconds, panning],
  );
}

export const steps = {
  "a layer shows which rule makes a cell visible, and the address keeps it": async ({ page, base, shot }) => {
    await page.goto(base);
    await newPicture(page, null);
    await compiled(page);
    await layer(page, "Rules");
    for (const colour of RULE_COLOURS) await untilColour(page, colour);
    assert.equal(await pixelsOf(page, FULL), 0);
    assert.equal(await page.locator(".mask-legend.rules button").count(), 5);
    assert.match(page.url(), /\?layer=rules/);
    await shot("mask-rules");
    await accessible(page, "mask with rules");
    await page.reload();
    await newPicture(page, null);
    await untilColour(page, RULE_COLOURS[0]);
    await page.locator(".mask-legend.rules button", { hasText: "T sees C, H" }).click();
    await page.waitForFunction(() => document.activeElement?.classList.contains("cm-content"));
    await page.locator(".mask-canvas[data-lit]").waitFor();
    await page.locator(".mask-canvas").focus();
    await page.mouse.move(5, 5);
    await page.locator(".mask-canvas:not([data-lit])").waitFor();
  },

  "pointing at a rule's line lights its cells and no others": async ({ page }) => {
    await layer(page, "Density");
    await untilColour(page, FULL);
    const before = await pixelsOf(page, FULL);
    await page.locator(".cm-line", { hasText: /^T sees T same position$/ }).hover();
    await page.locator(".mask-canvas[data-lit]").waitFor();
    await page.waitForFunction((whole) => {
      const canvas = document.querySelector(".mask-canvas canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4)
        if (data[i] === 0x2e && data[i + 1] === 0x6d && data[i + 2] === 0xb4) count++;
      return count > 60 && count < whole / 20;
    }, before);
    await page.mouse.move(5, 5);
    await page.locator(".mask-canvas:not([data-lit])").waitFor();
    await page.waitForFunction(() => !document.querySelector(".mask-canvas").hasAttribute("data-lit"));
  },

  "a chosen cell shows its row and its column, and a link brings it back": async ({ page, openPage, shot }) => {
    await tab(page, "Row");
    await clickCell(page, 80, 20, 96, 96);
    const row = page.locator('.line-view[data-axis="row"]');
    const column = page.locator('.line-view[data-axis="column"]');
    await row.getByRole("heading", { name: /Query 80 \(T\)\s+sees 73 keys/ }).waitFor();
    await row.locator("code", { hasText: "[0, 72)" }).waitFor();
    await column.getByRole("heading", { name: /Key 20 \(H\)\s+is seen by 82 queries/ }).waitFor();
    await column.locator("code", { hasText: "[20, 96)" }).click();
    await untilColour(page, OUTLINE);
    await page
      .locator("[aria-describedby] ~ p", { hasText: "Chosen: query 80 (T), key 20 (H)." })
      .waitFor({ state: "attached" });
    await shot("mask-row");
    await accessible(page, "mask with a row and a column");
    await page.waitForFunction(() => /[?&]q=80&k=20/.test(location.search));
    const other = await openPage();
    await other.page.goto(page.url());
    await newPicture(other.page, null);
    await tab(other.page, "Row");
    await other.page.getByRole("heading", { name: /Query 80 \(T\)/ }).waitFor();
    assert.deepEqual(other.faults, []);
    await other.context.close();
    await page.getByLabel("Query", { exact: true }).fill("6");
    await row.getByRole("heading", { name: /Query 6 \(H\)\s+sees 7 keys/ }).waitFor();
    await page.locator(".mask-canvas").focus();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !/[?&]q=/.test(location.search));
  },

  "the run of a chosen cell is found in the list, and a run of the list in the picture": async ({ page, shot }) => {
    await tab(page, "Descriptor");
    await layer(page, "Runs");
    await clickCell(page, 40, 10, 96, 96);
    await page.locator("tr.selected", { hasText: "[0, q + 1)" }).waitFor();
    await untilColour(page, OUTLINE);
    await shot("mask-runs");
    await accessible(page, "mask with runs");
    await page.locator(".linked-list button", { hasText: "[0, 6)" }).click();
    await page.locator("tr.selected", { hasText: "[0, 72)" }).waitFor();
    await clickCell(page, 40, 80, 96, 96);
    await page.getByText("The chosen cell is hidden").waitFor();
    assert.equal(await page.locator("tr.selected").count(), 0);
  },

  "runs that repeat are one family": async ({ openPage, base }) => {
    const other = await openPage();
    await openText(other.page, base, STAIRS);
    await tab(other.page, "Descriptor");
    await other.page.getByText("40 runs in 1 family").waitFor();
    await other.page.getByText("40 ×, each 4 rows down, ends +0 and +4").click();
    await untilColour(other.page, OUTLINE);
    assert.deepEqual(other.faults, []);
    await other.context.close();
  },

  "the costs say what to try, and one click tries it": async ({ page, shot }) => {
    await page.getByRole("button", { name: "large", exact: true }).click();
    await page.waitForFunction(() => document.querySelector("#parameter-history").value === "30720");
    await compiled(page);
    await tab(page, "Cost");
    await page.getByRole("list", { name: "Advice" }).locator("li").first().waitFor();
    await page.getByRole("region", { name: "Bytes" }).getByText("dense bool").waitFor();
    await page.getByText("No stored run has measured this very mask yet").waitFor();
    const kernels = page.getByRole("region", { name: "Time" }).getByRole("listitem");
    assert.match(
      await kernels.nth(0).textContent(),
      /hopper on H200.*what auto takes[\s\S]*ms · \d+ x \d+: [\s\S]*costs of 2\d{3}-/,
    );
    assert.match(await kernels.nth(1).textContent(), /triton on H200[\s\S]*costs of 2\d{3}-/);
    await page.getByText("predicted, hopper on H200").waitFor();
    await page.getByLabel("head_dim", { exact: true }).fill("20");
    await page.getByText("predicted, triton on H200").waitFor();
    await page.getByText("No prediction: it has no kernel for head_dim 20").waitFor();
    await page.getByLabel("head_dim", { exact: true }).fill("128");
    await page.getByText("predicted, hopper on H200").waitFor();
    await shot("mask-cost");
    await accessible(page, "mask with costs");
    await page.getByRole("region", { name: "Tile sizes" }).getByRole("button", { name: "64 × 64" }).click();
    assert.equal(await page.getByLabel(/BLOCK_M/).inputValue(), "64");
    await page.waitForFunction(() => /[?&]m=64&n=64/.test(location.search));
    await page.locator(".cost-table tr.selected", { hasText: "64 × 64" }).waitFor();
    await page.getByRole("button", { name: "Tile size by the size of the mask" }).click();
    await page.waitForFunction(() => document.querySelector("[aria-label^=BLOCK_M]").value === "128");
    const before = await pictureHash(page);
    await page.getByRole("button", { name: "small", exact: true }).click();
    await newPicture(page, before);
    await page.waitForFunction(() => document.querySelector("[aria-label^=BLOCK_M]").value === "16");
    await tab(page, "Numbers");
  },

  "q tiles are a layer, and a chosen row outlines what its tile reads": async ({ page, shot }) => {
    // The outline of a chosen row's tiles would cover its colour.
    await page.locator(".mask-canvas").focus();
    await page.keyboard.press("Escape");
    await untilColour(page, OUTLINE, true);
    await layer(page, "Q tiles");
    await untilColour(page, RULE_COLOURS[2]);
    await clickCell(page, 40, 10, 96, 96);
    await untilColour(page, OUTLINE);
    await page
      .locator(".mask-legend", { hasText: "rows of one colour are one q tile: row tiles, keys in place" })
      .waitFor();
    await tab(page, "Descriptor");
    await page.getByRole("group", { name: "List" }).getByRole("button", { name: "Q tiles" }).click();
    await page.locator("tr.selected", { hasText: "[32, 48)" }).waitFor();
    await shot("mask-q-tiles");
    await accessible(page, "mask with q tiles");
    await page.locator(".linked-list button", { hasText: "[80, 96)" }).click();
    await page.locator("tr.selected", { hasText: "[80, 96)" }).waitFor();
    await page.locator(".mask-canvas").focus();
    await page.keyboard.press("Escape");
    await tab(page, "Numbers");
    await layer(page, "Density");
  },

  "the mask of each item and head of a batch can be looked at, and a link keeps it": async ({
    openPage,
    base,
    shotOf,
  }) => {
    const { page, faults, context } = await openPage();
    await openText(page, base, BATCH);
    const hashes = [await pictureHash(page)];
    await page.getByRole("button", { name: "Next item" }).click();
    assert.equal(await page.getByLabel("Item", { exact: true }).inputValue(), "1");
    await newPicture(page, hashes[0]);
    hashes.push(await pictureHash(page));
    await page.getByLabel("Head", { exact: true }).selectOption("1");
    await newPicture(page, hashes[1]);
    await compiled(page);
    hashes.push(await pictureHash(page));
    assert.equal(new Set(hashes).size, 3);
    await page.waitForFunction(() => /[?&]item=1&head=1/.test(location.search));
    await shotOf(page, "mask-batch");
    await accessible(page, "mask of a batch");
    await page.waitForFunction(() => location.hash.startsWith("#p="));
    await page.reload();
    await page.waitForFunction((hash) => document.querySelector(".mask-canvas").dataset.hash === hash, hashes[2]);
    await page.getByLabel("prefix", { exact: false }).first().fill("5");
    await page.waitForFunction(() => !/[?&]item=/.test(location.search));
    assert.equal(await page.getByLabel("Item", { exact: true }).count(), 0);
    assert.deepEqual(faults, []);
    await context.close();
  },

  "colours and patterns can be chosen and are kept": async ({ page, shot }) => {
    await page.getByRole("button", { name: "Colours and view" }).click();
    await page.getByLabel("Violet and yellow").check();
    await untilColour(page, "#44156b");
    await page.getByLabel("Patterns beside the colours").check();
    await page.keyboard.press("Escape");
    await untilColour(page, "#44156b");
    await tab(page, "Numbers");
    const swatch = page.locator(".tile-numbers dl .swatch.full").first();
    assert.equal(await swatch.evaluate((one) => getComputedStyle(one).backgroundColor), "rgb(68, 21, 107)");
    await shot("mask-patterns");
    await page.reload();
    await newPicture(page, null);
    await untilColour(page, "#44156b");
    await page.getByRole("button", { name: "Colours and view" }).click();
    await page.getByLabel("Patterns beside the colours").uncheck();
    await page.getByLabel("Blue and orange").check();
    await page.keyboard.press("Escape");
    await untilColour(page, FULL);
  },

  "the small picture moves the large one": async ({ page }) => {
    assert.equal(await page.locator(".mask-minimap").count(), 0);
    for (let i = 0; i < 2; i++) await page.getByRole("button", { name: "Zoom in" }).click();
    const box = await page.locator(".mask-minimap canvas").boundingBox();
    await page.mouse.click(box.x + box.width - 6, box.y + box.height - 6);
    await page.locator("p", { hasText: /In view: queries \d+ to 95, keys \d+ to 95\./ }).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Fit the whole mask" }).click();
    await page.locator("p", { hasText: "All of it is in view." }).waitFor({ state: "attached" });
  },

  "a mask of a million tokens is panned smoothly": async ({ openPage, base, shotOf }) => {
    const { page, faults, context } = await openPage();
    await openText(page, base, MILLION);
    await canvasIsDrawn(page);
    for (let i = 0; i < 4; i++) await page.getByRole("button", { name: "Zoom in" }).click();
    await page.locator(".mask-minimap").waitFor();
    const busy = new Busyness();
    busy.note(2);
    const idle = await frameRate(page, 1, false);
    busy.note(2);
    const panning = await frameRate(page, 3, true);
    busy.note(2);
    const least = FRAMES_A_SECOND / (busy.factor * slowness);
    console.log(
      `      ${panning.toFixed(0)} frames a second while panning, ${idle.toFixed(0)} at rest, ${least.toFixed(0)} wanted`,
    );
    assert.ok(panning >= least, `${panning} frames a second, ${least} wanted`);
    await page.locator("p", { hasText: /In view: queries/ }).waitFor({ state: "attached" });
    await shotOf(page, "mask-million");
    assert.deepEqual(faults, []);
    await context.close();
  },

  "regions too many to list are named where one looks": async ({ openPage, base, shotOf }) => {
    const { page, faults, context } = await openPage();
    await openText(page, base, PACKED);
    await page.locator(".mask-canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(".cell-text", { hasText: /query 0 – key 0/ }).waitFor();
    for (let i = 0; i < 9; i++) await page.getByRole("button", { name: "Zoom in" }).click();
    await page.locator(".mask-canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(".cell-text", { hasText: /query \d+ \(D\[\d+\]\) – key \d+ \(D\[\d+\]\)/ }).waitFor();
    await shotOf(page, "mask-packed");
    assert.deepEqual(faults, []);
    await context.close();
  },

  "it can be read on a phone": async ({ openPage, base, shotOf }) => {
    for (const theme of ["light", "dark"]) {
      const { page, faults, context } = await openPage({ width: 390, height: 844, theme });
      await page.goto(`${base}/?layer=rules&q=80&k=20`);
      await newPicture(page, null);
      for (const label of ["Cost", "Row", "Descriptor"]) {
        await tab(page, label);
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        await fitsWidth(page, `${label} on a phone`);
        await accessible(page, `${label} on a phone, ${theme}`);
        await shotOf(page, `mask-${label.toLowerCase()}-phone-${theme}`);
      }
      assert.deepEqual(faults, []);
      await context.close();
    }
  },
};
