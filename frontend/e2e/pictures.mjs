// Takes the pictures of the studio that the documents show: `npm run pictures`.
import { join } from "node:path";
import { openBrowser, openPage } from "./browser.mjs";
import { newPicture, settled } from "./checks.mjs";
import { openStudio, root } from "./studio.mjs";

const studio = await openStudio();
const browser = await openBrowser();
try {
  const { page, faults } = await openPage(browser, studio.url);
  await page.goto(studio.url);
  await newPicture(page, null);
  const canvas = page.locator(".mask-canvas");
  const small = await canvas.getAttribute("data-hash");
  await page.getByRole("button", { name: "Gallery", exact: true }).click();
  await page.locator('[data-preset="shared_prompt"]').click();
  await newPicture(page, small);
  await page.getByRole("button", { name: "Rules", exact: true }).click();
  await settled(page);
  // A cell that a rule shows: its line in the text is lit, and the words under the picture name it.
  const { width, height } = await canvas.boundingBox();
  await canvas.hover({ position: { x: width * 0.62, y: height * 0.66 } });
  await page.locator(".cm-litLine").first().waitFor();
  await settled(page);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  await page.screenshot({ path: join(root, "docs/images/studio.png") });
} finally {
  await browser.close();
  await studio.close();
}
