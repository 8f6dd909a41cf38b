/** The parts of the page that need no browser. `npm run unit` compiles them to build/ first. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Requests } from "../build/engine/requests.js";
import { Tape } from "../build/engine/tape.js";
import { MOST_SAMPLES, TooLong } from "../build/files/limits.js";
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
    const { stride, overlap, count } = planWindows(frames, 1, rate, 16000, 256);
    assert.ok(count > 1 && (count - 1) * stride + overlap < frames && count * stride + overlap >= frames);
  }
  assert.deepEqual(planWindows(153600, 1, 16000, 16000, 256), { frames: 153600, stride: 153600, overlap: 0, count: 1 });
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
  const ring = new Ring(4, 10, 1000);
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

/** What comes out of a ring of chunks of 16 samples when the worker is silent while `late(time)`, and its delays. */
function ringOut(late, length = 16000, period = 1600) {
  const ring = new Ring(32, 160, period);
  const [out, lengths, block] = [[], [], new Float32Array(4)];
  for (let time = 0, sent = 0; time < length; time += 4) {
    while (!late(time) && sent + 16 <= time) {
      ring.push(Float32Array.from({ length: 16 }, (_, n) => Math.sin((2 * Math.PI * (sent + n)) / 400)));
      sent += 16;
    }
    ring.pull(block);
    out.push(...block);
    lengths.push(ring.length);
  }
  return { out, lengths, missed: ring.missed };
}

test("after a stall of the worker the delay shrinks to what it was, without a click", () => {
  const calm = ringOut(() => false);
  const range = ({ lengths }, from, to) => [Math.min(...lengths.slice(from / 4, to / 4)), Math.max(...lengths.slice(from / 4, to / 4))];
  for (const stall of [50, 80, 140]) {
    const stalled = ringOut((time) => time >= 4000 && time < 4000 + stall);
    assert.equal(stalled.missed, 1); // the gap while it was dry
    assert.ok(range(stalled, 4200, 4800)[0] > range(calm, 4200, 4800)[0], `${stall}: the delay has grown`);
    assert.deepEqual(range(stalled, 8000, 16000), range(calm, 8000, 16000), `${stall}: and is as before`);
    const steps = stalled.out.slice(4200).map((value, n, all) => Math.abs(value - (all[n - 1] ?? value)));
    assert.ok(Math.max(...steps) < 0.1, `${stall}: ${Math.max(...steps)}`); // a click would be a step of up to two
  }
});

test("a worker that is always a little late keeps the room that it needs", () => {
  const late = (time) => time % 48 >= 16 && time % 48 < 40; // chunks come in threes, the last of them just in time
  const { missed, lengths } = ringOut(late);
  const start = lengths.slice(0, 400);
  assert.ok(missed <= 2, `${missed} gaps`);
  assert.ok(Math.max(...lengths) <= Math.max(...start) + 32);
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

test("a WAV file that is too long is not called damaged", async () => {
  const header = await (await writeWav(0, 1, 48000, "pcm16", () => [])).arrayBuffer();
  const bytes = new Uint8Array(header.byteLength + MOST_SAMPLES + 1);
  bytes.set(new Uint8Array(header));
  const view = new DataView(bytes.buffer);
  view.setUint16(34, 8, true); // one byte for a sample
  view.setUint32(40, MOST_SAMPLES + 1, true);
  assert.throws(() => readWav(bytes.buffer), (error) => error instanceof TooLong && !/damaged/.test(error.message));
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

test("a reply answers the request that it belongs to, whatever was asked since", async () => {
  const requests = new Requests();
  const sent = [];
  const [first, second, third] = [1, 2, 3].map(() => requests.ask((request) => sent.push(request)));
  requests.resolve(sent[1], "second");
  requests.resolve(sent[1], "late");
  requests.resolve(99, "unknown");
  requests.reject(sent[0], new Error("broken"));
  assert.equal(await second, "second");
  await assert.rejects(first, /broken/);
  requests.resolve(sent[2], "third");
  assert.equal(await third, "third");
});

test("when the worker is gone, every request fails, those that come later, too", async () => {
  const requests = new Requests();
  const open = requests.ask(() => {});
  requests.end(new Error("gone"));
  await assert.rejects(open, /gone/);
  await assert.rejects(requests.ask(() => assert.fail("nothing is sent any more")), /gone/);
});

test("a tape keeps what comes until it is full", () => {
  const tape = new Tape(10);
  const sound = noise(16);
  for (let at = 0; at < 16; at += 4) {
    assert.equal(tape.full, at >= 12);
    tape.push(sound.slice(at, at + 4));
  }
  const kept = new Float32Array(tape.length);
  tape.copyTo(kept);
  assert.deepEqual([tape.full, kept], [true, sound.slice(0, 10)]);
});

test("crafted files are no trouble when their rate is looked for", () => {
  const ascii = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  assert.equal(sampleRateOf(ascii("OggS\x01vorbis").buffer), 48000);
  const deep = new Uint8Array(16 + 8 * 100_000);
  deep.set(ascii("\0\0\0\x10ftypisom"));
  const view = new DataView(deep.buffer);
  for (let at = 16; at < deep.length; at += 8) {
    view.setUint32(at, deep.length - at); // every box holds the next one
    deep.set(ascii(["moov", "trak", "mdia"][(at / 8 + 1) % 3]), at + 4);
  }
  assert.doesNotThrow(() => sampleRateOf(deep.buffer));
});
