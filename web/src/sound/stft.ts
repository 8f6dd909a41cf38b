/** The short-time Fourier transform of a recording and its exact inverse, as `hamiltone.audio.stft` has it. */

import { Fft } from "./fft.ts";

/** A Hann window of a whole period. */
export function hann(size: number): Float64Array {
  return Float64Array.from({ length: size }, (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size));
}

/**
 * Frames centred on every multiple of `hop`, zeros beyond both ends.
 *
 * A spectrum is `(frames, bins, 2)`, real and imaginary parts, in one flat array.
 */
export class Stft {
  readonly bins: number;
  private readonly fft: Fft;
  private readonly window: Float64Array;

  constructor(
    readonly size: number,
    readonly hop: number,
  ) {
    this.fft = new Fft(size);
    this.bins = this.fft.bins;
    this.window = hann(size);
  }

  /** How many frames there are of `length` samples. */
  frames(length: number): number {
    return Math.ceil(length / this.hop) + 1;
  }

  forward(signal: Float32Array): Float32Array {
    const { size, hop, window } = this;
    const frames = this.frames(signal.length);
    const spectrum = new Float32Array(frames * this.bins * 2);
    const frame = new Float64Array(size);
    for (let t = 0; t < frames; t++) {
      const start = t * hop - size / 2;
      for (let n = 0; n < size; n++) frame[n] = (signal[start + n] ?? 0) * window[n]!;
      this.fft.forward(frame, spectrum, t * this.bins * 2);
    }
    return spectrum;
  }

  /** The first `length` samples. */
  inverse(spectrum: Float32Array, length: number): Float32Array {
    const { size, hop, window } = this;
    const frames = spectrum.length / (2 * this.bins);
    const whole = (frames - 1) * hop + size;
    const sum = new Float64Array(whole);
    const energy = new Float64Array(whole);
    const frame = new Float64Array(size);
    for (let t = 0; t < frames; t++) {
      this.fft.inverse(spectrum, t * this.bins * 2, frame);
      for (let n = 0; n < size; n++) {
        sum[t * hop + n]! += frame[n]! * window[n]!;
        energy[t * hop + n]! += window[n]! * window[n]!;
      }
    }
    return Float32Array.from({ length }, (_, n) => sum[n + size / 2]! / energy[n + size / 2]!);
  }
}
