/** Overlapping windows of a recording and how they fade into each other, as in `hamiltone.runtime.windows`. */

import { gcd } from "./resample.ts";

const WHOLE = 1.2; // how much longer than a window a recording may be before it is divided
const SECONDS = 8;

/** Windows of `stride` + `overlap` frames that start every `stride` frames; the last one may be shorter. */
export interface Windows {
  frames: number;
  stride: number;
  overlap: number;
  count: number;
}

/** The fewest windows of at most about eight seconds, all of nearly the same length, on the model's grid. */
export function planWindows(frames: number, sampleRate: number, modelRate: number, hop: number): Windows {
  if (frames <= WHOLE * SECONDS * sampleRate) return { frames, stride: frames, overlap: 0, count: 1 };
  const common = gcd(sampleRate, modelRate);
  const [period, modelPeriod] = [sampleRate / common, modelRate / common];
  const grid = (hop / gcd(modelPeriod, hop)) * period;
  const longest = Math.max(Math.floor(Math.floor(0.9 * SECONDS * sampleRate) / grid), 1) * grid;
  const overlap = Math.floor(longest / 9);
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
