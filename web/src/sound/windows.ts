/** Overlapping windows of a recording and how they fade into each other, as in `hamiltone.runtime.windows`. */

import { gcd } from "./resample.ts";

const WHOLE = 1.2; // how much longer than a window a recording may be before it is divided
const SECONDS = 8;
const OVERLAP = 0.4; // seconds
const MOST_SAMPLES = 2 ** 25; // of a window, over all channels

/** Windows of `stride` + `overlap` frames that start every `stride` frames; the last one may be shorter. */
export interface Windows {
  frames: number;
  stride: number;
  overlap: number;
  count: number;
}

/** Eight seconds, or less where a second holds very many samples. */
function affordableSeconds(channels: number, sampleRate: number): number {
  return Math.min(SECONDS, Math.max(1, MOST_SAMPLES / (WHOLE * channels * sampleRate)));
}

/** The fewest windows of at most about eight seconds, all of nearly the same length, on the model's grid. */
export function planWindows(frames: number, channels: number, sampleRate: number, modelRate: number, hop: number): Windows {
  const seconds = affordableSeconds(channels, sampleRate);
  if (frames <= WHOLE * seconds * sampleRate) return { frames, stride: frames, overlap: 0, count: 1 };
  const common = gcd(sampleRate, modelRate);
  const [period, modelPeriod] = [sampleRate / common, modelRate / common];
  const grid = (hop / gcd(modelPeriod, hop)) * period;
  const overlap = Math.floor(Math.min(OVERLAP, seconds / 10) * sampleRate);
  const longest = Math.max(Math.floor(Math.floor(seconds * sampleRate - overlap) / grid), 1) * grid;
  const most = countWindows(frames, longest, overlap);
  const stride = Math.max(Math.ceil((frames - overlap) / (most * grid)), 1) * grid;
  return { frames, stride, overlap, count: countWindows(frames, stride, overlap) };
}

function countWindows(frames: number, stride: number, overlap: number): number {
  return Math.max(1, Math.ceil((frames - overlap) / stride));
}

/**
 * Weights of the later window over an overlap: a raised cosine over its middle half.
 *
 * The outer quarters, where one of the two windows has its edge, belong to the other window alone.
 */
export function fadeIn(overlap: number): Float32Array {
  const guard = Math.floor(overlap / 4);
  const ramp = overlap - 2 * guard;
  return Float32Array.from({ length: overlap }, (_, n) => {
    if (n < guard) return 0;
    if (n >= guard + ramp) return 1;
    return Math.sin((0.5 * Math.PI * (n - guard + 0.5)) / ramp) ** 2;
  });
}
