/** In the audio thread: the microphone in chunks to whoever listens, and what comes back to the loudspeaker. */

import { Ring } from "./ring.ts";

declare const sampleRate: number;
declare function registerProcessor(name: string, processor: unknown): void;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}

/** What the page is told about the line. */
export interface LineReport {
  /** Peaks of the last chunks, of full scale one. */
  heard: number;
  played: number;
  missed: number;
}

const CHUNK_SECONDS = 0.016;

class Line extends AudioWorkletProcessor {
  private readonly chunk = new Float32Array(Math.round(CHUNK_SECONDS * sampleRate));
  private readonly ring = new Ring(2 * this.chunk.length, 10 * this.chunk.length, sampleRate);
  private filled = 0;
  private worker: MessagePort | null = null;
  private open = true;
  private report: LineReport = { heard: 0, played: 0, missed: 0 };
  private chunks = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data === "close") this.open = false;
      else this.listen(data as MessagePort);
    };
  }

  private listen(worker: MessagePort): void {
    this.worker = worker;
    worker.onmessage = ({ data }) => this.ring.push(data as Float32Array);
  }

  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const input = inputs[0] ?? [];
    const output = outputs[0]?.[0];
    this.take(input, output?.length ?? 128);
    if (output) {
      this.ring.pull(output);
      for (const other of outputs[0]!.slice(1)) other.set(output);
      for (const value of output) this.report.played = Math.max(this.report.played, Math.abs(value));
    }
    return this.open;
  }

  /** The mean of all channels; silence if the microphone gives nothing. */
  private take(input: Float32Array[], length: number): void {
    for (let n = 0; n < length; n++) {
      let value = 0;
      for (const channel of input) value += channel[n]! / input.length;
      this.report.heard = Math.max(this.report.heard, Math.abs(value));
      this.chunk[this.filled++] = value;
      if (this.filled === this.chunk.length) this.send();
    }
  }

  private send(): void {
    const chunk = this.chunk.slice();
    this.worker?.postMessage(chunk, [chunk.buffer]);
    this.filled = 0;
    this.chunks += 1;
    if (this.chunks % 4) return;
    this.report.missed = this.ring.missed;
    this.port.postMessage(this.report);
    this.report = { heard: 0, played: 0, missed: 0 };
  }
}

registerProcessor("hamiltone-line", Line);
