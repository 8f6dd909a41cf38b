import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { defineConfig, type Plugin } from "vite";

import { stamp } from "./stamp.ts";

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
      this.emitFile({ type: "asset", fileName: "build.json", source: `${JSON.stringify({ sources: stamp(import.meta.dirname) })}\n` });
    },
  };
}

export default defineConfig({
  base: "./", // the folder may lie anywhere on a server
  define: { __RUNTIME__: JSON.stringify(RUNTIME) },
  worker: { format: "es", plugins: () => [withoutWasm()] },
  plugins: [runtime()],
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
