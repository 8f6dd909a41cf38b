/** A recording before and after, and any mix of the two. */

import { type Encoding, writeWav } from "./files/wav.ts";
import type { Planes } from "./sound/source.ts";

export class Recording {
  readonly after: AudioBuffer;
  /** How many frames are clean so far. */
  cleaned = 0;

  constructor(
    readonly name: string,
    readonly before: AudioBuffer,
    readonly encoding: Encoding,
  ) {
    const { length, numberOfChannels, sampleRate } = before;
    this.after = new AudioBuffer({ length, numberOfChannels, sampleRate });
  }

  get done(): boolean {
    return this.cleaned === this.before.length;
  }

  /** Samples of all channels, copied. */
  read(start: number, length: number): Planes {
    return channels(this.before).map((plane) => plane.slice(start, start + length));
  }

  put(start: number, planes: Planes): void {
    planes.forEach((plane, channel) => this.after.copyToChannel(plane, channel, start));
    this.cleaned = start + planes[0]!.length;
  }

  /** The share of the clean sound; the rest is the original. */
  blend(start: number, length: number, strength: number): Planes {
    const planes = this.read(start, length);
    channels(this.after).forEach((clean, channel) => {
      const plane = planes[channel]!;
      for (let n = 0; n < plane.length; n++) plane[n] = (1 - strength) * plane[n]! + strength * clean[start + n]!;
    });
    return planes;
  }

  /** The result as a file: rate, channels, length and, of WAV files, the encoding of the original. */
  toWav(strength: number): Promise<Blob> {
    const { length, numberOfChannels, sampleRate } = this.before;
    return writeWav(length, numberOfChannels, sampleRate, this.encoding, (start, count) => this.blend(start, count, strength));
  }

  get fileName(): string {
    return `${this.name.replace(/\.[^.]*$/, "") || "recording"}.enhanced.wav`;
  }
}

function channels(buffer: AudioBuffer): Float32Array<ArrayBuffer>[] {
  return Array.from({ length: buffer.numberOfChannels }, (_, channel) => buffer.getChannelData(channel));
}
