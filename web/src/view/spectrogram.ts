/** A picture of a sound: time to the right, pitch upward, loudness as colour. */

import { Fft } from "../sound/fft.ts";
import { hann } from "../sound/stft.ts";
import { squared } from "../sound/bands.ts";

const FRAME_SECONDS = 0.032;
const RANGE_DB = 72;
const LOWEST_TOP_DB = -60;
const HIGHEST = 12_000; // Hz; there is little speech above
const SLICE_MS = 8; // of work before the page may do other things

// From silence to the loudest, as red, green and blue.
const COLOURS = [
  [10, 16, 30],
  [19, 38, 66],
  [20, 78, 104],
  [22, 130, 126],
  [94, 184, 132],
  [214, 222, 130],
  [255, 248, 214],
];

/** The mean of all channels of `length` samples from `start` on. */
export type Samples = (start: number, length: number) => Float32Array;

export class Spectrogram {
  private readonly context: CanvasRenderingContext2D;
  private fft = new Fft(512);
  private window = hann(512);
  private frames = 0;
  private sampleRate = 16_000;
  private run = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.clear();
  }

  clear(): void {
    this.run += 1;
    const [r, g, b] = COLOURS[0]!;
    this.context.fillStyle = `rgb(${r} ${g} ${b})`;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** Prepare for a recording; the canvas takes the size that it has on the screen. */
  resize(frames: number, sampleRate: number): void {
    const density = Math.min(devicePixelRatio, 2);
    this.canvas.width = Math.max(Math.min(Math.round(this.canvas.clientWidth * density), 1600), 64);
    this.canvas.height = Math.max(Math.round(this.canvas.clientHeight * density), 32);
    [this.frames, this.sampleRate] = [frames, sampleRate];
    const size = Math.max(2 ** Math.round(Math.log2(FRAME_SECONDS * sampleRate)), 64);
    this.fft = new Fft(size);
    this.window = hann(size);
    this.clear();
  }

  get columns(): number {
    return this.canvas.width;
  }

  /** The highest frequency in the picture. */
  get top(): number {
    return Math.min(this.sampleRate / 2, HIGHEST);
  }

  /** Where a frequency lies, from 0 at the bottom to 1. */
  place(frequency: number): number {
    return mel(frequency) / mel(this.top);
  }

  /** The loudest pixel of a recording in decibels, from a hundred places of it. */
  loudest(samples: Samples): number {
    let most = LOWEST_TOP_DB;
    const powers = new Float64Array(this.canvas.height);
    for (let n = 0; n < 100; n++) {
      this.column(samples, Math.floor((n * this.frames) / 100), 1, powers);
      for (const power of powers) most = Math.max(most, 10 * Math.log10(power + 1e-30));
    }
    return most;
  }

  /** Draw the columns from `first` up to `last` in small slices; a later call of `clear` or `resize` ends it. */
  async draw(samples: Samples, loudest: number, first: number, last: number): Promise<void> {
    const run = this.run;
    const height = this.canvas.height;
    const image = this.context.createImageData(1, height);
    const powers = new Float64Array(height);
    const step = this.frames / this.columns;
    let pause = performance.now() + SLICE_MS;
    for (let column = first; column < last; column++) {
      this.column(samples, Math.floor(column * step), step, powers);
      for (let row = 0; row < height; row++) {
        paint(image.data, 4 * (height - 1 - row), (10 * Math.log10(powers[row]! + 1e-30) - loudest) / RANGE_DB + 1);
      }
      this.context.putImageData(image, column, 0);
      if (performance.now() < pause) continue;
      await new Promise((resolve) => setTimeout(resolve));
      if (run !== this.run) return;
      pause = performance.now() + SLICE_MS;
    }
  }

  /** The power at every height of one column, the mean of up to three frames within it. */
  private column(samples: Samples, start: number, length: number, powers: Float64Array): void {
    const size = this.fft.size;
    const looks = Math.min(Math.max(Math.round((2 * length) / size), 1), 3);
    const pairs = new Float32Array(2 * this.fft.bins);
    const spectrum = new Float64Array(this.fft.bins);
    for (let look = 0; look < looks; look++) {
      const centre = Math.floor(start + ((look + 0.5) * length) / looks);
      const from = Math.min(Math.max(centre - size / 2, 0), Math.max(this.frames - size, 0));
      const piece = samples(from, size);
      const frame = this.window.map((weight, n) => weight * (piece[n] ?? 0));
      this.fft.forward(frame, pairs);
      for (let k = 0; k < spectrum.length; k++) spectrum[k]! += squared(pairs, 2 * k) / (looks * size * size);
    }
    const bin = size / this.sampleRate;
    const top = mel(this.top);
    for (let row = 0; row < powers.length; row++) {
      const low = hertz((row * top) / powers.length) * bin;
      const high = hertz(((row + 1) * top) / powers.length) * bin;
      powers[row] = high - low < 1 ? interpolate(spectrum, (low + high) / 2) : strongest(spectrum, low, high);
    }
  }
}

function paint(pixels: Uint8ClampedArray, at: number, share: number): void {
  const place = Math.min(Math.max(share || 0, 0), 1) * (COLOURS.length - 1);
  const below = Math.min(Math.floor(place), COLOURS.length - 2);
  for (let part = 0; part < 3; part++) {
    const [from, to] = [COLOURS[below]![part]!, COLOURS[below + 1]![part]!];
    pixels[at + part] = from + (place - below) * (to - from);
  }
  pixels[at + 3] = 255;
}

function interpolate(values: Float64Array, place: number): number {
  const below = Math.min(Math.floor(place), values.length - 2);
  return values[below]! + (place - below) * (values[below + 1]! - values[below]!);
}

function strongest(values: Float64Array, from: number, to: number): number {
  let most = 0;
  for (let k = Math.floor(from); k <= Math.min(Math.floor(to), values.length - 1); k++) most = Math.max(most, values[k]!);
  return most;
}

function mel(frequency: number): number {
  return Math.log1p(frequency / 700);
}

function hertz(value: number): number {
  return 700 * Math.expm1(value);
}
