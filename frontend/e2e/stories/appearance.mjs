// Every page in both themes and two sizes: screenshots, axe, nothing wider than the window.
import { accessible, fitsWidth, newPicture, settled } from "../checks.mjs";
import { ASSERTING, FIELDS, openText } from "../texts.mjs";

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
        await page.getByRole("button", { name: "Gallery", exact: true }).click();
        await page.locator(".gallery-card").first().waitFor();
      },
    },
    assertions: {
      path: "/",
      ready: async (page, base) => {
        await openText(page, base, ASSERTING);
        await page.getByRole("tab", { name: /Problems/ }).click();
        await page.getByRole("button", { name: /^Show query/ }).click();
        await page.locator(".cm-litLine").waitFor();
      },
    },
    fields: {
      path: "/",
      ready: async (page, base) => {
        await openText(page, base, FIELDS);
        await page.getByLabel("answers", { exact: true }).fill("4, 6\n8, two");
        await page.getByText("is not a whole number").scrollIntoViewIfNeeded();
      },
    },
    about: {
      path: "/",
      ready: async (page) => {
        await newPicture(page, null);
        await page.getByRole("button", { name: "Gallery", exact: true }).click();
        await page.getByRole("button", { name: "About HSTU recommender" }).click();
        await page.locator(".gallery-text").scrollIntoViewIfNeeded();
      },
    },
    share: {
      path: "/",
      ready: async (page) => {
        await newPicture(page, null);
        await page.getByRole("button", { name: "Share", exact: true }).click();
        await page.getByRole("button", { name: "Copy as Python" }).waitFor();
      },
    },
    save: {
      path: "/",
      ready: async (page) => {
        await newPicture(page, null);
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.getByRole("dialog", { name: "Save mask" }).waitFor();
      },
    },
    masks: {
      path: "/masks",
      ready: async (page) => {
        await page.locator(".saved-name").first().waitFor();
        await page.getByRole("button", { name: "Versions" }).first().click();
        await page.locator(".versions li").first().waitFor();
      },
    },
    diff: {
      path: "/diff?left=preset:hstu&right=preset:hstu_window",
      ready: (page) => page.locator('.diff-canvas canvas[data-drawn*="/"]').waitFor(),
    },
    "same-masks": {
      path: "/diff?left=preset:neighborhood&right=preset:neighborhood",
      ready: (page) => page.getByText("The masks are the same.").waitFor(),
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
    queue: { path: "/launches", ready: (page) => page.locator(".launch-line").first().waitFor() },
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

/** A saved mask to show: a stored one, else a new one with two versions. */
async function savedMask(base) {
  const listed = await (await fetch(`${base}/api/saved-masks`)).json();
  if (listed.total > 0) return;
  const post = async (path, body) =>
    (
      await fetch(`${base}/api/saved-masks${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      })
    ).json();
  const { id } = await post("", { name: "window with sinks", source: ASSERTING, note: "first try" });
  await post(`/${id}/versions`, { source: FIELDS, note: "a window of eight tokens" });
}

/** Reads a stream of events until a launch has ended. */
async function launchEnded(events, id) {
  let text = "";
  for await (const chunk of events.body.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split("\n");
    text = lines.pop();
    for (const line of lines.filter((one) => one.startsWith("data: "))) {
      const { launch } = JSON.parse(line.slice("data: ".length));
      if (launch?.id === id && launch.state !== "queued" && launch.state !== "running") return;
    }
  }
  throw new Error("the stream of events ended before the launch did");
}

/** Two runs to show: stored ones, else new ones. */
async function passedRuns(base) {
  const read = async () =>
    (await (await fetch(`${base}/api/runs?verdict=passed&limit=2`)).json()).items.map((run) => run.id);
  if ((await read()).length < 2) {
    const source = "mask causal(n: int)\ntokens { S: n }\nS sees S causal";
    const body = JSON.stringify({ source, values: { n: 64 }, providers: ["torch", "sdpa"], name: "to look at" });
    // Before the launch, so that none of its events is missed.
    const events = await fetch(`${base}/api/events`);
    const answer = await fetch(`${base}/api/launches`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    if (!answer.ok) throw new Error(await answer.text());
    await launchEnded(events, (await answer.json()).id);
  }
  return read();
}

export const steps = Object.fromEntries(
  SIZES.flatMap((size) =>
    ["light", "dark"].map((theme) => [
      `all pages, ${size.name}, ${theme}`,
      async ({ base, openPage, shotOf }) => {
        const { page, context, faults } = await openPage({ ...size, theme });
        await savedMask(base);
        for (const [title, { path, ready }] of Object.entries(pagesOf(await passedRuns(base)))) {
          await page.goto("about:blank");
          await page.goto(base + path);
          await ready(page, base);
          await settled(page);
          await shotOf(page, `${title}-${size.name}-${theme}`);
          await fitsWidth(page, `${title}, ${size.name}`);
          await accessible(page, `${title}, ${size.name}, ${theme}`);
          if (faults.length > 0) throw new Error(`${title}: ${faults.join("; ")}`);
        }
        await context.close();
      },
    ]),
  ),
);
