// The user's story in a real browser against the real server: `npm run e2e [part of a story's name ...]`.
// `SLOW=6` makes the browser six times slower and delays the server's answers: every story must hold then, too.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser, openPage } from "./browser.mjs";
import * as appearance from "./stories/appearance.mjs";
import * as drafts from "./stories/drafts.mjs";
import * as editor from "./stories/editor.mjs";
import * as gallery from "./stories/gallery.mjs";
import * as keyboard from "./stories/keyboard.mjs";
import * as mask from "./stories/mask.mjs";
import * as resilience from "./stories/resilience.mjs";
import * as runs from "./stories/runs.mjs";
import * as states from "./stories/states.mjs";
import { openStudio } from "./studio.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const pictures = join(here, "../test-results");
const asked = process.argv.slice(2);
if (asked.length === 0) rmSync(pictures, { recursive: true, force: true });
mkdirSync(pictures, { recursive: true });
const stories = [editor, mask, gallery, drafts, runs, keyboard, appearance, states, resilience].filter(
  (story) => asked.length === 0 || asked.some((part) => story.name.includes(part)),
);

async function runStory(story, browser, studio) {
  const base = studio.url;
  const { page, context, faults, state } = await openPage(browser, base);
  const shotOf = (of, title) => of.screenshot({ path: join(pictures, `${title}.png`) });
  const tools = {
    page,
    context,
    base,
    studio,
    state,
    openPage: (options) => openPage(browser, base, options),
    shot: (title) => shotOf(page, title),
    shotOf,
  };
  const failed = [];
  console.log(story.name);
  for (const [title, step] of Object.entries(story.steps)) {
    const start = Date.now();
    try {
      await step(tools);
      if (faults.length > 0) throw new Error(faults.splice(0).join("\n"));
      console.log(`  ok    ${title} (${Date.now() - start} ms)`);
    } catch (error) {
      failed.push(`${story.name}: ${title}`);
      console.log(`  FAIL  ${title}\n${String(error.stack).replace(/^/gm, "        ")}`);
      await page.screenshot({ path: join(pictures, `FAIL-${story.name}-${failed.length}.png`) });
      faults.length = 0;
    }
  }
  await context.close();
  return failed;
}

if (!process.env.STUDIO_URL) {
  const check = spawnSync(process.execPath, [join(here, "../scripts/source-hash.mjs"), "--check"], {
    stdio: "inherit",
  });
  if (check.status !== 0) process.exit(1);
}
const studio = await openStudio();
const browser = await openBrowser();
const failed = [];
try {
  for (const story of stories) failed.push(...(await runStory(story, browser, studio)));
} finally {
  await browser.close();
  await studio.close();
}
if (failed.length > 0) {
  console.log(
    `\n${failed.length} failed:\n${failed.map((line) => `  ${line}`).join("\n")}\nPictures are in ${pictures}`,
  );
  process.exit(1);
}
console.log("\nall passed");
