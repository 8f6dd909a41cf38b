/** Everything that the page needs besides its own code, fetched once when it loads; after that it requests nothing. */

declare const __RUNTIME__: string; // the name of onnxruntime's compressed code

export interface Assets {
  wasm: ArrayBuffer;
  compact: ArrayBuffer;
  live: ArrayBuffer;
}

export async function fetchAssets(): Promise<Assets> {
  const [packed, compact, live] = await Promise.all([__RUNTIME__, "models/compact.onnx", "models/live.onnx"].map(get));
  return { wasm: await unpack(packed!), compact: compact!, live: live! };
}

async function get(path: string): Promise<ArrayBuffer> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path} could not be loaded: the server answered ${response.status}.`);
  return response.arrayBuffer();
}

/** Some servers send a .gz file already unpacked. */
async function unpack(bytes: ArrayBuffer): Promise<ArrayBuffer> {
  const [first, second] = new Uint8Array(bytes, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
