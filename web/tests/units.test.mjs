/** The parts of the page that need no browser. `npm run unit` compiles them to build/ first. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { sampleRateOf } from "../build/files/rate.js";
import { BrokenFile, isWav, readWav, writeWav } from "../build/files/wav.js";
import { Ring } from "../build/live/ring.js";
import { Stream } from "../build/live/stream.js";
import { between } from "../build/sound/bands.js";
import { enhance } from "../build/sound/enhance.js";
import { Fft } from "../build/sound/fft.js";
import { Fifo } from "../build/sound/fifo.js";
import { resample } from "../build/sound/resample.js";
import { Stft } from "../build/sound/stft.js";
import { survey } from "../build/sound/survey.js";
import { fadeIn, planWindows } from "../build/sound/windows.js";

/** Numbers from -0.5 to 0.5, the same in every run. */
function noise(length, seed = 1) {
  let state = seed;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

function largest(a, b) {
  assert.equal(a.length, b.length);
  return a.reduce((most, value, n) => Math.max(most, Math.abs(value - b[n])), 0);
}

function source(planes, sampleRate) {
  return {
    sampleRate,
    channels: planes.length,
    frames: planes[0].length,
    read: async (start, length) => planes.map((plane) => plane.slice(start, start + length)),
  };
}

const unity = {
  sampleRate: 16000,
  size: 512,
  hop: 256,
  gain: async (spectrum) => spectrum.map((_, n) => 1 - (n % 2)),
  step: async (spectrum) => spectrum.map((_, n) => 1 - (n % 2)),
};

test("the Fourier transform is that of its definition", () => {
  const signal = noise(16);
  const pairs = new Float32Array(18);
  new Fft(16).forward(signal, pairs);
  for (let k = 0; k <= 8; k++) {
    const [re, im] = [0, Math.PI / 2].map((shift) => signal.reduce((sum, x, n) => sum + x * Math.cos((2 * Math.PI * k * n) / 16 + shift), 0));
    assert.ok(Math.abs(pairs[2 * k] - re) < 1e-6 && Math.abs(pairs[2 * k + 1] - im) < 1e-6);
  }
  assert.throws(() => new Fft(12), /power of two/);
});

test("the inverse of the short-time transform is exact for every length", () => {
  const stft = new Stft(512, 256);
  for (const length of [1, 255, 256, 257, 5000]) {
    const signal = noise(length);
    assert.ok(largest(stft.inverse(stft.forward(signal), length), signal) < 1e-6);
  }
});

test("a queue gives back what it took, in order", () => {
  const fifo = new Fifo(3);
  const all = noise(9000);
  const out = [];
  for (let at = 0; at < all.length; at += 700) {
    fifo.push(all.subarray(at, at + 700));
    out.push(...fifo.pop(Math.min(fifo.length, 650)));
  }
  out.push(...fifo.pop(fifo.length));
  assert.deepEqual(Float32Array.from(out.slice(3)), all);
});

test("resampling there and back keeps what both rates can carry", () => {
  const tone = Float32Array.from({ length: 44100 }, (_, n) => Math.sin((2 * Math.PI * 1000 * n) / 44100));
  const back = resample(resample(tone, 44100, 16000), 16000, 44100, tone.length);
  assert.ok(largest(back.slice(4000, -4000), tone.slice(4000, -4000)) < 1e-5);
  const high = tone.map((_, n) => Math.sin((2 * Math.PI * 9000 * n) / 44100));
  assert.ok(resample(high, 44100, 16000).slice(2000, -2000).every((value) => Math.abs(value) < 1e-5));
});

test("windows cover a recording and their weights add up to one", () => {
  for (const [frames, rate] of [[153601, 16000], [600 * 44100, 44100], [11 * 8000, 8000]]) {
    const { stride, overlap, count } = planWindows(frames, rate, 16000, 256);
    assert.ok(count > 1 && (count - 1) * stride + overlap < frames && count * stride + overlap >= frames);
  }
  assert.deepEqual(planWindows(153600, 16000, 16000, 256), { frames: 153600, stride: 153600, overlap: 0, count: 1 });
  const fade = fadeIn(1000);
  assert.ok(fade.every((weight, n) => Math.abs(weight + fade[999 - n] - 1) < 1e-6));
});

test("a gain of one gives the recording back, over all windows, rates and channels", async () => {
  for (const [rate, channels, seconds] of [[16000, 1, 11], [44100, 2, 11], [8000, 1, 1], [48000, 3, 0.01]]) {
    const planes = Array.from({ length: channels }, (_, n) => noise(Math.round(seconds * rate), n + 1));
    const result = planes.map((plane) => new Float32Array(plane.length));
    await enhance(source(planes, rate), unity, (start, blocks) => blocks.forEach((block, n) => result[n].set(block, start)));
    planes.forEach((plane, n) => assert.ok(largest(result[n], plane) < 1e-5, `${rate} Hz`));
  }
});

test("channels share a gain when their mean keeps their energy", async () => {
  const [left, right] = [noise(16000, 1), noise(16000, 2)];
  assert.equal((await survey(source([left, left], 16000), 16000)).length, 1);
  assert.equal((await survey(source([left, right], 16000), 16000)).length, 2);
  assert.equal((await survey(source([left, left.map((x) => -x)], 16000), 16000)).length, 2);
  const [{ level }] = await survey(source([new Float32Array(100)], 16000), 16000);
  assert.equal(level, 1);
  await assert.rejects(survey(source([Float32Array.of(0, NaN)], 16000), 16000), /not numbers/);
});

test("a stream with a gain of one is its input, later by the latency, in chunks of any size", async () => {
  for (const rate of [16000, 44100, 48000, 8000]) {
    const stream = new Stream(rate, unity);
    const signal = noise(rate);
    const out = [];
    for (let at = 0, size = 1; at < signal.length; at += size, size = (size * 7) % 997) out.push(...(await stream.process(signal.subarray(at, at + size))));
    assert.equal(out.length, signal.length);
    assert.ok(largest(out.slice(stream.latency), signal.slice(0, signal.length - stream.latency)) < 1e-5, `${rate} Hz`);
  }
});

test("NaN in a stream counts as silence", async () => {
  const stream = new Stream(16000, unity);
  const out = await stream.process(Float32Array.of(NaN, Infinity, ...new Float32Array(2000)));
  assert.ok(out.every((value) => value === 0));
});

test("the ring is silent until it is prefilled, counts gaps and keeps the delay bounded", () => {
  const ring = new Ring(4, 10);
  const block = new Float32Array(2);
  ring.push(Float32Array.of(1, 2, 3));
  ring.pull(block);
  assert.deepEqual([...block], [0, 0]);
  ring.push(Float32Array.of(4));
  ring.pull(block);
  ring.pull(block);
  assert.deepEqual([...block], [3, 4]);
  ring.pull(block);
  assert.deepEqual([[...block], ring.missed], [[0, 0], 1]);
  ring.push(Float32Array.of(5, 6));
  ring.pull(block);
  assert.deepEqual([...block], [0, 0]);
  ring.push(noise(40));
  assert.deepEqual([ring.length, ring.missed], [4, 2]);
});

test("WAV files of every encoding come back as they were", async () => {
  const planes = [noise(1001, 1), noise(1001, 2)];
  for (const [encoding, bits] of [["pcm16", 16], ["pcm24", 24], ["pcm32", 32], ["float32", 32]]) {
    const exact = planes.map((plane) => plane.map((x) => (encoding === "float32" ? x : Math.round(x * 2 ** (bits - 1)) / 2 ** (bits - 1))));
    const blob = await writeWav(1001, 2, 22050, encoding, (start, length) => exact.map((plane) => plane.slice(start, start + length)));
    const bytes = await blob.arrayBuffer();
    assert.ok(isWav(bytes));
    const wav = readWav(bytes);
    assert.deepEqual([wav.sampleRate, wav.encoding, wav.planes.length], [22050, encoding, 2]);
    wav.planes.forEach((plane, n) => assert.deepEqual(plane, exact[n]));
  }
});

test("a WAV file that is cut short is read as far as it goes, a damaged one is a clear error", async () => {
  const blob = await writeWav(100, 1, 16000, "pcm16", () => [noise(100)]);
  const bytes = await blob.arrayBuffer();
  assert.equal(readWav(bytes.slice(0, 44 + 60)).planes[0].length, 30);
  assert.throws(() => readWav(bytes.slice(0, 30)), BrokenFile);
  const odd = bytes.slice();
  new DataView(odd).setUint16(20, 85, true);
  assert.throws(() => readWav(odd), /unknown kind/);
  new DataView(odd).setUint16(22, 0, true);
  assert.throws(() => readWav(odd), /no channels/);
});

test("loud samples are clipped, not wrapped", async () => {
  const blob = await writeWav(2, 1, 16000, "pcm16", () => [Float32Array.of(1.5, -1.5)]);
  assert.deepEqual([...readWav(await blob.arrayBuffer()).planes[0]], [32767 / 32768, -1]);
});

test("files that say nothing of their rate count as 48 kHz", () => {
  assert.equal(sampleRateOf(new ArrayBuffer(0)), 48000);
  assert.equal(sampleRateOf(noise(1000).buffer), 48000);
});

test("between frames a gain is interpolated, beyond them the last one stays", () => {
  assert.deepEqual([-1, 0.5, 1, 7].map((place) => between([1, 3], place)), [1, 2, 3, 3]);
});
