// A hash of everything the user interface is built from. `--write` stores it beside the built files as ui-hash.txt;
// `--check` fails when the built files come from other sources. Without an option the hash is printed.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const built = process.env.COMPILEMASK_STATIC_DIR ?? join(root, "../backend/compilemask_studio/_static");
const stored = join(built, "ui-hash.txt");
const inputs = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "public", "src"];

function filesUnder(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesUnder(join(path, name)));
}

function sourceHash() {
  const files = inputs.flatMap((name) => filesUnder(join(root, name))).sort();
  const hash = createHash("sha256");
  for (const file of files) {
    hash.update(`${relative(root, file).split(sep).join("/")}\0`);
    hash.update(readFileSync(file));
    hash.update("\0");
  }
  return hash.digest("hex");
}

const hash = sourceHash();
if (process.argv.includes("--write")) {
  writeFileSync(stored, `${hash}\n`);
} else if (process.argv.includes("--check")) {
  const known = existsSync(stored) ? readFileSync(stored, "utf8").trim() : "nothing";
  if (known !== hash) {
    console.error(
      `The built user interface is stale: it was built from ${known.slice(0, 12)}, the sources are ${hash.slice(0, 12)}. Run: npm run build`,
    );
    process.exit(1);
  }
} else {
  console.log(hash);
}
