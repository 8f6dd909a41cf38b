/** The exported models in onnxruntime-web: spectra in, gains out. */

import * as ort from "onnxruntime-web/wasm";

import type { StepModel } from "../live/stream.ts";
import type { WindowModel } from "../sound/enhance.ts";

/** The frames of both bundled models; a graph of other shapes does not run. */
const SAMPLE_RATE = 16_000;
const SIZE = 512;
const HOP = 256;
const BINS = SIZE / 2 + 1;
const WARM_UP = 12; // steps until the browser has fully compiled the code; the first ones are slow

/** Start onnxruntime with its compiled code; one thread needs no special headers from the server. */
export function startRuntime(wasm: ArrayBuffer): void {
  ort.env.wasm.wasmBinary = wasm;
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.proxy = false;
  ort.env.logLevel = "error";
}

async function open(content: ArrayBuffer, name: string): Promise<ort.InferenceSession> {
  try {
    return await ort.InferenceSession.create(new Uint8Array(content), { executionProviders: ["wasm"], logSeverityLevel: 3 });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    if (!/protobuf|INVALID/i.test(said)) throw new Error(`models/${name}.onnx could not be started: ${said}`);
    throw new Error(`models/${name}.onnx is damaged, or not a model.`);
  }
}

export async function openWindowModel(content: ArrayBuffer): Promise<WindowModel> {
  const session = await open(content, "compact");
  return {
    sampleRate: SAMPLE_RATE,
    size: SIZE,
    hop: HOP,
    async gain(spectrum, frames) {
      const { gain } = await session.run({ spectrum: new ort.Tensor("float32", spectrum, [1, frames, BINS, 2]) });
      return (gain as ort.Tensor).data as Float32Array;
    },
  };
}

/** A model with the states that its graph takes and gives back as `next_...`. */
export async function openStepModel(content: ArrayBuffer): Promise<() => StepModel> {
  const session = await open(content, "live");
  const shapes = session.inputMetadata.flatMap((input) => (input.isTensor && input.name !== "spectrum" ? [input] : []));
  const fresh = (): StepModel => {
    let states: Record<string, ort.Tensor> = {};
    for (const { name, shape } of shapes) {
      const sizes = shape as number[];
      states[name] = new ort.Tensor("float32", new Float32Array(sizes.reduce((a, b) => a * b, 1)), sizes);
    }
    return {
      sampleRate: SAMPLE_RATE,
      hop: HOP,
      async step(spectrum) {
        const results = await session.run({ ...states, spectrum: new ort.Tensor("float32", spectrum, [1, 1, BINS, 2]) });
        states = Object.fromEntries(shapes.map(({ name }) => [name, results[`next_${name}`] as ort.Tensor]));
        return (results["gain"] as ort.Tensor).data as Float32Array;
      },
    };
  };
  const trial = fresh();
  for (let n = 0; n < WARM_UP; n++) await trial.step(new Float32Array(2 * BINS));
  return fresh;
}
