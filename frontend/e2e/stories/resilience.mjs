// The server goes away and comes back; nothing that was typed is lost.
import assert from "node:assert/strict";
import { canvasIsDrawn, compiled, newPicture, pictureHash, settled } from "../checks.mjs";

export const name = "resilience";

export const steps = {
  "without a server the text stays and a banner says so; with it, the text is compiled": async ({
    page,
    base,
    studio,
    state,
    shot,
  }) => {
    if (!studio.owned) return;
    await page.goto(base);
    await newPicture(page, null);
    await compiled(page);
    state.expectNetworkErrors = true;
    const before = await pictureHash(page);
    await studio.stop();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\n# typed while the server was away");
    await page.locator(".banner", { hasText: "does not answer" }).waitFor();
    await shot("server-away");
    assert.match(await page.locator(".cm-content").textContent(), /typed while the server was away/);
    assert.equal(await pictureHash(page), before);
    await studio.start();
    await page.locator(".banner").waitFor({ state: "detached", timeout: 30_000 });
    await compiled(page);
    assert.match(await page.locator(".cm-content").textContent(), /typed while the server was away/);
    state.expectNetworkErrors = false;
  },

  "a server that was started anew compiles what the picture needs": async ({ page, studio, state }) => {
    if (!studio.owned) return;
    const before = await pictureHash(page);
    await page.getByRole("button", { name: "large", exact: true }).click();
    await newPicture(page, before);
    await compiled(page);
    state.expectNetworkErrors = true;
    await studio.stop();
    // As soon as the page finds the server, or when the server does not know the mask of a finer tile.
    const anew = page.waitForResponse((response) => response.ok() && response.url().endsWith("/api/compile"));
    await studio.start();
    for (let i = 0; i < 5; i++) await page.getByRole("button", { name: "Zoom in" }).click();
    await anew;
    await compiled(page);
    await settled(page);
    assert.equal(await page.locator(".mask-banner.fault").count(), 0);
    await canvasIsDrawn(page);
    state.expectNetworkErrors = false;
  },

  "a damaged link is refused in words and leaves the draft alone": async ({ page, base }) => {
    await page.goto(`${base}/#p=AAAAgarbage`);
    await page.reload();
    await page.getByText("This link is damaged").waitFor();
    await newPicture(page, null);
    assert.match(await page.locator(".cm-content").textContent(), /typed while the server was away|mask/);
  },

  "an address that names nothing says so": async ({ page, base }) => {
    await page.goto(`${base}/nowhere`);
    await page.getByText("There is no such page").waitFor();
  },
};
