/** Samples of a recording, one array per channel, full scale one. */
export type Planes = Float32Array<ArrayBuffer>[];

/** A recording that is read piece by piece, so that only its owner holds all of it. */
export interface Source {
  sampleRate: number;
  channels: number;
  frames: number;
  read(start: number, length: number): Promise<Planes>;
}
