// Every page in both themes and two sizes: screenshots, axe, nothing wider than the window.
import { accessible, fitsWidth, newPicture } from "../checks.mjs";

export const name = "appearance";

const SIZES = [
  { name: "desktop", width: 1440, height: 900 },
  { name: "phone", width: 390, height: 844 },
];

const drawn = (page) => page.locator('[data-chart="drawn"] .main-svg').first().waitFor();

function pagesOf(runs) {
  const [first, second] = runs;
  return {
    editor: { path: "/", ready: (page) => newPicture(page, null) },
    gallery: {
      path: "/",
      ready: async (page) => {
        await newPicture(page, null);
        await page.getByRole("button", { name: "Gallery" }).click();
        await page.waitForTimeout(600);
      },
    },
    "run-dialog": {
      path: "/",
      ready: async (page) => {
        await newPicture(page, null);
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.locator(".providers").waitFor();
      },
    },
    runs: { path: `/runs?sel=${first},${second}`, ready: (page) => page.locator("tr[data-run]").first().waitFor() },
    run: { path: `/runs/${first}`, ready: drawn },
    compare: { path: `/compare?ids=${first},${second}`, ready: drawn },
    environment: { path: "/environment", ready: (page) => page.locator(".provider-table").waitFor() },
    shortcuts: {
      path: "/environment",
      ready: async (page) => {
        await page.locator(".provider-table").waitFor();
        await page.keyboard.press("?");
        await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      },
    },
  };
}

async function passedRuns(base) {
  const answer = await fetch(`${base}/api/runs?verdict=passed&limit=2`);
  return (await answer.json()).items.map((run) => run.id);
}

export const steps = Object.fromEntries(
  SIZES.flatMap((size) =>
    ["light", "dark"].map((theme) => [
      `all pages, ${size.name}, ${theme}`,
      async ({ base, openPage, shotOf }) => {
        for (const [title, { path, ready }] of Object.entries(pagesOf(await passedRuns(base)))) {
          const { page, context, faults } = await openPage({ ...size, theme });
          await page.goto(base + path);
          await ready(page);
          await page.waitForTimeout(350);
          await shotOf(page, `${title}-${size.name}-${theme}`);
          await fitsWidth(page, `${title}, ${size.name}`);
          await accessible(page, `${title}, ${size.name}, ${theme}`);
          if (faults.length > 0) throw new Error(`${title}: ${faults.join("; ")}`);
          await context.close();
        }
      },
    ]),
  ),
);
