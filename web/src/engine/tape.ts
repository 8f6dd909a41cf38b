/** Keeps the sound of one channel, up to so many samples. */
export class Tape {
  /** How many samples are kept. */
  length = 0;
  private readonly chunks: Float32Array[] = [];

  constructor(private readonly most: number) {}

  get full(): boolean {
    return this.length === this.most;
  }

  push(chunk: Float32Array): void {
    const kept = chunk.subarray(0, this.most - this.length);
    if (!kept.length) return;
    this.chunks.push(kept);
    this.length += kept.length;
  }

  copyTo(samples: Float32Array): void {
    let at = 0;
    for (const chunk of this.chunks) {
      samples.set(chunk, at);
      at += chunk.length;
    }
  }
}
