/** Chunks of live sound in, chunks of the same size without noise out, as `hamiltone.Stream` does for one channel. */

import { between, fillEmpty, highBandGain, multiply } from "../sound/bands.ts";
import { Fifo } from "../sound/fifo.ts";
import { gcd, Resampler } from "../sound/resample.ts";
import { UpperBand } from "../sound/upper.ts";
import { Frames } from "./frames.ts";

/** A model with a memory of the frames it has seen: from the spectrum of the next one, in pairs, to its gain. */
export interface StepModel {
  sampleRate: number;
  hop: number;
  step(spectrum: Float32Array): Promise<Float32Array>;
}

const LOUDEST = 1e6; // 120 dB over full scale cannot be sound
const FADE_SECONDS = 0.02; // from one strength to the other

export class Stream {
  /** The constant delay in samples. */
  readonly latency: number;
  /** The share of the clean sound in what comes out; setting it fades over. */
  strength = 1;
  private readonly frames: Frames;
  private readonly forward: Resampler | null = null;
  private readonly back: [Resampler, Resampler] | null = null;
  private readonly upper: UpperBand | null = null;
  private readonly fresh = new Fifo();
  private readonly dry = new Fifo();
  private readonly ready: Fifo;
  private readonly high: number[] = []; // gains of the last frames
  private readonly most: number; // of them that may still be needed
  private hops = 0; // taken by the model
  private done = 0; // samples that are ready, and were
  private mix = 1;

  constructor(
    private readonly sampleRate: number,
    private readonly model: StepModel,
  ) {
    this.frames = new Frames(model.hop);
    if (sampleRate !== model.sampleRate) {
      this.forward = new Resampler(sampleRate, model.sampleRate);
      this.back = [new Resampler(model.sampleRate, sampleRate), new Resampler(model.sampleRate, sampleRate)];
    }
    if (sampleRate > model.sampleRate) this.upper = new UpperBand(sampleRate, model.sampleRate, model.hop, 2 * model.hop);
    this.latency = this.delay();
    this.ready = new Fifo(this.latency);
    this.most = 4 + Math.floor((this.back?.[0].reach ?? 0) / model.hop);
  }

  /** The next samples of the clean sound, as many as in `chunk`. */
  async process(chunk: Float32Array): Promise<Float32Array> {
    const samples = chunk.map((value) => (Math.abs(value) <= LOUDEST ? value : 0)); // NaN fails the comparison, too
    this.dry.push(samples);
    const hop = this.model.hop;
    if (this.forward) {
      this.forward.push(samples);
      while (this.forward.waiting >= hop) await this.step(this.forward.pull(hop));
    } else {
      this.fresh.push(samples);
      while (this.fresh.length >= hop) await this.step(this.fresh.pop(hop));
    }
    return this.ready.pop(chunk.length);
  }

  /** One hop at the model's rate through the model, and what is then whole to the output. */
  private async step(hop: Float32Array): Promise<void> {
    const spectrum = this.frames.analyse(hop);
    const seen = Math.min(this.sampleRate / this.model.sampleRate, 1);
    const reference = spectrum.slice();
    fillEmpty(reference, this.frames.bins, seen);
    const gain = await this.model.step(reference);
    if (!gain.every(Number.isFinite)) throw new Error("The model's result is not finite; the model is damaged.");
    if (this.high.length > this.most) this.high.shift();
    this.high.push(this.upperGain(highBandGain(reference, gain, 0, this.frames.bins, seen)));
    multiply(spectrum, gain);
    const filtered = this.frames.synthesise(spectrum);
    this.hops += 1;
    if (this.hops === 1) return; // what lies before the signal
    this.emit(this.back ? this.widen(filtered, this.back) : filtered);
  }

  /** The gain of the newest frame above the model's band, from that in its top octave. */
  private upperGain(gain: number): number {
    if (!this.upper) return gain;
    const start = Math.round(this.hops * this.upper.step) - Math.floor(this.upper.size / 2) - this.done; // from the next sample out
    const power = this.upper.powersAt(this.dry.peek(this.dry.length), start);
    return this.upper.gains([gain], [power], this.hops)[0]!;
  }

  /** Back at the stream's rate, with the band that the model does not see, scaled. */
  private widen(filtered: Float32Array, [clean, low]: [Resampler, Resampler]): Float32Array {
    clean.push(filtered);
    low.push(this.frames.last);
    const result = clean.pull(clean.waiting);
    const carried = low.pull(result.length);
    const dry = this.dry.peek(result.length);
    const first = this.hops - this.high.length;
    const ratio = this.model.sampleRate / (this.sampleRate * this.model.hop);
    for (let n = 0; n < result.length; n++) {
      result[n]! += (dry[n]! - carried[n]!) * between(this.high, (this.done + n) * ratio - first);
    }
    return result;
  }

  private emit(enhanced: Float32Array): void {
    const dry = this.dry.pop(enhanced.length);
    this.done += enhanced.length;
    const most = 1 / (FADE_SECONDS * this.sampleRate);
    for (let n = 0; n < enhanced.length; n++) {
      this.mix += Math.min(Math.max(this.strength - this.mix, -most), most);
      dry[n] = (1 - this.mix) * dry[n]! + this.mix * enhanced[n]!;
    }
    this.ready.push(dry);
  }

  /** The most that the samples in can be ahead of those that are ready, just before a hop is whole. */
  private delay(): number {
    const { hop, sampleRate: modelRate } = this.model;
    if (!this.forward || !this.back) return 2 * hop - 1;
    const period = modelRate / gcd(modelRate, this.sampleRate);
    const last = period + 2 + Math.floor(this.back[0].reach / hop);
    let most = 0;
    for (let hops = 1; hops < last; hops++) {
      most = Math.max(most, this.forward.needed((hops + 1) * hop) - 1 - this.back[0].ready((hops - 1) * hop));
    }
    return most;
  }
}
