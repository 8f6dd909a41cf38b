/** Between sample rates, with the filter of `hamiltone.runtime.resampling`: that of soxr's best quality. */

import { Fifo } from "./fifo.ts";

// A windowed sinc, in units of the lower of the two rates: flat up to 0.456 of it, nothing above 0.5.
const CUTOFF = 0.95566416;
const BETA = 18.433496;
const LENGTH = 265.4;
const TABLE = 2 ** 20; // weights in a table

interface Filters {
  up: number;
  down: number;
  /** How many samples a filter sees ahead, and as many back. */
  reach: number;
  /** `(rows, 2 * reach)`: a row for each place that a sample can have between two of the source. */
  weights: Float32Array;
  rows: number;
}

const cache = new Map<string, Filters>();

function filters(source: number, target: number): Filters {
  const key = `${source} ${target}`;
  let found = cache.get(key);
  if (!found) {
    found = makeFilters(source, target);
    cache.set(key, found);
  }
  return found;
}

function makeFilters(source: number, target: number): Filters {
  const common = gcd(source, target);
  const [up, down] = [target / common, source / common];
  const low = Math.min(source, target);
  const finest = Math.max(up, down); // places in a sample of the lower rate
  const half = (4 * Math.ceil((LENGTH * finest - 1) / 4) + 1) / (2 * finest);
  const reach = Math.ceil((half * source) / low);
  const rows = Math.min(up, Math.floor(TABLE / (2 * reach)));
  const weights = new Float32Array(rows * 2 * reach);
  const scale = 1 / bessel(BETA);
  for (let row = 0; row < rows; row++) {
    for (let tap = 0; tap < 2 * reach; tap++) {
      const t = ((row / rows + (reach - 1) - tap) * low) / source;
      if (Math.abs(t) > half) continue;
      const window = bessel(BETA * Math.sqrt(Math.max(1 - (t / half) ** 2, 0))) * scale;
      weights[row * 2 * reach + tap] = (CUTOFF * sinc(CUTOFF * t) * window * low) / source;
    }
  }
  return { up, down, reach, weights, rows };
}

/** The modified Bessel function of the first kind and order zero. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

export function gcd(a: number, b: number): number {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** One product of `taps` samples from `at` on with a row of weights. */
function product(samples: Float32Array, at: number, weights: Float32Array, from: number, taps: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  let tap = 0;
  for (; tap + 3 < taps; tap += 4) {
    a += samples[at + tap]! * weights[from + tap]!;
    b += samples[at + tap + 1]! * weights[from + tap + 1]!;
    c += samples[at + tap + 2]! * weights[from + tap + 2]!;
    d += samples[at + tap + 3]! * weights[from + tap + 3]!;
  }
  for (; tap < taps; tap++) a += samples[at + tap]! * weights[from + tap]!;
  return a + b + c + d;
}

/** Resample a block as if silence surrounded it; sample zero stays at time zero. */
export function resample(
  block: Float32Array,
  source: number,
  target: number,
  length = Math.ceil((block.length * target) / source),
): Float32Array {
  if (source === target) return block.slice(0, length);
  const resampler = new Resampler(source, target);
  resampler.push(block);
  const missing = resampler.needed(length) - block.length;
  if (missing > 0) resampler.push(new Float32Array(missing));
  return resampler.pull(length);
}

/** Samples at one rate in, samples at another out, each as soon as its filter has seen enough. */
export class Resampler {
  private readonly filters: Filters;
  private readonly fifo: Fifo;
  private place = 0; // of the next sample, within a period of `up` samples

  constructor(source: number, target: number) {
    this.filters = filters(source, target);
    this.fifo = new Fifo(this.filters.reach - 1);
  }

  get reach(): number {
    return this.filters.reach;
  }

  /** How many samples must have come in before the first `count` can leave. */
  needed(count: number): number {
    const { up, down, reach } = this.filters;
    return Math.floor(((count - 1) * down) / up) + reach + 1;
  }

  /** How many samples can leave when the first `count` have come in. */
  ready(count: number): number {
    const { up, down, reach } = this.filters;
    return Math.max(-Math.floor(((reach - count) * up) / down), 0);
  }

  /** How many samples can leave now. */
  get waiting(): number {
    const { up, down, reach } = this.filters;
    const whole = this.fifo.length - 2 * reach + 1; // filters that fit
    return Math.max(-Math.floor((-whole * up + this.place) / down), 0);
  }

  push(samples: Float32Array): void {
    this.fifo.push(samples);
  }

  /** The next `count` samples, which must be waiting. */
  pull(count: number): Float32Array {
    const { up, down, reach, weights, rows } = this.filters;
    const samples = new Float32Array(count);
    const span = this.fifo.peek(this.fifo.length);
    let [start, phase] = [0, this.place];
    for (let k = 0; k < count; k++) {
      const row = Math.floor((phase * rows) / up);
      samples[k] = product(span, start, weights, row * 2 * reach, 2 * reach);
      phase += down;
      start += Math.floor(phase / up);
      phase %= up;
    }
    this.fifo.drop(start);
    this.place = phase;
    return samples;
  }

  reset(): void {
    this.fifo.reset();
    this.place = 0;
  }
}
