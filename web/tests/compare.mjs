/**
 * The TypeScript on a recording that Python has worked on: node tests/compare.mjs FOLDER, after `npm run unit`.
 *
 * FOLDER has tasks.json (a list of {name, do, rate, target, file, seen, plans}), and <name>.in.f32; the results go to <name>.out.f32.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { sampleRateOf } from "../build/files/rate.js";
import { Stream } from "../build/live/stream.js";
import { fillEmpty } from "../build/sound/bands.js";
import { enhance } from "../build/sound/enhance.js";
import { resample } from "../build/sound/resample.js";
import { Stft } from "../build/sound/stft.js";
import { planWindows } from "../build/sound/windows.js";

const folder = process.argv[2];

/** A model that both sides know: its gain falls with the frequency, and follows the loudness of the frame. */
function gainOf(spectrum) {
  const gain = new Float32Array(spectrum.length);
  for (let start = 0; start < spectrum.length; start += 514) {
    let power = 0;
    for (let k = start; k < start + 514; k++) power += spectrum[k] ** 2;
    const open = power / (power + 1000);
    for (let bin = 0; bin < 257; bin++) {
      gain[start + 2 * bin] = open * (1 - bin / 400);
      gain[start + 2 * bin + 1] = 0.1 * open;
    }
  }
  return gain;
}

const model = { sampleRate: 16000, size: 512, hop: 256, step: async (x) => gainOf(x), gain: async (x) => gainOf(x) };

const work = {
  stft: async (x) => new Stft(512, 256).forward(x),
  async fill(x, { seen }) {
    fillEmpty(x, 257, seen);
    return x;
  },
  resample: async (x, { rate, target }) => resample(x, rate, target),
  async stream(x, { rate }) {
    const stream = new Stream(rate, model);
    const blocks = [];
    for (let at = 0; at < x.length; at += 700) blocks.push(...(await stream.process(x.subarray(at, at + 700))));
    return Float32Array.from([stream.latency, ...blocks]);
  },
  async enhance(x, { rate }) {
    const result = new Float32Array(x.length);
    const source = { sampleRate: rate, channels: 1, frames: x.length, read: async (start, length) => [x.slice(start, start + length)] };
    await enhance(source, model, (start, [plane]) => result.set(plane, start));
    return result;
  },
  async plan(_, { plans }) {
    const windows = plans.map(([frames, channels, rate]) => planWindows(frames, channels, rate, 16000, 256));
    return Float32Array.from(windows.flatMap(({ stride, overlap, count }) => [stride, overlap, count]));
  },
  rate: async (_, { file }) => Float32Array.of(sampleRateOf(toArrayBuffer(readFileSync(join(folder, file))))),
};

for (const task of JSON.parse(readFileSync(join(folder, "tasks.json"), "utf8"))) {
  const input = new Float32Array(toArrayBuffer(readFileSync(join(folder, `${task.name}.in.f32`))));
  const output = await work[task.do](input, task);
  writeFileSync(join(folder, `${task.name}.out.f32`), Buffer.from(output.buffer, output.byteOffset, output.byteLength));
}

function toArrayBuffer(buffer) {
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.length);
}
