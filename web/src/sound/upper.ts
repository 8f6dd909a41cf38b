/** The band above the model's: what is stationary there stays low, as `hamiltone.audio.upper_band` has it. */

import { PowerSpectrum } from "./fft.ts";

const MEMORY_SECONDS = 2.5; // speech pauses more often
const MEAN_FRAMES = 4; // over which powers are averaged before their minimum is taken
const OVER_FLOOR = 2.5; // times the minimum: what white noise exceeds in six frames of a thousand
const LEAST_SHARE = 0.02; // of the energy: less than that over the floor is chance
const BAND_HZ = 1000;
const MOST_BANDS = 24;
const LEAKING_BINS = 3; // into which a Hann window lets what lies just below the band

/** One gain per frame for the band above the model's, from the model's gain in its top octave. */
export class UpperBand {
  /** The samples from frame to frame, and in a frame. */
  readonly step: number;
  readonly size: number;
  private readonly memory: number;
  private readonly window: Float64Array;
  private readonly edges: number[]; // in bins
  private readonly spectrum: PowerSpectrum;
  private end = 0; // the number of the frame that comes next
  private gain: number[] = [];
  private power: Float64Array[] = [];

  constructor(sampleRate: number, modelRate: number, hop: number, length: number) {
    this.step = (hop * sampleRate) / modelRate;
    const size = Math.round((length * sampleRate) / modelRate);
    this.size = size;
    this.window = Float64Array.from({ length: size }, (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (n + 0.5)) / size));
    const [bottom, top] = [modelRate / 2, sampleRate / 2];
    const count = Math.min(Math.max(Math.round((top - bottom) / BAND_HZ), 1), MOST_BANDS);
    this.edges = Array.from({ length: count }, (_, band) => {
      const edge = ((bottom + (band * (top - bottom)) / count) * size) / sampleRate + (band ? 0 : LEAKING_BINS);
      return Math.min(Math.ceil(edge), Math.floor(size / 2));
    });
    this.memory = Math.ceil((MEMORY_SECONDS * modelRate) / hop);
    this.spectrum = new PowerSpectrum(size);
  }

  /** The power in each part of the band in the frame that begins at sample `start`; zeros lie beyond the signal. */
  powersAt(signal: ArrayLike<number>, start: number): Float64Array {
    const frame = new Float64Array(this.size);
    let sounding = 0;
    for (let n = 0; n < this.size; n++) {
      const sample = signal[start + n] ?? 0;
      if (sample) sounding += 1;
      frame[n] = sample * this.window[n]!;
    }
    const powers = new Float64Array(this.edges.length);
    if (2 * sounding <= this.size + 1) return powers; // half silence, as the first frame, says nothing about the floor
    const bins = this.spectrum.of(frame);
    this.edges.forEach((edge, band) => {
      const next = Math.max(this.edges[band + 1] ?? bins.length, edge + 1);
      for (let bin = edge; bin < next; bin++) powers[band]! += bins[bin]!;
    });
    return powers;
  }

  /** The gains for the frames from number `first` on; they may begin before the last ones ended, which then share. */
  gains(gain: ArrayLike<number>, power: Float64Array[], first: number): Float64Array {
    const shared = this.end - first;
    const known = Math.floor(shared / 2);
    const kept = this.gain.length - shared + known;
    const whole = this.memory + MEAN_FRAMES - 1 + gain.length;
    this.gain = [...this.gain.slice(0, kept), ...Array.from(gain).slice(known)].slice(-whole);
    this.power = [...this.power.slice(0, kept), ...power.slice(known)].slice(-whole);
    this.end = first + gain.length;

    const [gains, powers] = [last(this.gain, whole), last(this.power, whole)];
    const means = Array.from({ length: whole - MEAN_FRAMES + 1 }, (_, m) => mean(gains, powers, m));
    return Float64Array.from({ length: gain.length }, (_, t) => {
      const recent = means.slice(t + 1, t + 1 + this.memory);
      const heard = recent.filter(({ sounding }) => sounding);
      const least = smallest((heard.length ? heard : recent).map(({ gain }) => gain));
      const now = powers[whole - gain.length + t]!;
      let [over, total] = [0, 0];
      now.forEach((value, band) => {
        const floor = heard.length ? smallest(heard.map(({ power }) => power[band]!)) : 0;
        over += Math.max(value - OVER_FLOOR * floor, 0);
        total += value;
      });
      const share = Math.sqrt(Math.max((total ? over / total : 0) - LEAST_SHARE, 0) / (1 - LEAST_SHARE));
      return least + (Math.max(gains[whole - gain.length + t]!, least) - least) * share;
    });
  }
}

/** The means of gain and powers over the frames from number `m` on, and whether all of them sound. */
function mean(gains: number[], powers: Float64Array[], m: number): { gain: number; power: Float64Array; sounding: boolean } {
  const frames = powers.slice(m, m + MEAN_FRAMES);
  return {
    gain: gains.slice(m, m + MEAN_FRAMES).reduce((sum, gain) => sum + gain, 0) / MEAN_FRAMES,
    power: frames[0]!.map((_, band) => frames.reduce((sum, frame) => sum + frame[band]!, 0) / MEAN_FRAMES),
    sounding: frames.every((frame) => frame.some((value) => value > 0)),
  };
}

function smallest(values: number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

/** The last `count` values; where there are fewer, the first one is repeated before them. */
function last<Value>(values: Value[], count: number): Value[] {
  const missing = Math.max(count - values.length, 0);
  return [...new Array<Value>(missing).fill(values[0]!), ...values.slice(-count)];
}
