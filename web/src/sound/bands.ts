/** Where the band of a sound and that of the model differ. */

const FAINT = 3e-3; // of a frame's root mean square: the magnitude in bins that the sound does not fill
const GOLDEN = 0.6180339887498949;
const FLOOR = 5e-9; // of a frame's mean energy: the energy assumed in an empty bin

/**
 * Faint noise, always the same, in the bins that a sound of a lower rate leaves empty: models were never trained on empty bins.
 *
 * `spectrum` has frames of pairs; `seen` is the share of the bins that the sound fills.
 */
export function fillEmpty(spectrum: Float32Array, bins: number, seen: number): void {
  if (seen >= 1) return;
  const first = Math.ceil(seen * (bins - 1));
  for (let at = 0; at < spectrum.length; at += 2 * bins) {
    let total = 0;
    for (let bin = 0; bin < first; bin++) total += squared(spectrum, at + 2 * bin);
    const magnitude = FAINT * Math.sqrt(total / first);
    for (let bin = first; bin < bins; bin++) {
      const angle = 2 * Math.PI * ((bin * bin * GOLDEN) % 1);
      spectrum[at + 2 * bin] = magnitude * Math.cos(angle);
      spectrum[at + 2 * bin + 1] = magnitude * Math.sin(angle);
    }
  }
}

/**
 * The gain for the band that the model does not see, from the top octave that it does see; at most one.
 *
 * `spectrum` and `gain` are pairs; those of the frame begin at `at`. `seen` is the share of the model's bins that the
 * sound fills.
 */
export function highBandGain(spectrum: Float32Array, gain: Float32Array, at: number, bins: number, seen: number): number {
  const top = seen * (bins - 1);
  let total = 0;
  for (let bin = 0; bin < bins; bin++) total += squared(spectrum, at + 2 * bin);
  const floor = (FLOOR * total) / bins + 1e-30;
  let [energy, kept] = [0, 0];
  for (let bin = Math.ceil(top / 2); bin <= Math.floor(top); bin++) {
    const share = squared(spectrum, at + 2 * bin) + floor;
    energy += share;
    kept += share * squared(gain, at + 2 * bin);
  }
  return Math.min(Math.sqrt(kept / energy), 1);
}

/** The square of the magnitude of a pair. */
export function squared(pairs: Float32Array, at: number): number {
  return pairs[at]! * pairs[at]! + pairs[at + 1]! * pairs[at + 1]!;
}

/** `spectrum` times `gain`, both in pairs, in place. */
export function multiply(spectrum: Float32Array, gain: Float32Array): void {
  for (let k = 0; k < spectrum.length; k += 2) {
    const [x, y, a, b] = [spectrum[k]!, spectrum[k + 1]!, gain[k]!, gain[k + 1]!];
    spectrum[k] = x * a - y * b;
    spectrum[k + 1] = x * b + y * a;
  }
}

/** `values`, one for each place 0, 1, 2, ..., at a place between them; beyond them the last one stays. */
export function between(values: ArrayLike<number>, place: number): number {
  const last = values.length - 1;
  if (place <= 0) return values[0]!;
  if (place >= last) return values[last]!;
  const before = Math.floor(place);
  return values[before]! + (place - before) * (values[before + 1]! - values[before]!);
}
