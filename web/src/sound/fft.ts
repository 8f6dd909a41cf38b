/** Fourier transforms of real signals. */

/** The transform of a length that is a power of two. */
export class Fft {
  readonly bins: number;
  private readonly cos: Float64Array;
  private readonly sin: Float64Array;
  private readonly order: Uint32Array;
  private readonly re: Float64Array;
  private readonly im: Float64Array;

  constructor(readonly size: number) {
    if (size < 2 || size & (size - 1)) throw new RangeError(`expected a power of two, got ${size}`);
    this.bins = size / 2 + 1;
    this.re = new Float64Array(size);
    this.im = new Float64Array(size);
    this.cos = Float64Array.from({ length: size / 2 }, (_, k) => Math.cos((2 * Math.PI * k) / size));
    this.sin = Float64Array.from({ length: size / 2 }, (_, k) => Math.sin((2 * Math.PI * k) / size));
    const bits = Math.log2(size);
    this.order = Uint32Array.from({ length: size }, (_, k) => {
      let reversed = 0;
      for (let bit = 0; bit < bits; bit++) reversed |= ((k >> bit) & 1) << (bits - 1 - bit);
      return reversed;
    });
  }

  /** Write the bins 0 to size / 2 of `signal` to `pairs` from `at` on: real part, imaginary part, real part, ... */
  forward(signal: ArrayLike<number>, pairs: Float32Array, at = 0): void {
    const { re, im } = this;
    for (let n = 0; n < this.size; n++) re[n] = signal[n]!;
    im.fill(0);
    this.transform(re, im);
    for (let k = 0; k < this.bins; k++) {
      pairs[at + 2 * k] = re[k]!;
      pairs[at + 2 * k + 1] = im[k]!;
    }
  }

  /** Undo `forward`; the imaginary parts of the first and the last bin do not count. */
  inverse(pairs: Float32Array, at: number, signal: Float64Array): void {
    const { re, im, size } = this;
    const half = size / 2;
    for (let k = 0; k <= half; k++) {
      const real = pairs[at + 2 * k]!;
      const imaginary = k === 0 || k === half ? 0 : pairs[at + 2 * k + 1]!;
      re[k] = real;
      im[k] = -imaginary; // the conjugate of the transform of a conjugate is the inverse
      if (k > 0 && k < half) {
        re[size - k] = real;
        im[size - k] = imaginary;
      }
    }
    this.transform(re, im);
    for (let n = 0; n < size; n++) signal[n] = re[n]! / size;
  }

  /** The transform of a complex signal, in place: radix two. */
  transform(re: Float64Array, im: Float64Array): void {
    const { size, order, cos, sin } = this;
    for (let n = 0; n < size; n++) {
      const m = order[n]!;
      if (m <= n) continue;
      [re[n], re[m]] = [re[m]!, re[n]!];
      [im[n], im[m]] = [im[m]!, im[n]!];
    }
    for (let span = 1; span < size; span *= 2) {
      const stride = size / (2 * span);
      for (let start = 0; start < size; start += 2 * span) {
        for (let k = 0; k < span; k++) {
          const c = cos[k * stride]!;
          const s = -sin[k * stride]!;
          const a = start + k;
          const b = a + span;
          const x = re[b]! * c - im[b]! * s;
          const y = re[b]! * s + im[b]! * c;
          re[b] = re[a]! - x;
          im[b] = im[a]! - y;
          re[a] = re[a]! + x;
          im[a] = im[a]! + y;
        }
      }
    }
  }
}

/** The transform of any length, by Bluestein's convolution with a chirp; only the power of each bin is returned. */
export class PowerSpectrum {
  private readonly fft: Fft;
  private readonly cos: Float64Array; // the chirp
  private readonly sin: Float64Array;
  private readonly filter: [Float64Array, Float64Array]; // the transform of its conjugate
  private readonly re: Float64Array;
  private readonly im: Float64Array;

  constructor(readonly size: number) {
    const length = 2 ** Math.ceil(Math.log2(2 * size - 1));
    this.fft = new Fft(length);
    const phase = (n: number) => (Math.PI * ((n * n) % (2 * size))) / size;
    this.cos = Float64Array.from({ length: size }, (_, n) => Math.cos(phase(n)));
    this.sin = Float64Array.from({ length: size }, (_, n) => -Math.sin(phase(n)));
    this.filter = [new Float64Array(length), new Float64Array(length)];
    for (let n = 0; n < size; n++) {
      for (const place of [n, (length - n) % length]) {
        this.filter[0][place] = this.cos[n]!;
        this.filter[1][place] = -this.sin[n]!;
      }
    }
    this.fft.transform(...this.filter);
    this.re = new Float64Array(length);
    this.im = new Float64Array(length);
  }

  /** The squared magnitudes of the bins 0 to size / 2. */
  of(signal: ArrayLike<number>): Float64Array {
    const { re, im, fft, size } = this;
    const [a, b] = this.filter;
    re.fill(0);
    im.fill(0);
    for (let n = 0; n < size; n++) {
      re[n] = signal[n]! * this.cos[n]!;
      im[n] = signal[n]! * this.sin[n]!;
    }
    fft.transform(re, im);
    for (let k = 0; k < fft.size; k++) {
      const x = re[k]! * a[k]! - im[k]! * b[k]!;
      im[k] = -(re[k]! * b[k]! + im[k]! * a[k]!); // the conjugate, whose transform is that of the inverse
      re[k] = x;
    }
    fft.transform(re, im);
    const bins = Math.floor(size / 2) + 1;
    return Float64Array.from({ length: bins }, (_, k) => (re[k]! ** 2 + im[k]! ** 2) / fft.size ** 2);
  }
}
