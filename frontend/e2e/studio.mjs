// Starts and stops the real server on a free port with a database of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "../..");
export const python = process.env.PYTHON ?? join(root, ".venv/bin/python");
const START_MS = 180_000;

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function launch(port, database) {
  const child = spawn(
    python,
    [join(here, "studio_with_fault.py"), "--no-browser", "--port", String(port), "--database", database],
    { cwd: root, stdio: ["ignore", "pipe", "pipe"] },
  );
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  child.stderr.on("data", (data) => {
    output += data;
  });
  const start = Date.now();
  while (!output.includes("http://")) {
    if (child.exitCode !== null || Date.now() - start > START_MS) {
      child.kill("SIGKILL");
      throw new Error(`The studio did not start:\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { child, output: () => output };
}

async function end(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(timer);
}

/** `stop` and `start` let a test take the server away and bring it back on the same port. */
export async function openStudio() {
  if (process.env.STUDIO_URL) {
    return { url: process.env.STUDIO_URL.replace(/\/$/, ""), owned: false, close: async () => {} };
  }
  const folder = mkdtempSync(join(tmpdir(), "compilemask-e2e-"));
  const database = join(folder, "studio.db");
  const port = await freePort();
  let running = await launch(port, database);
  return {
    url: `http://127.0.0.1:${port}`,
    owned: true,
    stop: () => end(running.child),
    start: async () => {
      running = await launch(port, database);
    },
    close: async () => {
      await end(running.child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
