// The import rules of the user interface:
//   app -> panes -> widgets -> domain, api; panes do not know each other; domain is pure (no DOM, no network, no React).
// And the size budget: no source file of 400 lines or more.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../src");
const allowed = {
  "": ["app", "styles"],
  app: ["app", "panes", "widgets", "domain", "api", "styles"],
  panes: ["widgets", "domain", "api"],
  widgets: ["widgets", "domain"],
  api: ["api", "domain"],
  domain: ["domain"],
};
const impure =
  /\b(document|window|localStorage|sessionStorage|navigator|fetch|HTML\w*Element|requestAnimationFrame|ResizeObserver)\b\s*[.(<]/;

function filesUnder(path) {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const inner = join(path, entry.name);
    return entry.isDirectory() ? filesUnder(inner) : [inner];
  });
}

function place(file) {
  const parts = relative(root, file).split(sep);
  const room = parts.length === 1 ? "" : parts[0];
  return { room, pane: room === "panes" ? parts[1] : null };
}

const faults = [];
for (const file of filesUnder(root)) {
  const name = relative(root, file);
  if (name.startsWith(join("api", "generated"))) continue;
  const text = readFileSync(file, "utf8");
  const lines = text.split("\n").length;
  if (lines > 400) faults.push(`${name}: ${lines} lines, the limit is 400`);
  if (!/\.tsx?$/.test(file)) continue;
  const from = place(file);
  if (!(from.room in allowed)) faults.push(`${name}: no such room as ${from.room}`);
  for (const [, typeOnly, target] of text.matchAll(
    /(?:^|\n)(?:import|export)\s+(type\s)?[^"';]*?["'](\.[^"']+)["']/g,
  )) {
    const to = place(normalize(join(dirname(file), target)) + (target.endsWith(".css") ? "" : ".ts"));
    const typesOfApi = ["domain", "widgets"].includes(from.room) && to.room === "api" && typeOnly;
    const samePane = from.pane !== null && from.pane === to.pane;
    if (!samePane && !typesOfApi && !(allowed[from.room] ?? []).includes(to.room)) {
      faults.push(`${name}: imports ${target}; ${from.room || "src"} may import ${allowed[from.room]?.join(", ")}`);
    }
  }
  if (from.room === "domain") {
    const found = text.replace(/\/\/.*|\/\*[\s\S]*?\*\//g, "").match(impure);
    if (found) faults.push(`${name}: domain is pure, but it uses ${found[1]}`);
    if (/from ["']react/.test(text)) faults.push(`${name}: domain is pure, but it imports React`);
  }
}
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
