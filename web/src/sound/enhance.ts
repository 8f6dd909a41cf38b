/** A recording through the model, window by window. */

import { between, fillEmpty, highBandGain, multiply } from "./bands.ts";
import { resample } from "./resample.ts";
import type { Planes, Source } from "./source.ts";
import { Stft } from "./stft.ts";
import { type Group, survey } from "./survey.ts";
import { UpperBand } from "./upper.ts";
import { fadeIn, planWindows } from "./windows.ts";

/** A model that looks at whole windows: from the spectrum `(frames, bins, 2)` of unit level to its gain. */
export interface WindowModel {
  sampleRate: number;
  size: number;
  hop: number;
  gain(spectrum: Float32Array, frames: number): Promise<Float32Array>;
}

/** Hands the cleaned recording to `emit`, block after block, in memory that does not grow with its length. */
export async function enhance(
  source: Source,
  model: WindowModel,
  emit: (start: number, planes: Planes) => void,
): Promise<void> {
  const groups = await survey(source, model.sampleRate);
  const { frames, stride, overlap, count } = planWindows(
    source.frames,
    source.channels,
    source.sampleRate,
    model.sampleRate,
    model.hop,
  );
  const uppers = groups.map(() => new UpperBand(source.sampleRate, model.sampleRate, model.hop, model.size));
  const strideFrames = Math.floor((stride * model.sampleRate) / (source.sampleRate * model.hop));
  const fade = fadeIn(overlap);
  let tail: Planes | null = null;
  for (let number = 0; number < count; number++) {
    const start = number * stride;
    const window = await source.read(start, Math.min(stride + overlap, frames - start));
    const cleaned = await enhanceWindow(window, source.sampleRate, groups, model, uppers, number * strideFrames);
    if (tail) crossFade(cleaned, tail, fade);
    tail = cleaned.map((plane) => plane.slice(stride)); // the caller keeps what is emitted
    emit(start, number === count - 1 ? cleaned : cleaned.map((plane) => plane.slice(0, stride)));
  }
}

function crossFade(planes: Planes, tail: Planes, fade: Float32Array): void {
  planes.forEach((plane, channel) => {
    const before = tail[channel]!;
    for (let n = 0; n < before.length; n++) plane[n] = before[n]! * (1 - fade[n]!) + plane[n]! * fade[n]!;
  });
}

async function enhanceWindow(
  window: Planes,
  sampleRate: number,
  groups: Group[],
  model: WindowModel,
  uppers: UpperBand[],
  firstFrame: number,
): Promise<Planes> {
  const cleaned: Planes = Array.from(window);
  for (const [n, group] of groups.entries()) {
    const planes = group.channels.map((channel) => window[channel]!);
    const result = await enhanceGroup(planes, sampleRate, model, group.level, uppers[n]!, firstFrame);
    group.channels.forEach((channel, n) => (cleaned[channel] = result[n]!));
  }
  return cleaned;
}

/**
 * All channels by the gain that the model finds for their mean.
 *
 * What the model's rate can carry is filtered by the model; the rest, which it never sees, is scaled by what it does to
 * the octave below and what `upper` makes of that. With a gain of one everywhere the two add up to the window again.
 */
async function enhanceGroup(
  window: Planes,
  sampleRate: number,
  model: WindowModel,
  level: number,
  upper: UpperBand,
  firstFrame: number,
): Promise<Planes> {
  const stft = new Stft(model.size, model.hop);
  const low = window.map((plane) => resample(plane, sampleRate, model.sampleRate));
  const spectra = low.map((plane) => stft.forward(plane));
  const reference = new Float32Array(spectra[0]!.length);
  for (const spectrum of spectra) {
    for (let k = 0; k < reference.length; k++) reference[k]! += spectrum[k]! / (spectra.length * level);
  }
  const ratio = sampleRate / model.sampleRate;
  const seen = Math.min(ratio, 1);
  fillEmpty(reference, stft.bins, seen);
  const frames = stft.frames(low[0]!.length);
  const gain = await model.gain(reference, frames);
  if (!gain.every(Number.isFinite)) throw new Error("The model's result is not finite; the model is damaged.");
  const filtered = spectra.map((spectrum, n) => {
    multiply(spectrum, gain);
    return stft.inverse(spectrum, low[n]!.length);
  });
  if (sampleRate === model.sampleRate) return filtered as Planes;

  let high: Float64Array = Float64Array.from({ length: frames }, (_, t) =>
    highBandGain(reference, gain, t * stft.bins * 2, stft.bins, seen),
  );
  if (ratio > 1) {
    const mean = window[0]!.map((_, k) => window.reduce((sum, plane) => sum + plane[k]!, 0) / window.length);
    const half = Math.floor(upper.size / 2);
    const powers = Array.from(high, (_, t) => upper.powersAt(mean, Math.round(t * upper.step) - half));
    high = upper.gains(high, powers, firstFrame);
  }
  return window.map((plane, n) => {
    const length = plane.length;
    const result = resample(filtered[n]!, model.sampleRate, sampleRate, length);
    const carried = resample(low[n]!, model.sampleRate, sampleRate, length);
    for (let k = 0; k < length; k++) {
      result[k]! += (plane[k]! - carried[k]!) * between(high, k / (model.hop * ratio));
    }
    return result as Float32Array<ArrayBuffer>;
  });
}
