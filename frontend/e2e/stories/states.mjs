// What stands in place of contents: nothing yet, nothing at all, not there any more, on its way. And how it is reached.
import assert from "node:assert/strict";
import { accessible, fitsWidth, newPicture } from "../checks.mjs";
import { linkOf } from "../texts.mjs";

export const name = "states";

const BROKEN = "mask broken(n: int)\ntokens { S: n }\nS sees T";
const ADDRESSES_OF_NOTHING = ["/runs/999999", "/launches/999999", "/no/such/page"];

/** Only the page's own area scrolls: the window itself has nothing to scroll to. */
async function windowStands(page, where) {
  const [scroll, client] = await page.evaluate(() => [
    document.documentElement.scrollHeight,
    document.documentElement.clientHeight,
  ]);
  assert.ok(scroll <= client, `${where}: the window scrolls ${scroll - client} px behind the page`);
}

/** Answers to `path` wait until `open` is called. */
async function gate(page, path) {
  let open;
  const opened = new Promise((resolve) => {
    open = resolve;
  });
  await page.route(`**${path}*`, async (route) => {
    await opened;
    await route.continue();
  });
  return open;
}

export const steps = {
  "an address of nothing says so and leads on": async ({ page, base, state }) => {
    state.expectNetworkErrors = true;
    for (const address of ADDRESSES_OF_NOTHING) {
      await page.goto(base + address);
      const title = page.getByRole("heading", { level: 1, name: /^There is no/ });
      await title.waitFor();
      await page.locator(".empty .button.primary").waitFor();
      assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0, "there is nothing to try again");
      await windowStands(page, address);
      await accessible(page, address);
    }
    state.expectNetworkErrors = false;
  },

  "lists of nothing say what to do": async ({ page, base }) => {
    await page.goto(`${base}/masks?q=nothing+like+it`);
    await page.getByRole("heading", { name: /No saved mask matches/ }).waitFor();
    await page.getByRole("button", { name: "Show all masks" }).click();
    await page.waitForURL(/\/masks$/);
    await page.goto(`${base}/runs?q=nothing+like+it`);
    await page.getByRole("heading", { name: "Nothing matches" }).waitFor();
    await accessible(page, "a table in which nothing matches");
    await page.getByRole("button", { name: "Show all runs" }).click();
    await page.waitForURL(/\/runs$/);
    await page.goto(`${base}/diff`);
    await page.getByRole("button", { name: "Choose the left mask" }).click();
    await page.getByRole("dialog", { name: "Mask on the left" }).waitFor();
    await page.locator(".side-picker button").first().waitFor();
    const [wide, room] = await page.locator(".dialog-body").evaluate((body) => [body.scrollWidth, body.clientWidth]);
    assert.ok(wide <= room, "the list of masks is cut at the right");
  },

  "a program without a picture says why, in both themes": async ({ openPage, base, shotOf }) => {
    for (const theme of ["light", "dark"]) {
      const { page, context, faults } = await openPage({ theme });
      await page.goto(linkOf(base, BROKEN));
      await page.getByRole("heading", { name: "No picture yet" }).waitFor();
      await page.getByText("there is no region").first().waitFor();
      await shotOf(page, `no-picture-${theme}`);
      await page.getByRole("button", { name: "Show the problems" }).click();
      await page.locator(".problem").first().waitFor();
      await accessible(page, `no picture, ${theme}`);
      // Mended, it has a picture; broken again, the picture and the numbers are those of an older text.
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+End");
      await page.keyboard.press("Backspace");
      await page.keyboard.type("S");
      await newPicture(page, null);
      await page.getByRole("tab", { name: "Numbers" }).click();
      await page.getByTestId("visible-pairs").waitFor();
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type(" where");
      await page.getByText("Of the last mask that compiled").waitFor();
      await accessible(page, `numbers of an older text, ${theme}`);
      assert.deepEqual(faults, []);
      await context.close();
    }
  },

  "placeholders stand where the contents will stand": async ({ page, base, shot }) => {
    await page.goto(base);
    await newPicture(page, null);
    const open = await gate(page, "/api/presets");
    await page.getByRole("button", { name: "Gallery", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Gallery" });
    await dialog.getByRole("status", { name: "Loading" }).or(dialog.locator(".gallery-card")).first().waitFor();
    const before = await dialog.boundingBox();
    await shot("gallery-waiting");
    open();
    await dialog.locator(".gallery-card").first().waitFor();
    assert.deepEqual(await dialog.boundingBox(), before, "the dialog grows while it is read");
    await page.keyboard.press("Escape");
    await page.unroute("**/api/presets*");
    const openRuns = await gate(page, "/api/runs?");
    await page.goto(`${base}/runs`);
    await page.getByRole("status", { name: "Loading" }).waitFor();
    await accessible(page, "a table that is read");
    openRuns();
    await page.getByRole("status", { name: "Loading" }).waitFor({ state: "detached" });
  },

  "menus are opened, used and left by keyboard": async ({ page, base }) => {
    await page.goto(`${base}/runs`);
    const columns = page.getByRole("button", { name: "Columns" });
    await columns.focus();
    await page.keyboard.press("Enter");
    const note = page.getByLabel("Verdict", { exact: true }).and(page.getByRole("checkbox"));
    await note.waitFor();
    await accessible(page, "an open menu");
    await page.keyboard.press("Tab");
    assert.ok(await note.evaluate((box) => box === document.activeElement), "Tab leads into the menu");
    await page.keyboard.press("Escape");
    await note.waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.textContent === "Columns");
  },

  "what has the focus can be seen": async ({ page, base }) => {
    await page.goto(`${base}/environment`);
    await page.locator(".provider-table").waitFor();
    const unseen = [];
    for (let stop = 0; stop < 10; stop++) {
      await page.keyboard.press("Tab");
      const told = await page.evaluate(() => {
        const element = document.activeElement;
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
        const ring = (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2) || boxShadow !== "none";
        return { ring, html: element.outerHTML.slice(0, 120) };
      });
      if (!told.ring) unseen.push(told.html);
    }
    assert.deepEqual(unseen, []);
  },

  "twice as large, nothing is cut and nothing moves that should not": async ({ openPage, base }) => {
    const { page, context, faults } = await openPage({ width: 720, height: 450 });
    await page.emulateMedia({ reducedMotion: "reduce" });
    for (const path of ["/", "/masks", "/runs", "/launches", "/compare", "/environment", "/diff"]) {
      await page.goto(base + path);
      await page.locator("h1").first().waitFor();
      await fitsWidth(page, `${path} at 200 %`);
      await windowStands(page, `${path} at 200 %`);
    }
    await page.goto(base);
    await newPicture(page, null);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Start" }).scrollIntoViewIfNeeded();
    const box = await page.getByRole("button", { name: "Start" }).boundingBox();
    assert.ok(box.y + box.height <= 450 && box.x + box.width <= 720, "the dialog's buttons are in the window");
    const lasting = await page.evaluate(
      () => document.getAnimations().filter((one) => one.effect.getComputedTiming().activeDuration > 1).length,
    );
    assert.equal(lasting, 0, "something moves though it should not");
    assert.deepEqual(faults, []);
    await context.close();
  },
};
