/** WAV files, read and written sample by sample, so that nothing but the noise changes. */

import type { Planes } from "../sound/source.ts";
import { checkLength } from "./limits.ts";

/** How samples are written: whole numbers of so many bits, or floating point of 32. */
export type Encoding = "pcm16" | "pcm24" | "pcm32" | "float32";

export interface Wav {
  sampleRate: number;
  planes: Planes;
  encoding: Encoding;
}

const BYTES: Record<Encoding, number> = { pcm16: 2, pcm24: 3, pcm32: 4, float32: 4 };
const SLICE_MS = 20; // of work before yielding
const PCM = 1;
const FLOAT = 3;
const ALAW = 6;
const MULAW = 7;
const EXTENSIBLE = 0xfffe;

export class BrokenFile extends Error {}

/** Whether these are the first bytes of a WAV file. */
export function isWav(bytes: ArrayBuffer): boolean {
  const view = new DataView(bytes);
  return bytes.byteLength >= 12 && ["RIFF", "RF64"].includes(tag(view, 0)) && tag(view, 8) === "WAVE";
}

export function readWav(bytes: ArrayBuffer): Wav {
  const view = new DataView(bytes);
  let format: Format | null = null;
  for (let at = 12; at + 8 <= bytes.byteLength; ) {
    const [name, size] = [tag(view, at), view.getUint32(at + 4, true)];
    const [start, end] = [at + 8, Math.min(at + 8 + size, bytes.byteLength)];
    if (name === "fmt ") format = readFormat(view, start, end - start);
    if (name === "data") {
      if (!format) throw new BrokenFile("This WAV file does not say what its samples are: it is damaged.");
      return decode(view, start, end, format); // a file cut short is read as far as it goes
    }
    at = start + size + (size % 2);
  }
  throw new BrokenFile("This WAV file holds no samples: it is damaged or cut short.");
}

interface Format {
  kind: number;
  channels: number;
  sampleRate: number;
  bytes: number;
}

function readFormat(view: DataView, at: number, size: number): Format {
  if (size < 16) throw new BrokenFile("This WAV file does not say what its samples are: it is damaged.");
  const kind = view.getUint16(at, true);
  const format = {
    kind: kind === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : kind,
    channels: view.getUint16(at + 2, true),
    sampleRate: view.getUint32(at + 4, true),
    bytes: Math.ceil(view.getUint16(at + 14, true) / 8),
  };
  if (!format.channels || !format.sampleRate || !format.bytes) {
    throw new BrokenFile("This WAV file has no channels, no sample rate or no bits: it is damaged.");
  }
  return format;
}

function decode(view: DataView, start: number, end: number, format: Format): Wav {
  const { channels, bytes, sampleRate } = format;
  const read = reader(view, format);
  const frames = Math.floor((end - start) / (channels * bytes));
  checkLength(frames * channels);
  const planes = Array.from({ length: channels }, () => new Float32Array(frames));
  planes.forEach((plane, channel) => {
    for (let n = 0, at = start + channel * bytes; n < frames; n++, at += channels * bytes) plane[n] = read(at);
  });
  return { sampleRate, planes, encoding: encodingOf(format) };
}

function encodingOf({ kind, bytes }: Format): Encoding {
  if (kind === FLOAT) return "float32";
  if (kind === PCM && bytes > 2) return bytes === 3 ? "pcm24" : "pcm32";
  return "pcm16";
}

function reader(view: DataView, { kind, bytes }: Format): (at: number) => number {
  if (kind === PCM && bytes === 1) return (at) => (view.getUint8(at) - 128) / 128;
  if (kind === PCM && bytes === 2) return (at) => view.getInt16(at, true) / 32768;
  if (kind === PCM && bytes === 3) return (at) => (view.getInt8(at + 2) * 65536 + view.getUint16(at, true)) / 2 ** 23;
  if (kind === PCM && bytes === 4) return (at) => view.getInt32(at, true) / 2 ** 31;
  if (kind === FLOAT && bytes === 4) return (at) => view.getFloat32(at, true);
  if (kind === FLOAT && bytes === 8) return (at) => view.getFloat64(at, true);
  if (kind === ALAW && bytes === 1) return (at) => alaw(view.getUint8(at));
  if (kind === MULAW && bytes === 1) return (at) => mulaw(view.getUint8(at));
  throw new BrokenFile(`This WAV file has samples of an unknown kind (${kind}, ${8 * bytes} bits).`);
}

function alaw(code: number): number {
  const value = code ^ 0x55;
  const exponent = (value >> 4) & 7;
  const mantissa = ((value & 15) << 4) + 8;
  const size = exponent ? (mantissa + 256) << (exponent - 1) : mantissa;
  return (value & 0x80 ? size : -size) / 32768;
}

function mulaw(code: number): number {
  const value = ~code & 0xff;
  const size = ((((value & 15) << 3) + 132) << ((value >> 4) & 7)) - 132;
  return (value & 0x80 ? -size : size) / 32768;
}

/** A WAV file of `frames` samples that `block` hands over piece by piece; the page may do other things in between. */
export async function writeWav(
  frames: number,
  channels: number,
  sampleRate: number,
  encoding: Encoding,
  block: (start: number, length: number) => Planes,
): Promise<Blob> {
  const width = BYTES[encoding];
  const size = frames * channels * width;
  const parts: ArrayBuffer[] = [header(size, channels, sampleRate, encoding)];
  const step = 65_536;
  let pause = performance.now() + SLICE_MS;
  for (let start = 0; start < frames; start += step) {
    parts.push(encode(block(start, Math.min(step, frames - start)), encoding));
    if (performance.now() < pause) continue;
    await new Promise((resolve) => setTimeout(resolve));
    pause = performance.now() + SLICE_MS;
  }
  if (size % 2) parts.push(new ArrayBuffer(1));
  return new Blob(parts, { type: "audio/wav" });
}

function header(size: number, channels: number, sampleRate: number, encoding: Encoding): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(44));
  const width = BYTES[encoding];
  write(view, 0, "RIFF");
  view.setUint32(4, 36 + size + (size % 2), true);
  write(view, 8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, encoding === "float32" ? FLOAT : PCM, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * channels * width, true);
  view.setUint16(32, channels * width, true);
  view.setUint16(34, 8 * width, true);
  write(view, 36, "data");
  view.setUint32(40, size, true);
  return view.buffer as ArrayBuffer;
}

function encode(planes: Planes, encoding: Encoding): ArrayBuffer {
  const [width, channels, frames] = [BYTES[encoding], planes.length, planes[0]!.length];
  const view = new DataView(new ArrayBuffer(frames * channels * width));
  const scale = 2 ** (8 * width - 1);
  for (let channel = 0; channel < channels; channel++) {
    for (let n = 0; n < frames; n++) {
      const at = (n * channels + channel) * width;
      const value = planes[channel]![n]!;
      if (encoding === "float32") {
        view.setFloat32(at, value, true);
        continue;
      }
      const whole = Math.min(Math.max(nearest(value * scale), -scale), scale - 1);
      if (width === 2) view.setInt16(at, whole, true);
      else if (width === 4) view.setInt32(at, whole, true);
      else {
        view.setUint16(at, whole & 0xffff, true);
        view.setInt8(at + 2, whole >> 16);
      }
    }
  }
  return view.buffer as ArrayBuffer;
}

/** The nearest whole number, the even one of two, as numpy rounds. */
function nearest(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  if (rest !== 0.5) return Math.round(value);
  return down % 2 === 0 ? down : down + 1;
}

function tag(view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((n) => view.getUint8(at + n)));
}

function write(view: DataView, at: number, text: string): void {
  for (let n = 0; n < text.length; n++) view.setUint8(at + n, text.charCodeAt(n));
}
