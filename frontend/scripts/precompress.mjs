// Writes a packed copy beside each built script and style sheet, which the server sends to browsers that take it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";

const built =
  process.env.COMPILEMASK_STATIC_DIR ??
  join(dirname(fileURLToPath(import.meta.url)), "../../backend/compilemask_studio/_static");
/** Below this many bytes a packed copy saves no packet. */
const LEAST = 1400;

for (const name of readdirSync(join(built, "assets")).filter((file) => /\.(js|css)$/.test(file))) {
  const path = join(built, "assets", name);
  const content = readFileSync(path);
  if (content.length >= LEAST) writeFileSync(`${path}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}
