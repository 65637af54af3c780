// A hash of everything the user interface is built from. `--write` stores it beside the built files as ui-hash.txt;
// `--check` fails when the built files come from other sources. Without an option the hash is printed.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const stored = join(root, "../backend/compilemask_studio/_static/ui-hash.txt");
const inputs = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "public", "src"];

function filesUnder(path) {
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const inner = join(path, entry.name);
    return entry.isDirectory() ? filesUnder(inner) : [inner];
  });
}

export function sourceHash() {
  const files = inputs
    .map((name) => join(root, name))
    .flatMap((path) => (path.includes(".") && !isFolder(path) ? [path] : filesUnder(path)));
  const hash = createHash("sha256");
  for (const file of files.sort()) {
    hash.update(relative(root, file).split(sep).join("/"));
    hash.update("\0");
    hash.update(readFileSync(file));
    hash.update("\0");
  }
  return hash.digest("hex");
}

function isFolder(path) {
  try {
    readdirSync(path);
    return true;
  } catch {
    return false;
  }
}

const hash = sourceHash();
if (process.argv.includes("--write")) {
  writeFileSync(stored, `${hash}\n`);
} else if (process.argv.includes("--check")) {
  const built = existsSync(stored) ? readFileSync(stored, "utf8").trim() : "nothing";
  if (built !== hash) {
    console.error(
      `The built user interface is stale: it was built from ${built.slice(0, 12)}, the sources are ${hash.slice(0, 12)}. Run: npm run build`,
    );
    process.exit(1);
  }
} else {
  console.log(hash);
}
