import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { defineConfig, type Plugin } from "vite";

import { files, stamp } from "./stamp.ts";

const ORT = join(import.meta.dirname, "node_modules", "onnxruntime-web");
const { version } = JSON.parse(readFileSync(join(ORT, "package.json"), "utf8")) as { version: string };
const RUNTIME = `onnxruntime-${version}.wasm.gz`;

/** Puts onnxruntime's code for one thread beside the page, compressed, and in place of the copy that vite makes. */
function runtime(): Plugin {
  return {
    name: "runtime",
    generateBundle(_, bundle) {
      for (const name of Object.keys(bundle)) if (name.endsWith(".wasm")) delete bundle[name];
      if (this.environment.name !== "client") return;
      const wasm = readFileSync(join(ORT, "dist", "ort-wasm-simd-threaded.wasm"));
      this.emitFile({ type: "asset", fileName: RUNTIME, source: gzipSync(wasm, { level: 9 }) });
      this.emitFile({ type: "asset", fileName: "licences.txt", source: readFileSync("licences.txt") });
    },
  };
}

/** Writes build.json: of which sources this is, and the SHA-256 of every file, by which Python notices damaged ones. */
function manifest(): Plugin {
  return {
    name: "manifest",
    writeBundle({ dir }) {
      if (this.environment.name !== "client") return;
      const hash = (place: string): string => createHash("sha256").update(readFileSync(join(dir!, place))).digest("hex");
      const hashes = Object.fromEntries(files(dir!, "").map((place) => [place, hash(place)]));
      const content = { sources: stamp(import.meta.dirname), files: hashes };
      writeFileSync(join(dir!, "build.json"), `${JSON.stringify(content, null, 2)}\n`);
    },
  };
}

export default defineConfig({
  base: "./", // the folder may lie anywhere on a server
  define: { __RUNTIME__: JSON.stringify(RUNTIME) },
  worker: { format: "es", plugins: () => [withoutWasm()] },
  plugins: [runtime(), manifest()],
  build: {
    outDir: "../src/hamiltone/page/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

/** Workers are bundled apart. */
function withoutWasm(): Plugin {
  return {
    name: "without-wasm",
    generateBundle(_, bundle) {
      for (const name of Object.keys(bundle)) if (name.endsWith(".wasm")) delete bundle[name];
    },
  };
}
