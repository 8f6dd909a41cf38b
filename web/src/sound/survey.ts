/** The first pass over a recording: what has to be known of the whole before any window is cleaned. */

import { Resampler } from "./resample.ts";
import type { Source } from "./source.ts";

const BLOCK = 65_536;
const SILENCE = 1e-20;
// A voice in the middle loses nothing in the mean of two channels, two unrelated channels lose 3 dB.
const PAIR_LOSS_DB = 2.5;

/** Channels that get the same gain, and the root mean square of their mean over the whole recording (not zero). */
export interface Group {
  channels: number[];
  level: number;
}

/** Levels at the model's rate; two channels share a gain unless they hold different sounds. */
export async function survey(source: Source, modelRate: number): Promise<Group[]> {
  const { channels, frames, sampleRate } = source;
  const resamplers = sampleRate === modelRate ? [] : Array.from({ length: channels }, () => new Resampler(sampleRate, modelRate));
  const total = Math.ceil((frames * modelRate) / sampleRate);
  const energy = new Float64Array(channels);
  let [mean, samples] = [0, 0];
  for (let start = 0; start < frames; start += BLOCK) {
    let planes = await source.read(start, Math.min(BLOCK, frames - start));
    check(planes);
    if (resamplers.length) {
      const last = start + BLOCK >= frames;
      planes = planes.map((plane, channel) => {
        const resampler = resamplers[channel]!;
        resampler.push(plane);
        if (last) resampler.push(new Float32Array(2 * resampler.reach));
        return resampler.pull(Math.min(resampler.waiting, total - samples)) as Float32Array<ArrayBuffer>;
      });
    }
    const length = planes[0]!.length;
    samples += length;
    for (let n = 0; n < length; n++) {
      let sum = 0;
      for (let channel = 0; channel < channels; channel++) {
        const value = planes[channel]![n]!;
        energy[channel]! += value * value;
        sum += value;
      }
      mean += (sum / channels) ** 2;
    }
  }
  const level = (sum: number): number => {
    const rms = Math.sqrt(sum / Math.max(samples, 1));
    return rms > SILENCE ? rms : 1;
  };
  if (channels === 2 && mean > ((energy[0]! + energy[1]!) / 2) * 10 ** (-PAIR_LOSS_DB / 10)) {
    return [{ channels: [0, 1], level: level(mean) }];
  }
  return Array.from(energy, (sum, channel) => ({ channels: [channel], level: level(sum) }));
}

function check(planes: Float32Array[]): void {
  for (const plane of planes) {
    for (const value of plane) {
      if (!Number.isFinite(value)) throw new Error("The recording contains samples that are not numbers.");
    }
  }
}
