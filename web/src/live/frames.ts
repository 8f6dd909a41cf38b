/** The short-time Fourier transform of a stream, hop by hop, as `hamiltone.runtime.frames` has it. */

import { Fft } from "../sound/fft.ts";
import { hann } from "../sound/stft.ts";

/** A frame spans two hops; what comes back is one hop behind what went in. */
export class Frames {
  readonly bins: number;
  private readonly fft: Fft;
  private readonly analysis: Float64Array;
  private readonly synthesis: Float64Array;
  private readonly frame: Float32Array;
  private readonly windowed: Float64Array;
  private readonly rest: Float32Array;

  constructor(readonly hop: number) {
    const size = 2 * hop;
    this.fft = new Fft(size);
    this.bins = this.fft.bins;
    this.analysis = hann(size);
    this.synthesis = this.analysis.map((w, n) => w / (this.analysis[n % hop]! ** 2 + this.analysis[(n % hop) + hop]! ** 2));
    this.frame = new Float32Array(size);
    this.windowed = new Float64Array(size);
    this.rest = new Float32Array(hop);
  }

  /** The hop before the newest one, unfiltered: that which `synthesise` returns filtered. */
  get last(): Float32Array {
    return this.frame.subarray(0, this.hop);
  }

  /** The spectrum, in pairs, of the frame that ends with this hop. */
  analyse(hop: Float32Array): Float32Array {
    this.frame.copyWithin(0, this.hop);
    this.frame.set(hop, this.hop);
    for (let n = 0; n < this.frame.length; n++) this.windowed[n] = this.frame[n]! * this.analysis[n]!;
    const spectrum = new Float32Array(2 * this.bins);
    this.fft.forward(this.windowed, spectrum);
    return spectrum;
  }

  /** The first hop of the frame, now that all frames that cover it are there. */
  synthesise(spectrum: Float32Array): Float32Array {
    this.fft.inverse(spectrum, 0, this.windowed);
    const whole = new Float32Array(this.hop);
    for (let n = 0; n < this.hop; n++) {
      whole[n] = this.rest[n]! + this.windowed[n]! * this.synthesis[n]!;
      this.rest[n] = this.windowed[n + this.hop]! * this.synthesis[n + this.hop]!;
    }
    return whole;
  }
}
