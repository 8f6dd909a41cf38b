/**
 * The buffer between the audio thread, which must never wait, and the worker, which is sometimes late.
 *
 * Nothing sounds until `prefill` samples are there. When it runs dry it counts that and fills up again; what would let
 * the delay grow beyond `most` is dropped, down to the prefill. After a stall more may wait than is needed: what was
 * never needed in the last `period` samples is dropped, too, so that the delay is again what it was at the start.
 */
export class Ring {
  /** How often samples were missing when they were due, or too many at once. */
  missed = 0;
  private readonly memory: Float32Array;
  private start = 0;
  private held = 0;
  private playing = false;
  private block = 0; // samples of the last push
  private least = Infinity; // that was held since `pulled` was zero
  private pulled = 0;

  constructor(
    private readonly prefill: number,
    private readonly most: number,
    private readonly period: number,
  ) {
    this.memory = new Float32Array(2 * most);
  }

  get length(): number {
    return this.held;
  }

  push(block: Float32Array): void {
    this.block = block.length;
    const size = this.memory.length;
    for (const value of block.length > size ? block.subarray(-size) : block) {
      if (this.held === size) this.drop(1);
      this.memory[(this.start + this.held) % size] = value;
      this.held += 1;
    }
    if (this.held > this.most) {
      this.drop(this.held - this.prefill);
      this.missed += 1;
    }
  }

  /** Fill `block`, with silence where there is nothing to play. */
  pull(block: Float32Array): void {
    if (!this.playing && this.held >= this.prefill) this.begin();
    if (this.playing && this.held < block.length) {
      this.playing = false;
      this.missed += 1;
    }
    if (!this.playing) {
      block.fill(0);
      return;
    }
    for (let n = 0; n < block.length; n++) block[n] = this.memory[this.place(n)]!;
    this.drop(block.length);
    this.least = Math.min(this.least, this.held);
    this.pulled += block.length;
    if (this.pulled >= this.period) this.settle();
  }

  private begin(): void {
    this.playing = true;
    this.least = Infinity;
    this.pulled = 0;
  }

  /** When blocks come in time, the prefill less one block is always there: more than half a block over that is too much. */
  private settle(): void {
    const excess = this.least - (this.prefill - this.block);
    if (2 * excess > this.block) this.shorten(excess);
    this.least = Infinity;
    this.pulled = 0;
  }

  /** Drop the next `count` samples; they fade into those that follow. */
  private shorten(count: number): void {
    const length = Math.min(count, this.held - count);
    for (let n = 0; n < length; n++) {
      const weight = (n + 0.5) / length;
      const next = this.place(count + n);
      this.memory[next] = (1 - weight) * this.memory[this.place(n)]! + weight * this.memory[next]!;
    }
    this.drop(count);
  }

  private place(n: number): number {
    return (this.start + n) % this.memory.length;
  }

  private drop(count: number): void {
    this.start = (this.start + count) % this.memory.length;
    this.held -= count;
  }
}
