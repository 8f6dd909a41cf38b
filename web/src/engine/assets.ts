/** Everything that the page needs besides its own code, fetched once when it loads; after that it requests nothing. */

declare const __RUNTIME__: string; // the name of onnxruntime's compressed code

export interface Assets {
  wasm: ArrayBuffer;
  compact: ArrayBuffer;
  live: ArrayBuffer;
}

export async function fetchAssets(): Promise<Assets> {
  const [wasm, compact, live] = await Promise.all([
    get(__RUNTIME__).then((packed) => unpack(packed)),
    get("models/compact.onnx"),
    get("models/live.onnx"),
  ]);
  return { wasm, compact, live };
}

async function get(path: string): Promise<ArrayBuffer> {
  let answer = "there is no answer";
  try {
    const response = await fetch(path);
    if (response.ok) return await response.arrayBuffer();
    answer = `the server answered ${response.status}`;
  } catch {
    // the network or the server is gone, perhaps halfway
  }
  throw new Error(`${path} could not be loaded: ${answer}.`);
}

/** Some servers send a .gz file already unpacked. */
async function unpack(bytes: ArrayBuffer): Promise<ArrayBuffer> {
  const [first, second] = new Uint8Array(bytes, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new Error(`${__RUNTIME__} is damaged or cut short.`);
  }
}
