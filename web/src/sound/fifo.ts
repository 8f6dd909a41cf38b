/** A queue of samples; its memory grows to the most it ever held, and stays. */
export class Fifo {
  private memory: Float32Array;
  private start = 0;
  private end: number;

  constructor(private readonly zeros = 0) {
    this.memory = new Float32Array(Math.max(2 * zeros, 1024));
    this.end = zeros;
  }

  get length(): number {
    return this.end - this.start;
  }

  push(block: Float32Array): void {
    if (this.end + block.length > this.memory.length) {
      const held = this.memory.subarray(this.start, this.end);
      const needed = 2 * (held.length + block.length);
      if (needed > this.memory.length) {
        const memory = new Float32Array(needed);
        memory.set(held);
        this.memory = memory;
      } else {
        this.memory.copyWithin(0, this.start, this.end);
      }
      this.end -= this.start;
      this.start = 0;
    }
    this.memory.set(block, this.end);
    this.end += block.length;
  }

  /** The first samples, which stay in the queue; the view is valid until the next push. */
  peek(length: number): Float32Array {
    return this.memory.subarray(this.start, this.start + length);
  }

  drop(length: number): void {
    this.start += length;
  }

  pop(length: number): Float32Array {
    const samples = this.peek(length).slice();
    this.drop(length);
    return samples;
  }

  reset(): void {
    this.memory.fill(0);
    this.start = 0;
    this.end = this.zeros;
  }
}
