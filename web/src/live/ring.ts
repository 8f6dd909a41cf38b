/**
 * The buffer between the audio thread, which must never wait, and the worker, which is sometimes late.
 *
 * Nothing sounds until `prefill` samples are there. When it runs dry it counts that and fills up again; what would let
 * the delay grow beyond `most` is dropped, down to the prefill.
 */
export class Ring {
  /** How often samples were missing when they were due, or too many at once. */
  missed = 0;
  private readonly memory: Float32Array;
  private start = 0;
  private held = 0;
  private playing = false;

  constructor(
    private readonly prefill: number,
    private readonly most: number,
  ) {
    this.memory = new Float32Array(2 * most);
  }

  get length(): number {
    return this.held;
  }

  push(block: Float32Array): void {
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
    if (!this.playing && this.held >= this.prefill) this.playing = true;
    if (this.playing && this.held < block.length) {
      this.playing = false;
      this.missed += 1;
    }
    if (!this.playing) {
      block.fill(0);
      return;
    }
    for (let n = 0; n < block.length; n++) block[n] = this.memory[(this.start + n) % this.memory.length]!;
    this.drop(block.length);
  }

  private drop(count: number): void {
    this.start = (this.start + count) % this.memory.length;
    this.held -= count;
  }
}
