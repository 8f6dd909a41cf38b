/** How long a recording may be for a page. */

export const MOST_SAMPLES = 150e6; // over all channels: before and after together take eight bytes for each
export const MOST_BYTES = 8 * MOST_SAMPLES + 2 ** 20; // of a file: no encoding takes more for a sample
export const COMMAND = "Use the command hamiltone enhance instead.";

/** The file may well be in order. */
export class TooLong extends Error {
  constructor() {
    super(`This recording is too long for a page. ${COMMAND}`);
  }
}

export function checkLength(samples: number): void {
  if (samples > MOST_SAMPLES) throw new TooLong();
}
