/** Which sources a build belongs to: tests/page/test_build.py computes the same. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCES = ["index.html", "licences.txt", "package-lock.json", "public", "src", "stamp.ts", "tsconfig.json", "vite.config.ts"];

export function stamp(root: string): string {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    for (const path of files(root, source)) hash.update(`${path}\0`).update(readFileSync(join(root, path))).update("\0");
  }
  return hash.digest("hex");
}

/** The files below `path`, by their places in `root`. */
export function files(root: string, path: string): string[] {
  if (path.includes(".") && !path.endsWith("/")) return [path];
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}
